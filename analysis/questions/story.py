"""The rows for the incident model, whose number is bounded whatever the size of the logs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from barnabas.analysis.derived.lives import LIFE, NO_LEADER, PARTITION, is_kind, with_life
from barnabas.analysis.derived.states import PLACE
from barnabas.analysis.questions.copies import without_copies
from barnabas.analysis.questions.spoken import moments_of, spoken, spoken_near
from barnabas.analysis.reading.brokers.described import described
from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.reading.events.kinds import Election
from barnabas.analysis.runtime.engine import Window, sf
from barnabas.analysis.runtime.threads import threads
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.rows import (
    Controller,
    Delay,
    LedAgain,
    Mark,
    Refusal,
    Setting,
    broker_lines,
    line_of,
    state,
)
from barnabas.cluster.model.statechange import Kind

_ROWS = 200_000
"""The most rows of each kind that the model gets.

Of the states it gets all of the most troubled partitions, of leaders' own lines those that follow most
closely on trouble, of the seconds in which a broker wrote the last ones before something happened, and of
other lines, which are rare, the first.
"""

_CONVERTED = 10_000
"""The number of rows that are values of Python at the same time."""

_BY_TIME = ("time", *PLACE)

_SAID = (*PLACE, "broker", "raw")
"""The columns of a line: its place, the broker that wrote it, and its text."""

_AT_ONCE = 4

_Life = tuple[str, int, int]
"""A life of a partition: the columns ``LIFE``."""

_REFUSED = (Kind.BECOME_LEADER_OFFLINE, Kind.LEADER_AND_ISR_OFFLINE_DIR)
_OFFLINE = ("OfflinePartition", "Offline")
_NOT_LED = (*_OFFLINE, "NewPartition", "New")


def observed(tables: Mapping[str, DataFrame], min_insync: int | None = None) -> Observed:
    """Return what the logs show of brokers and of partitions that had any trouble.

    Args:
        tables: ``events`` and the tables of ``analysis.derived.catalog``.
        min_insync: The brokers' min.insync.replicas, as given by the operator; None to take it from the logs.
    """
    events = tables["events"].where("time is not null")
    marked = _marks(events, tables["lives"])
    restarted = _restarted(events)
    troubled = partial(_troubled, tables, marked, restarted)
    frames = _frames(tables, marked, restarted, troubled)
    with threads(_AT_ONCE) as pool:
        read = pool.map(lambda frame: _first(frame()), frames.values())
        found = dict(zip(frames, read, strict=True))
    decisions, marks, own, lines = (found[name] for name in ("decisions", "marks", "own", "lines"))
    states, controllers = found["states"], found["controllers"]
    deleted = _rows(found["deleted"])
    whole, untold = _whole(states, troubled)
    again = _led_again(without_copies(_of(_rows(own), whole), own))
    moments = partial(moments_of, lines, (states, decisions, marks, own))
    voices = spoken_near(found["spoken"], events, moments, _ROWS)
    elected = [_controller(row) for row in _rows(controllers)]
    about = [line for row in without_copies(_rows(lines), lines) for line in broker_lines(row)]
    return Observed(
        brokers=about,
        states=[state(row) for each in (states, decisions) for row in _of(_rows(each), whole)],
        marks=[_mark(row) for row in without_copies(_of(_rows(marks), whole), marks)],
        led=[each for each in again if isinstance(each, LedAgain)],
        refusals=[each for each in again if isinstance(each, Refusal)],
        controllers=elected,
        spoken=voices.times,
        served=voices.served,
        as_brokers=voices.as_brokers,
        spoken_until=voices.until,
        deleted={(row["topic"], row["partition"], row["life"]): row["deleted"] for row in deleted},
        settings=[setting for row in _rows(found["printed"]) for setting in _settings(row)],
        min_insync=min_insync,
        untold=untold,
        delays=[_delay(row) for row in _rows(found["delays"])],
    )


def _frames(
    tables: Mapping[str, DataFrame],
    marked: DataFrame,
    restarted: DataFrame,
    troubled: Callable[[], DataFrame],
) -> dict[str, Callable[[], DataFrame]]:
    """Return the queries by name; the tables may still be computed, so those that come last are last."""
    events, lives = tables["events"].where("time is not null"), tables["lives"]
    led = _led(events, lives, marked, restarted)
    return {
        "decisions": lambda: _epochless(events, lives),
        "marks": lambda: marked.orderBy(*_BY_TIME),
        "own": lambda: _told(led, events, marked),
        "spoken": lambda: spoken(events),
        "controllers": lambda: _controllers(tables["controllers"], events),
        "delays": lambda: tables["delays"],
        "deleted": lambda: lives.where("deleted is not null").select(*LIFE, "deleted"),
        "printed": lambda: tables["events"].where(is_kind(BrokerKind.DESCRIBED)).select(*_SAID, "settings"),
        "lines": lambda: tables["broker_events"].orderBy(*_BY_TIME),
        "states": lambda: _in_order(tables["states"], troubled()),
    }


def _controller(row: Mapping[str, Any]) -> Controller:
    lines = (line_of(row),) if row["source"] is not None else ()
    return Controller(row["controller"], row["controller_epoch"], row["since"], lines)


def _delay(row: Mapping[str, Any]) -> Delay:
    led = row["led_ms"]
    return Delay(
        row["controller"], row["broker"], timedelta(milliseconds=row["least_ms"]),
        None if led is None else timedelta(milliseconds=led), excess=timedelta(milliseconds=row["excess_ms"]),
    )  # fmt: skip


def _whole(states: pa.Table, troubled: Callable[[], DataFrame]) -> tuple[set[_Life] | None, int]:
    """Return the lives of partitions of which all states were read, and the number of the others.

    Of the others the story would take what it has for all there is. None stands for all lives.
    """
    if states.num_rows < _ROWS:
        return None, 0
    # The last life may lack states.
    *found, last = zip(*(states[name].to_pylist() for name in LIFE), strict=True)
    whole = {*found} - {last}
    return whole, troubled().count() - len(whole)


def _of(rows: Iterable[Mapping[str, Any]], lives: Collection[_Life] | None) -> Iterator[Mapping[str, Any]]:
    """Select the rows about some lives of partitions; None for all."""
    return (row for row in rows if lives is None or (row["topic"], row["partition"], row["life"]) in lives)


def _settings(row: Mapping[str, Any]) -> Iterable[Setting]:
    """Yield the topics' settings in a text, each with its own line if that is among those that are kept."""
    text = row["raw"] or ""
    own = {(each.topic, each.value): each.line for each in described(text)}
    for setting in row["settings"]:
        place, _, value = setting.partition("=")
        _, topic, name = place.split("/")
        line, below = line_of(row), own.get((topic, value), 0)
        shown = text.split("\n")[below].strip()
        yield Setting(topic, name, value, line._replace(number=line.number + below, text=shown))


