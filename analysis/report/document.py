"""The report as plain data: a bounded number of rows of each answer, whatever the size of the logs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import Row as SparkRow

from barnabas.analysis.derived.catalog import DERIVED, Table
from barnabas.analysis.questions.availability import OFFLINE, UNDER_REPLICATED, millis_between, strip
from barnabas.analysis.questions.catalog import QUESTIONS
from barnabas.analysis.questions.story import observed
from barnabas.analysis.reading.times import doubled_spans
from barnabas.analysis.report.incidents import left_out, plain
from barnabas.analysis.report.offsets import behind
from barnabas.analysis.report.same_facts import departures, without_leader
from barnabas.analysis.report.same_shortages import shortages, with_writes
from barnabas.analysis.report.same_stories import (
    Leaderless,
    after_losses,
    born_once,
    failovers,
    leaders,
    periods,
    stalls,
)
from barnabas.analysis.report.strips import Stretch, cells, millis
from barnabas.analysis.runtime.engine import first_of, held, matching, rows_of, sf
from barnabas.analysis.runtime.threads import threads
from barnabas.analysis.story.incident import Incident
from barnabas.analysis.story.incidents import incidents
from barnabas.analysis.story.observed import Observed

Row = dict[str, Any]

PICTURED = 200
"""The most partitions that are drawn: first those with the longest stalls, then those with most leaders."""

ROWS = 500
"""The most rows of an answer in the report; the tables hold all of them."""

COUNTED = 5_000
"""The most rows of an answer that one query finds and counts."""

DRAWN = 5_000
"""The most leaderships, ISRs and stalls of the drawn partitions, of each kind."""

STRETCHES = 50_000
"""The most times of trouble that are kept one by one; of more, only the number in each cell is known."""

CELLS = 240
"""The number of cells of a strip."""

_PARTITION = pa.schema([("topic", pa.string()), ("partition", pa.int32())])

_AFTER = timedelta(milliseconds=1)
"""The time that is added after the last line, so that what begins with that line is in the strips."""

_AT_ONCE = 4
"""The number of questions that run at the same time; one alone leaves most of a machine idle."""

_UNTOLD = "the partitions' states: the incidents leave out {:,} partitions that had trouble"
"""A sentence about what the incidents lack."""

_PLACES = {table.name: place for place, table in enumerate(DERIVED)}

_ASKED = sorted(QUESTIONS, key=lambda question: max(_PLACES.get(name, -1) for name in question.needs))
"""The questions in the order in which the tables that they need are computed."""


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a report.

    Attributes:
        start: The first time in the logs; None if no line has a time.
        end: The last time in the logs; None if no line has a time.
        lines: The number of entries that were read, without ``others``.
        understood: The number of those that a rule matches.
        answers: The first ``ROWS`` rows of each question's answer (``analysis.questions.catalog``). What the
            incidents tell of brokers and partitions, these answers say, too (``analysis.report.same_facts``).
        counts: The number of all rows of each question's answer.
        partitions: The number of partitions.
        pictured: The partitions that are drawn, those with the longest stalls first, as (topic, partition).
        leaderships: The rows of the table ``leaders`` for the drawn partitions, by partition and time.
        isr: The rows of the table ``isr`` for the drawn partitions.
        stalls: The rows of ``write_stalls`` for the drawn partitions.
        others: The number of entries of server and controller logs that no rule concerns.
        troubles: Sentences about what could not be read, and why.
        zone: The time zone that the logs' times were read in; all times here are UTC.
        incidents: What happened, the worst proven first (``analysis.report.incidents``).
        incidents_count: The number of all incidents.
        incidents_left: The number of those that ``incidents`` lacks (``count``) and when the first and the
            last of them began (``since``, ``until``); empty if it lacks none.
        logs: For each kind of file (``name``) the ``lines``, those that a rule matches (``understood``) and
            those that no rule concerns (``others``).
        strips: The numbers of partitions in each cell, by topic, for ``OFFLINE`` and ``UNDER_REPLICATED``.
        unended: For each trouble (``what``) and topic with stretches whose end no line shows: ``since`` (the
            earliest of these) and the number of ``partitions``. ``strips`` counts only their begin.
        stretches: The times that ``strips`` counts, each with ``what``, ``topic``, ``since`` and ``until``;
            empty if there are more than ``STRETCHES``, and the cells are all that is known.
        nameless: The files (``source``) that do not say which broker wrote some of their lines, with the
            number of these (``lines``).
        in_seconds: The files whose times are whole seconds, so that all of them may be up to 1 s later.
        registered: The number of brokers that records of ``__cluster_metadata`` register; 0 without any.
        behind: How far the clocks are behind, at least, by which lines of the timeline have their times, in
            milliseconds; only where offsets of records contradict their times (``analysis.report.offsets``).
    """

    start: datetime | None
    end: datetime | None
    lines: int
    understood: int
    answers: Mapping[str, Sequence[Row]]
    counts: Mapping[str, int]
    partitions: int = 0
    pictured: Sequence[tuple[str, int]] = ()
    leaderships: Sequence[Row] = ()
    isr: Sequence[Row] = ()
    stalls: Sequence[Row] = ()
    others: int = 0
    troubles: Sequence[str] = ()
    zone: str = "UTC"
    incidents: Sequence[Row] = ()
    incidents_count: int = 0
    incidents_left: Row = field(default_factory=dict)
    logs: Sequence[Row] = ()
    strips: Mapping[str, Mapping[str, Sequence[int]]] = field(default_factory=dict)
    unended: Sequence[Row] = ()
    stretches: Sequence[Row] = ()
    nameless: Sequence[Row] = ()
    in_seconds: Sequence[str] = ()
    registered: int = 0
    behind: Mapping[str, float] = field(default_factory=dict)


