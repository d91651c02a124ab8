"""The report as plain data: a bounded number of rows of each kind, whatever the size of the logs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from barnabas.analysis.conditions.catalogue import CATALOGUE
from barnabas.analysis.conditions.condition import Alarm
from barnabas.analysis.conditions.findings import findings
from barnabas.analysis.derived.catalog import DERIVED, Table
from barnabas.analysis.questions.catalog import QUESTIONS
from barnabas.analysis.questions.story import observed
from barnabas.analysis.reading.times import doubled_spans
from barnabas.analysis.report.conditions import condition
from barnabas.analysis.report.incidents import is_internal, left_out, plain
from barnabas.analysis.runtime.engine import first_of, held, matching, rows_of, sf
from barnabas.analysis.runtime.threads import threads
from barnabas.analysis.story.incident import Incident
from barnabas.analysis.story.incidents import incidents
from barnabas.analysis.story.observed import Observed

Row = dict[str, Any]

OFFLINE = "without a leader"
UNDER_REPLICATED = "under-replicated"

PICTURED = 200
"""The most partitions that are drawn: those with the longest stretches, then those with most leaders."""

ROWS = 500
"""The most rows of an answer in the report; the tables hold all of them."""

COUNTED = 5_000
"""The most rows of an answer that one query finds and counts."""

DRAWN = 5_000
"""The most leaderships and ISRs of the drawn partitions, of each kind."""

STRETCHES = 20_000
"""The most stretches of each kind."""

_PARTITION = pa.schema([("topic", pa.string()), ("partition", pa.int32())])

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
        lines: The number of lines that were read.
        conditions: What is wrong that operators know by name, the most urgent first
            (``analysis.report.conditions``).
        incidents: What happened, the worst proven first (``analysis.report.incidents``).
        incidents_count: The number of all incidents.
        incidents_left: The number of those that ``incidents`` lacks (``count``) and when the first and the
            last of them began (``since``, ``until``); empty if it lacks none.
        answers: The first ``ROWS`` rows of each question's answer (``analysis.questions.catalog``).
        counts: The number of all rows of each question's answer.
        partitions: The number of partitions.
        pictured: The partitions that are drawn, as (topic, partition): those with the longest stretches
            first, users' topics before internal ones.
        leaderships: The rows of the table ``leaders`` for the drawn partitions, by partition and time.
        isr: The rows of the table ``isr`` for the drawn partitions.
        stretches: The times in which a partition was in trouble, each with ``what`` (``OFFLINE`` or
            ``UNDER_REPLICATED``), ``topic``, ``partition``, ``since``, ``earliest`` and ``until``.
        troubles: Sentences about what could not be read, and why.
        zone: The time zone that the logs' times were read in; all times here are UTC.
        logs: For each kind of file (``name``) the ``lines``, those that carry a condition (``conditions``)
            and those of a logger of interest that no rule matches (``unknown``).
        nameless: The files (``source``) that do not say which broker wrote some of their lines, with the
            number of these (``lines``).
        in_seconds: The files whose times are whole seconds, so that all of them may be up to 1 s later.
        registered: The number of brokers that records of ``__cluster_metadata`` register; 0 without any.
    """

    start: datetime | None
    end: datetime | None
    lines: int
    answers: Mapping[str, Sequence[Row]]
    counts: Mapping[str, int]
    conditions: Sequence[Row] = ()
    incidents: Sequence[Row] = ()
    incidents_count: int = 0
    incidents_left: Row = field(default_factory=dict)
    partitions: int = 0
    pictured: Sequence[tuple[str, int]] = ()
    leaderships: Sequence[Row] = ()
    isr: Sequence[Row] = ()
    stretches: Sequence[Row] = ()
    troubles: Sequence[str] = ()
    zone: str = "UTC"
    logs: Sequence[Row] = ()
    nameless: Sequence[Row] = ()
    in_seconds: Sequence[str] = ()
    registered: int = 0

    @property
    def day(self) -> date | None:
        """Return the day of all lines; None if they are of several days."""
        return _day(self.start, self.end)


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
        shown = pool.map(partial(_first_rows, tables), ("conditions", "computed_conditions"))
        found = pool.map(partial(_answered, tables, stack), _ASKED)
        answered = dict(zip((each.name for each in _ASKED), found, strict=True))
        files = _all_rows(answered["read_logs"])
        short = answered["under_replicated"][0].select("topic", "partition", "since", "until")
        lacking = pool.submit(rows_of, short.orderBy("since", "topic", "partition").limit(STRETCHES))
        happened, seen = story.result()
        conditions = findings([row for rows in shown for row in rows], CATALOGUE)
        without = sorted(_without_leader(happened), key=lambda row: row["since"])[:STRETCHES]
        chosen, partitions = _pictured(without, tables["leaders"])
        drawn = [tables["leaders"].drop("raw"), tables["isr"]]
        leaderships, isr = pool.map(lambda frame: _drawn(frame, chosen), drawn)
        stretches = [*without, *(_short(row) for row in lacking.result())]
    start, end = _span(files)
    explained = {name for each in conditions if each.condition.alarm is Alarm.NOW for name in each.names}
    return Document(
        start=start,
        end=end,
        lines=sum(row["lines"] for row in files),
        conditions=[condition(each) for each in conditions],
        incidents=plain(happened, _day(start, end), explained),
        incidents_count=len(happened),
        incidents_left=left_out(happened),
        answers={each.name: answered[each.name][1] for each in QUESTIONS},
        counts={each.name: answered[each.name][2] for each in QUESTIONS},
        partitions=partitions,
        pictured=chosen,
        leaderships=leaderships,
        isr=isr,
        stretches=stretches,
        troubles=[*troubles, *([_UNTOLD.format(seen.untold)] if seen.untold else [])],
        zone=zone,
        logs=_logs(files),
        nameless=[{"source": row["source"], "lines": row["nameless"]} for row in files if row["nameless"]],
        in_seconds=seen.in_seconds(),
        registered=max((row["registered"] for row in files), default=0),
    )


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
    if question.name == "under_replicated":
        # The stretches are made from it, too.
        stack.enter_context(held(frame))
    return frame, *first_of(frame, ROWS, COUNTED)