def _first(frame: DataFrame) -> pa.Table:
    return frame.limit(_ROWS).toArrow()


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Convert some rows after the others: the values of all would take a gigabyte."""
    for batch in table.to_batches(max_chunksize=_CONVERTED):
        yield from batch.to_pylist()


def _controllers(controllers: DataFrame, events: DataFrame) -> DataFrame:
    """Add the place and the text of the first line of each controller epoch."""
    epoch = ("controller_epoch", "controller", "since")
    lines = events.where("controller is not null and controller_epoch is not null")
    first = (
        lines.withColumn("since", sf.col("time"))
        .select(*epoch, *_SAID)
        .join(controllers.select(*epoch), list(epoch))
        .groupBy(*epoch)
        .agg(sf.min_by(sf.struct(*_SAID), sf.struct(*PLACE)).alias("first"))
        .select(*epoch, *(sf.col(f"first.{name}").alias(name) for name in _SAID))
    )
    return controllers.join(first, list(epoch), "left").orderBy("since", "controller_epoch")


def _troubled(
    tables: Mapping[str, DataFrame],
    marked: DataFrame,
    restarted: DataFrame,
) -> DataFrame:
    """Find the lives of partitions that changed or are marked, and whether they lost leader or replicas.

    Args:
        tables: The table ``states``, for which it waits if it is still computed.
        marked: The lines that show a partition without a leader.
        restarted: The leaders that a new process made lead again.
    """
    states = tables["states"]
    lost = (
        (sf.col("leader") == NO_LEADER)
        | sf.coalesce(sf.col("from").isin(*_OFFLINE), sf.lit(col=False))
        | sf.coalesce(sf.col("election") == Election.UNCLEAN.value, sf.lit(col=False))
    )
    sizes = sf.size("isr")
    marks = marked.select(*LIFE).distinct().withColumn("is_marked", sf.lit(col=True))
    again = restarted.select(*PARTITION).distinct().withColumn("is_again", sf.lit(col=True))
    return (
        states.groupBy(*LIFE)
        .agg(
            sf.max(lost).alias("had_none"),
            (sf.min(sizes) < sf.max(sf.greatest(sizes, sf.size("replicas")))).alias("is_short"),
            (sf.min("leader_epoch") < sf.max("leader_epoch")).alias("is_moved"),
        )
        .join(marks, list(LIFE), "left")
        .join(again, list(PARTITION), "left")
        .withColumn(
            "is_lost",
            sf.col("had_none") | sf.col("is_marked").isNotNull() | sf.col("is_again").isNotNull(),
        )
        .where("is_lost or is_short or is_moved")
        .select(*LIFE, "is_lost", "is_short")
    )


def _in_order(states: DataFrame, troubled: DataFrame) -> DataFrame:
    """Select the states of lives with trouble, those without a leader first."""
    return (
        states.join(troubled, list(LIFE))
        .orderBy(sf.desc("is_lost"), sf.desc("is_short"), *LIFE, "leader_epoch", "version", "first_logged")
        .drop("is_lost", "is_short")
    )


def _epochless(events: DataFrame, lives: DataFrame) -> DataFrame:
    """Select the decisions of releases up to 1.0, which lack the leader epoch of the requests after them."""
    lines = events.where(is_kind(Kind.PARTITION_ONLINE) & sf.col("leader_epoch").isNull())
    missing = sf.lit(None)
    return (
        with_life(lines.where("topic is not null"), lives)
        .withColumns(
            {
                "decided": sf.col("time"),
                "first_logged": sf.col("time"),
                "led_at": missing.cast("timestamp_ntz"),
                "removed": missing.cast("int"),
                "election": missing.cast("string"),
                "changed": missing.cast("timestamp_ntz"),
            }
        )
        .select(
            *LIFE, "leader_epoch", "version", "leader", "isr", "replicas", "adding", "removing",
            "controller_epoch", "decided", "first_logged", "led_at", "from", "removed", "election", "changed",
            *_SAID,
        )
        .orderBy("first_logged", "source", "block", "line")
    )  # fmt: skip


def _marks(events: DataFrame, lives: DataFrame) -> DataFrame:
    failed = is_kind(Kind.PARTITION_CHANGE_FAILED) & sf.col("from").isin(*_NOT_LED)
    down = is_kind(Kind.PARTITION_DOWN) & sf.col("to").isin(*_OFFLINE)
    lines = events.where((sf.col("role") == "controller") & (failed | down) & sf.col("topic").isNotNull())
    said = sf.coalesce(sf.substring_index("trace", "\n", 1), "error", sf.lit("no reason given"))
    return (
        with_life(lines, lives)
        .withColumn("reason", sf.when(failed, said))
        .select(*LIFE, "time", "controller_epoch", "reason", *_SAID)
    )


def _restarted(events: DataFrame) -> DataFrame:
    """Select the leaders that logged more than once that they lead in the same leader epoch.

    A broker does so after each start, if nobody else was elected meanwhile.
    """
    own = events.where(is_kind(Kind.LEADER_STARTS)).where(
        "topic is not null and leader_epoch is not null and broker is not null"
    )
    leader = (*PARTITION, "leader_epoch", "broker")
    # A copy of the log has the same lines.
    times = (sf.min("time").alias("first"), sf.max("time").alias("last"))
    return own.groupBy(*leader).agg(*times).where("first < last").select(*leader)


def _led(events: DataFrame, lives: DataFrame, marked: DataFrame, restarted: DataFrame) -> DataFrame:
    """Select the leaders' own lines about some partitions, and the lines of brokers that cannot lead.

    The partitions are those that are marked, and those that a new process leads again.

    A leader logs that it leads, or at TRACE the request that made it the leader.
    """
    is_request = is_kind(Kind.LEADER_AND_ISR_RECEIVED) & (sf.col("leader") == sf.col("broker"))
    is_done = is_kind(Kind.TRANSITION_COMPLETED) & (sf.col("transition") == "become-leader")
    own = (is_kind(Kind.LEADER_STARTS) | is_request | is_done) & sf.col("broker").isNotNull()
    refused = is_kind(*_REFUSED) & sf.col("broker").isNotNull()
    chosen = marked.select(*PARTITION).unionByName(restarted.select(*PARTITION)).distinct()
    marks = chosen.withColumn("is_marked", sf.lit(col=True))
    few = events.where(own | refused).join(marks, list(PARTITION), "left")
    return with_life(few.where(sf.col("is_marked").isNotNull() | refused), lives).select(
        *LIFE, "time", "kind", "leader_epoch", "broker", "controller_epoch", "correlation_id", *PLACE
    )


def _told(led: DataFrame, events: DataFrame, marked: DataFrame) -> DataFrame:
    """Select those rows of ``_led`` that the model gets, in their order, and add their texts."""
    is_all = led.limit(_ROWS + 1).count() <= _ROWS
    chosen = led if is_all else _nearest(led, marked).limit(_ROWS)
    # A request only gives its leader epoch to the line that it was completed, so its long text is not needed.
    texts = events.where(~is_kind(Kind.LEADER_AND_ISR_RECEIVED)).select(*PLACE, "raw")
    return chosen.join(texts, list(PLACE), "left").orderBy(*_BY_TIME)


def _nearest(lines: DataFrame, marked: DataFrame) -> DataFrame:
    """Order leaders' own lines by how closely each follows on a mark of its partition.

    The first line after a mark shows who leads again. A refusal comes first of all: without it the line that
    its request was completed would seem to show a leader.
    """
    marks = marked.select(*PARTITION, "time").distinct().withColumn("marked", sf.col("time"))
    by_time = Window.partitionBy(*PARTITION).orderBy("time")
    return (
        lines.unionByName(marks, allowMissingColumns=True)
        .withColumn("marked", sf.last("marked", ignorenulls=True).over(by_time))
        .where("kind is not null")
        .withColumns(
            {
                "is_refusal": is_kind(*_REFUSED),
                "ahead": sf.unix_millis(sf.col("marked").cast("timestamp"))
                - sf.unix_millis(sf.col("time").cast("timestamp")),
            }
        )
        .orderBy(sf.desc("is_refusal"), sf.desc("ahead"), *PLACE)
        .drop("marked", "is_refusal", "ahead")
    )


def _led_again(rows: Iterable[Mapping[str, Any]]) -> list[LedAgain | Refusal]:
    """Convert the rows of ``_led``: a completed request has the leader epoch of the line that it came.

    A broker logs a request as completed, too, of which it has refused the partition.
    """
    epochs: dict[tuple[Any, ...], int | None] = {}
    found: list[LedAgain | Refusal] = []
    for row in rows:
        life = (row["topic"], row["partition"], row["life"])
        request = (*life, row["broker"], row["controller_epoch"], row["correlation_id"])
        epoch = row["leader_epoch"]
        if row["kind"] == Kind.LEADER_AND_ISR_RECEIVED:
            epochs[request] = epoch
            continue
        if row["kind"] in _REFUSED:
            epochs[request] = None
            found.append(Refusal(*life, row["time"], row["broker"], line_of(row)))
            continue
        if row["kind"] == Kind.TRANSITION_COMPLETED:
            epoch = epochs.get(request)
        if epoch is not None:
            found.append(LedAgain(*life, row["time"], epoch, row["broker"], line_of(row)))
    return found


def _mark(row: Mapping[str, Any]) -> Mark:
    return Mark(
        row["topic"], row["partition"], row["life"], row["time"], row["controller_epoch"], row["reason"],
        line_of(row),
    )  # fmt: skip