def gather(
    deriving: AbstractContextManager[Mapping[str, DataFrame]],
    troubles: Sequence[str] = (),
    zone: str = "UTC",
    min_insync: int | None = None,
    seen: Observed | None = None,
) -> Document:
    """Answer every question from the tables (``events`` and those of ``analysis.derived.catalog``).

    Args:
        deriving: A context that gives the tables by name. They may still be computed in it: a question waits
            for the tables that it needs, and those that need the earliest are answered first.
        troubles: As in ``Document``.
        zone: As in ``Document``.
        min_insync: The brokers' min.insync.replicas where no line shows it; None to take it from the logs.
        seen: The input of the story, if it was read already; None to read it.
    """
    # The pool ends before the frames that are held, and after an exception when no table is computed more.
    with ExitStack() as stack, threads(_AT_ONCE) as pool, deriving as tables:
        story = pool.submit(_told, tables, min_insync, seen, zone)
        found = pool.map(partial(_answered, tables, stack), _ASKED)
        answered = dict(zip((each.name for each in _ASKED), found, strict=True))
        named = {each.name: answered[each.name] for each in QUESTIONS}
        frames = {name: frame for name, (frame, _, _) in named.items()}
        pictured = pool.submit(lambda: _pictured(frames["write_stalls"], tables["leaders"]))
        kinds = _all_rows(named["coverage"])
        files = _all_rows(named["read_logs"])
        ours = [row for row in kinds if row["understood"] is not None]
        start, end = _span(ours)
        troubled = pool.submit(_troubled, frames, start, end)
        chosen, partitions = pictured.result()
        strips, stretches, lasting = troubled.result()
        drawn = [tables["leaders"].drop("raw"), tables["isr"], frames["write_stalls"]]
        leaderships, isr, stalled = pool.map(lambda frame: _drawn(frame, chosen), drawn)
        happened, seen = story.result()
    leaderless = periods(happened)
    agreed = with_writes(stalls(stalled, leaderless), shortages(happened))
    return Document(
        start=start,
        end=end,
        lines=sum(row["lines"] for row in ours),
        understood=sum(row["lines"] for row in ours if row["understood"]),
        **_answers(named, happened, leaderless),
        partitions=partitions,
        pictured=chosen,
        leaderships=born_once(after_losses(leaders(leaderships, agreed), happened), happened),
        isr=isr,
        stalls=agreed,
        others=sum(row["lines"] for row in kinds if row["understood"] is None),
        troubles=[*troubles, *([_UNTOLD.format(seen.untold)] if seen.untold else [])],
        zone=zone,
        **_of_incidents(happened, _day(start, end)),
        **_of_files(files),
        strips=strips,
        stretches=stretches,
        unended=lasting,
        in_seconds=seen.in_seconds(),
        behind=behind(seen, happened),
    )