def _first_rows(tables: Mapping[str, DataFrame], name: str) -> list[Row]:
    return rows_of(tables[name].limit(ROWS))


def _all_rows(answered: tuple[DataFrame, list[Row], int]) -> list[Row]:
    """Return all rows of an answer, also those beyond its first ones."""
    frame, first, count = answered
    return [row.asDict() for row in frame.collect()] if count > ROWS else first


def _span(files: Iterable[Row]) -> tuple[datetime, datetime] | tuple[None, None]:
    """Return the times of the first and the last line."""
    times = [row[edge] for row in files for edge in ("first", "last") if row[edge] is not None]
    return (min(times), max(times)) if times else (None, None)


def _day(start: datetime | None, end: datetime | None) -> date | None:
    return start.date() if start is not None and end is not None and start.date() == end.date() else None


_NAMES = ("state-change.log", "stage-change.log", "controller.log", "server.log")

_ROLLED = re.compile(r"(?<=\.log)[.~-].*")


def _logs(rows: Sequence[Row]) -> list[Row]:
    """Add up the files of one kind, rolled ones too; files of other names are one kind."""
    added: dict[str, Row] = {}
    for row in rows:
        name = _ROLLED.sub("", row["source"].rsplit("/", 1)[-1])
        name = name if name in _NAMES else "other files"
        log = added.setdefault(name, {"name": name, "lines": 0, "conditions": 0, "unknown": 0})
        for column in ("lines", "conditions", "unknown"):
            log[column] += row[column]
    return sorted(added.values(), key=lambda log: (log["name"] == "other files", log["name"]))


def _without_leader(happened: Iterable[Incident]) -> Iterator[Row]:
    """Generate the times without a leader, of which the incidents alone tell."""
    for cost in (cost for incident in happened for cost in incident.costs):
        for each in cost.each:
            since = each.shown if each.begin is None else each.begin
            if since is None:
                continue
            topic, _, partition = each.name.rpartition("-")
            until = cost.lasting if each.shown is None else max(each.shown, since)
            yield {
                "what": OFFLINE, "topic": topic, "partition": int(partition), "since": since,
                "earliest": each.since, "until": until,
            }  # fmt: skip


def _short(row: Row) -> Row:
    return {"what": UNDER_REPLICATED, **row, "earliest": None}


def _pictured(without: Sequence[Row], leaders: DataFrame) -> tuple[list[tuple[str, int]], int]:
    """Return the partitions to draw, and the number of all."""
    waited: dict[tuple[str, int], float] = {}
    for row in without:
        until, key = row["until"], (row["topic"], row["partition"])
        lasted = float("inf") if until is None else (until - row["since"]).total_seconds()
        waited[key] = waited.get(key, 0) + lasted
    worst = sorted(waited, key=lambda each: (is_internal(each[0]), -waited[each], each))
    moved = leaders.groupBy("topic", "partition").agg(sf.count("*").alias("leaderships"))
    others = (
        moved.withColumn("internal", sf.startswith("topic", sf.lit("__")))
        .orderBy("internal", sf.desc("leaderships"), "topic", "partition")
        .limit(PICTURED)
        .collect()
    )
    names = [*worst, *((row["topic"], row["partition"]) for row in others)]
    chosen = list(dict.fromkeys(names))[:PICTURED]
    return chosen, len(others) if len(others) < PICTURED else moved.count()


def _drawn(frame: DataFrame, pictured: Sequence[tuple[str, int]]) -> list[Row]:
    names = pa.table([[topic for topic, _ in pictured], [number for _, number in pictured]], _PARTITION)
    chosen = matching(frame, names)
    # Order by all columns, so that rows which begin together have the same order in every run.
    first = ("topic", "partition", "since")
    others = (name for name in chosen.columns if name not in first)
    return rows_of(chosen.orderBy(*first, *others).limit(DRAWN))
