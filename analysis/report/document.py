"""The report as plain data: a bounded number of rows of each answer, whatever the size of the logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import Row as SparkRow
from pyspark.sql import functions as sf

from barnabas.analysis.questions.availability import OFFLINE, UNDER_REPLICATED, millis_between, strip
from barnabas.analysis.questions.catalog import QUESTIONS

Row = dict[str, Any]

PICTURED = 200
"""The most partitions that are drawn: first those with the longest stalls, then those with most leaders."""

ROWS = 500
"""The most rows of an answer in the report; the tables hold all of them."""

DRAWN = 5_000
"""The most leaderships, ISRs and stalls of the drawn partitions, of each kind."""

CELLS = 240
"""The number of cells of a strip."""

_AFTER = timedelta(milliseconds=1)
"""The time that is added after the last line, so that what begins with that line is in the strips."""

_LAST = datetime.fromisoformat("9999-12-31 23:59:59.999999")
"""The latest time that Python knows."""

_AT_ONCE = 4
"""The number of questions that run at the same time; one alone leaves most of a machine idle."""


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a report.

    Attributes:
        start: The first time in the logs; None if no line has a time.
        end: The last time in the logs; None if no line has a time.
        lines: The number of entries that were read, without ``others``.
        understood: The number of those that a rule matches.
        answers: The first ``ROWS`` rows of each question's answer (``analysis.questions.catalog``).
        counts: The number of all rows of each question's answer.
        partitions: The number of partitions.
        pictured: The partitions that are drawn, those with the longest stalls first, as (topic, partition).
        reigns: The rows of the table ``leaders`` for the drawn partitions, by partition and time.
        isr: The rows of the table ``isr`` for the drawn partitions.
        stalls: The rows of ``write_stalls`` for the drawn partitions.
        others: The number of entries of server and controller logs that no rule concerns.
        troubles: Sentences about what could not be read, and why.
        zone: The time zone that the logs' times were read in; all times here are UTC.
        strips: The numbers of partitions in each cell, by topic, for ``OFFLINE`` and ``UNDER_REPLICATED``.
    """

    start: datetime | None
    end: datetime | None
    lines: int
    understood: int
    answers: Mapping[str, Sequence[Row]]
    counts: Mapping[str, int]
    partitions: int = 0
    pictured: Sequence[tuple[str, int]] = ()
    reigns: Sequence[Row] = ()
    isr: Sequence[Row] = ()
    stalls: Sequence[Row] = ()
    others: int = 0
    troubles: Sequence[str] = ()
    zone: str = "UTC"
    strips: Mapping[str, Mapping[str, Sequence[int]]] = field(default_factory=dict)


def gather(tables: Mapping[str, DataFrame], troubles: Sequence[str] = (), zone: str = "UTC") -> Document:
    """Answer every question from the tables (``events`` and those of ``analysis.derived.catalog``).

    Args:
        tables: The tables by name.
        troubles: As in ``Document``.
        zone: As in ``Document``.
    """
    frames = {question.name: question.of(tables) for question in QUESTIONS}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        named = dict(zip(frames, pool.map(_collected, frames.values()), strict=True))
    answers = {name: rows for name, (rows, _) in named.items()}
    kinds = frames["coverage"].collect() if named["coverage"][1] > ROWS else answers["coverage"]
    ours = [row for row in kinds if row["understood"] is not None]
    times = [row[edge] for row in ours for edge in ("first", "last") if row[edge] is not None]
    start, end = (min(times), max(times)) if times else (None, None)
    pictured = _pictured(frames["write_stalls"], tables["leaders"])
    drawn = [tables["leaders"].drop("raw"), tables["isr"], frames["write_stalls"]]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        chosen = pool.submit(lambda: [(row["topic"], row["partition"]) for row in pictured.collect()])
        many = pool.submit(lambda: tables["leaders"].select("topic", "partition").distinct().count())
        strips = pool.submit(_strips, frames, start, end)
        reigns, isr, stalls = pool.map(lambda frame: _drawn(frame, pictured), drawn)
    return Document(
        start=start,
        end=end,
        lines=sum(row["lines"] for row in ours),
        understood=sum(row["lines"] for row in ours if row["understood"]),
        answers=answers,
        counts={name: count for name, (_, count) in named.items()},
        partitions=many.result(),
        pictured=chosen.result(),
        reigns=reigns,
        isr=isr,
        stalls=stalls,
        others=sum(row["lines"] for row in kinds if row["understood"] is None),
        troubles=troubles,
        zone=zone,
        strips=strips.result(),
    )


def _collected(frame: DataFrame) -> tuple[list[Row], int]:
    rows = [row.asDict(recursive=True) for row in frame.limit(ROWS + 1).collect()]
    return rows[:ROWS], len(rows) if len(rows) <= ROWS else frame.count()


def _pictured(stalls: DataFrame, leaders: DataFrame) -> DataFrame:
    """Select the partitions to draw, those with the longest stalls first."""
    waited = stalls.groupBy("topic", "partition").agg(
        sf.sum(
            sf.when(
                sf.col("what") == OFFLINE,
                sf.coalesce(millis_between(sf.col("since"), sf.col("until")), sf.lit(2**40)),
            )
        ).alias("without"),
        sf.count("*").alias("stalls"),
    )
    moved = leaders.groupBy("topic", "partition").agg(sf.count("*").alias("reigns"))
    return (
        moved.join(waited, ["topic", "partition"], "left")
        .orderBy(
            sf.desc_nulls_last("without"),
            sf.desc_nulls_last("stalls"),
            sf.desc("reigns"),
            "topic",
            "partition",
        )
        .limit(PICTURED)
    )


def _drawn(frame: DataFrame, pictured: DataFrame) -> list[Row]:
    chosen = frame.join(
        sf.broadcast(pictured.select("topic", "partition")), ["topic", "partition"], "left_semi"
    )
    # Order by all columns, so that rows which begin together have the same order in every run.
    first = ("topic", "partition", "since")
    rows = (
        chosen.orderBy(*first, *(name for name in chosen.columns if name not in first)).limit(DRAWN).collect()
    )
    return [row.asDict(recursive=True) for row in rows]


def _strips(
    frames: Mapping[str, DataFrame], start: datetime | None, end: datetime | None
) -> dict[str, dict[str, list[int]]]:
    if start is None or end is None:
        return {}
    intervals = {
        OFFLINE: frames["write_stalls"].where(sf.col("what") == OFFLINE),
        UNDER_REPLICATED: frames["under_replicated"],
    }
    edges = sf.lit(start), sf.lit(min(end, _LAST - _AFTER) + _AFTER)
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