def _answers(
    found: Mapping[str, tuple[DataFrame, list[Row], int]],
    incidents: Sequence[Incident],
    leaderless: Mapping[str, Sequence[Leaderless]],
) -> dict[str, Any]:
    """Return the answers and their counts as ``Document`` has them; some come from the incidents."""
    answers = {name: rows for name, (_, rows, _) in found.items()}
    counts = {name: count for name, (_, _, count) in found.items()}
    for name, agreed in (("partitions_without_leader", without_leader), ("departures", departures)):
        rows = agreed(answers[name], incidents)
        counts[name] = max(counts[name], len(rows)) if counts[name] > ROWS else len(rows)
        answers[name] = rows[:ROWS]
    answers["failovers"] = failovers(answers["failovers"], incidents, leaderless)
    answers["write_stalls"] = stalls(answers["write_stalls"], leaderless)
    return {"answers": answers, "counts": counts}


def _of_incidents(happened: Sequence[Incident], day: date | None) -> dict[str, Any]:
    """Return the attributes of ``Document`` that are the incidents."""
    return {
        "incidents": plain(happened, day),
        "incidents_count": len(happened),
        "incidents_left": left_out(happened),
    }


def _of_files(files: Sequence[Row]) -> dict[str, Any]:
    """Return the attributes of ``Document`` that come from the rows of ``read_logs`` alone."""
    return {
        "logs": _logs(files),
        "nameless": [{"source": row["source"], "lines": row["nameless"]} for row in files if row["nameless"]],
        "registered": max((row["registered"] for row in files), default=0),
    }


def _told(
    tables: Mapping[str, DataFrame], min_insync: int | None, seen: Observed | None, zone: str
) -> tuple[list[Incident], Observed]:
    """Return the incidents, and what they are made from."""
    seen = observed(tables, min_insync) if seen is None else seen
    times = [time for own in seen.spoken.values() for time in (own[0], own[-1])]
    repeated = doubled_spans(zone, min(times), max(times)) if times else []
    return incidents(replace(seen, repeated=repeated) if repeated else seen), seen


def _answered(
    tables: Mapping[str, DataFrame], stack: ExitStack, question: Table
) -> tuple[DataFrame, list[Row], int]:
    """Return an answer, its first rows and their number."""
    frame = question.of(tables)
    if question.name == "write_stalls":
        # The pictures and the strips are made from it, too.
        stack.enter_context(held(frame))
    return frame, *first_of(frame, ROWS, COUNTED)


def _all_rows(answered: tuple[DataFrame, list[Row], int]) -> list[Row]:
    """Return all rows of an answer, also those beyond its first ones."""
    frame, first, count = answered
    return [row.asDict() for row in frame.collect()] if count > ROWS else first


def _span(kinds: Iterable[Mapping[str, Any] | SparkRow]) -> tuple[datetime, datetime] | tuple[None, None]:
    """Return the times of the first and the last line."""
    times = [row[edge] for row in kinds for edge in ("first", "last") if row[edge] is not None]
    return (min(times), max(times)) if times else (None, None)


def _day(start: datetime | None, end: datetime | None) -> date | None:
    """Return the day of all lines; None if they are of several days."""
    return start.date() if start is not None and end is not None and start.date() == end.date() else None


_NAMES = ("state-change.log", "stage-change.log", "controller.log", "server.log")

_ROLLED = re.compile(r"(?<=\.log)[.~-].*")


def _logs(rows: Sequence[Row]) -> list[Row]:
    """Add up the files of one kind, rolled ones too; files of other names are one kind."""
    added: dict[str, Row] = {}
    for row in rows:
        name = _ROLLED.sub("", row["source"].rsplit("/", 1)[-1])
        name = name if name in _NAMES else "other files"
        log = added.setdefault(name, {"name": name, "lines": 0, "understood": 0, "others": 0})
        for column in ("lines", "understood", "others"):
            log[column] += row[column]
    return sorted(added.values(), key=lambda log: (log["name"] == "other files", log["name"]))


