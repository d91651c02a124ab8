"""The lines of each cluster, where the logs are of several."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import pyarrow as pa
from pyspark.sql import DataFrame

from barnabas.analysis.derived.controllers import REFUSALS
from barnabas.analysis.derived.lives import PARTITION, is_kind
from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.runtime.engine import alike, rows_of, sf
from barnabas.analysis.segments.clusters import (
    Assigned,
    Id,
    Minute,
    Span,
    clusters_of,
    runs_of,
    spans_of,
)

_MOST = 200_000
"""The most rows of each kind that are looked at: minutes of files, and partitions of minutes."""

_STARTS = (BrokerKind.NODE_STARTING, BrokerKind.STARTING)


def clusters(events: DataFrame) -> list[list[Span]]:
    """Return the lines of each cluster, by time; empty if nothing proves that the logs are of several."""
    dated = events.where("time is not null")
    runs = runs_of(_minutes(dated), _ids(dated))
    several_ids = len({run.cluster for run in runs} - {None}) > 1
    if not several_ids and len(runs) == len({run.place for run in runs}):
        return []
    groups = clusters_of(runs, _assigned(dated))
    if len(groups) == 1:
        return []
    return spans_of(groups, [row["source"] for row in rows_of(dated.select("source").distinct())])


def of_cluster(events: DataFrame, spans: Sequence[Span]) -> DataFrame:
    """Select the lines of a cluster."""
    table = pa.table(
        {
            "source": pa.array([span.source for span in spans], pa.string()),
            "since": pa.array([span.since for span in spans], pa.timestamp("us")),
            "until": pa.array([span.until for span in spans], pa.timestamp("us")),
        }
    )
    inside = (sf.col("time") >= sf.col("since")) & (sf.col("time") < sf.col("until"))
    return events.join(alike(events, table), ["source"]).where(inside).select(*events.columns)


def _minutes(events: DataFrame) -> list[Minute]:
    """Return the minutes of each file; brokers refuse the requests of a former controller, which has died."""
    accepted = ~sf.coalesce(is_kind(*REFUSALS), sf.lit(col=False))
    rows = (
        events.where(sf.col("controller_epoch").isNotNull() & accepted)
        .groupBy("source", sf.date_trunc("minute", "time").alias("minute"))
        .agg(
            sf.min("time").alias("first"),
            sf.max("time").alias("last"),
            sf.max("controller_epoch").alias("epoch"),
        )
        .select("source", "first", "last", "epoch")
        .limit(_MOST)
    )
    return [Minute(**row) for row in rows_of(rows)]


def _ids(events: DataFrame) -> list[Id]:
    """Return the lines that give a cluster's id, each with the last line before that shows a start."""
    lines = events.where(is_kind(*_STARTS) | sf.col("cluster_id").isNotNull())
    rows = lines.select("source", "time", "cluster_id", "block", "line").orderBy("source", "block", "line")
    found: list[Id] = []
    started: dict[str, datetime] = {}
    for row in rows_of(rows.limit(_MOST)):
        if row["cluster_id"] is None:
            started[row["source"]] = row["time"]
            continue
        begun = started.pop(row["source"], row["time"])
        found.append(Id(row["source"], row["time"], row["cluster_id"], min(begun, row["time"])))
    return found


def _assigned(events: DataFrame) -> list[Assigned]:
    rows = (
        events.where("topic is not null and replicas is not null")
        .groupBy("source", sf.date_trunc("minute", "time").alias("minute"), *PARTITION)
        .agg(sf.min("time").alias("first"), sf.max("replicas").alias("replicas"))
        .limit(_MOST)
    )
    return [
        Assigned(row["source"], row["first"], (row["topic"], row["partition"]), frozenset(row["replicas"]))
        for row in rows_of(rows)
    ]