def _pictured(stalls: DataFrame, leaders: DataFrame) -> tuple[list[tuple[str, int]], int]:
    """Return the partitions to draw, those with the longest stalls first, and the number of all."""
    waited = stalls.groupBy("topic", "partition").agg(
        sf.sum(
            sf.when(
                sf.col("what") == OFFLINE,
                sf.coalesce(millis_between(sf.col("since"), sf.col("until")), sf.lit(2**40)),
            )
        ).alias("without"),
        sf.count("*").alias("stalls"),
    )
    moved = leaders.groupBy("topic", "partition").agg(sf.count("*").alias("leaderships"))
    rows = (
        moved.join(waited, ["topic", "partition"], "left")
        .orderBy(
            sf.desc_nulls_last("without"),
            sf.desc_nulls_last("stalls"),
            sf.desc("leaderships"),
            "topic",
            "partition",
        )
        .limit(PICTURED)
        .collect()
    )
    chosen = [(row["topic"], row["partition"]) for row in rows]
    return chosen, len(chosen) if len(chosen) < PICTURED else moved.count()


def _drawn(frame: DataFrame, pictured: Sequence[tuple[str, int]]) -> list[Row]:
    names = pa.table([[topic for topic, _ in pictured], [number for _, number in pictured]], _PARTITION)
    chosen = matching(frame, names)
    # Order by all columns, so that rows which begin together have the same order in every run.
    first = ("topic", "partition", "since")
    others = (name for name in chosen.columns if name not in first)
    return rows_of(chosen.orderBy(*first, *others).limit(DRAWN))


def _troubled(
    frames: Mapping[str, DataFrame], start: datetime | None, end: datetime | None
) -> tuple[Mapping[str, Mapping[str, Sequence[int]]], Sequence[Row], Sequence[Row]]:
    """Return the strips, the stretches that they count if these are few enough, and those without an end."""
    if start is None or end is None:
        return {}, (), ()
    rows = frames["write_stalls"].select("what", "topic", "since", "until").limit(STRETCHES + 1)
    found = rows.toArrow()
    if found.num_rows > STRETCHES:
        lasting = frames["write_stalls"].where("until is null").groupBy("what", "topic")
        numbers = lasting.agg(sf.min("since").alias("since"), sf.count("*").alias("partitions"))
        return _strips(frames, start, end), (), rows_of(numbers.orderBy("what", "topic"))
    stretches: list[Row] = found.to_pylist()
    counted = [
        Stretch(row["what"], row["topic"], millis(row["since"]), _millis(row["until"])) for row in stretches
    ]
    both: dict[str, dict[str, Sequence[int]]] = {OFFLINE: {}, UNDER_REPLICATED: {}}
    strips = both | cells(counted, millis(start), millis(end), CELLS)
    return strips, stretches, unended(stretches)


def unended(stretches: Sequence[Row]) -> list[Row]:
    """Count by trouble and topic the stretches whose end no line shows."""
    found: dict[tuple[str, str], Row] = {}
    for row in stretches:
        if row["until"] is None:
            what, topic, since = row["what"], row["topic"], row["since"]
            each = found.setdefault(
                (what, topic), {"what": what, "topic": topic, "since": since, "partitions": 0}
            )
            each["since"], each["partitions"] = min(each["since"], since), each["partitions"] + 1
    return [found[key] for key in sorted(found)]


def _millis(value: datetime | None) -> int | None:
    return None if value is None else millis(value)


def _strips(
    frames: Mapping[str, DataFrame], start: datetime, end: datetime
) -> dict[str, dict[str, list[int]]]:
    intervals = {
        OFFLINE: frames["write_stalls"].where(sf.col("what") == OFFLINE),
        UNDER_REPLICATED: frames["under_replicated"],
    }
    edges = sf.lit(start), sf.lit(end + _AFTER)
    return {name: _running(strip(frame, *edges, CELLS).collect()) for name, frame in intervals.items()}


def _running(steps: Sequence[SparkRow]) -> dict[str, list[int]]:
    """Sum up the steps to the number that each cell shows, by topic."""
    change: dict[str, list[int]] = {}
    for step in steps:
        row = change.setdefault(step["topic"], [0] * (CELLS + 1))
        row[min(step["cell"], CELLS)] += step["began"] - step["over"]
    running: dict[str, list[int]] = {}
    for topic, row in change.items():
        total, cells = 0, []
        for each in row[:CELLS]:
            total += each
            cells.append(total)
        running[topic] = cells
    return running
