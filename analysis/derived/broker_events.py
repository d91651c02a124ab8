"""The table ``broker_events``: the lines about brokers rather than partitions, each with its place."""

from __future__ import annotations

from pyspark.sql import DataFrame

from barnabas.analysis.derived.lives import DELETION, LIFE, is_kind, with_life
from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.reading.events.kinds import CompanionKind
from barnabas.analysis.runtime.engine import sf
from barnabas.cluster.model.statechange import Kind

BROKER_EVENTS_COLUMNS = (
    "time", "kind", "role", "broker", "subject", "added_brokers", "lost_brokers", "bounced_brokers",
    "live_brokers", "contact", "error", "broker_epoch", "incarnation", "cluster_id", "controller",
    "controller_epoch", "topic", "partition", "count", "minimum", "duration_ms", "settings", "source",
    "block", "line", "raw",
)  # fmt: skip
"""The columns of ``broker_events``, those of ``events``; see ``reading.events.broker_kinds``."""

_SENT = (Kind.LEADER_AND_ISR_BATCH, Kind.LEADER_AND_ISR_SENDING, Kind.STOP_REPLICA_BATCH)
"""The lines by which a controller sends requests to brokers that it takes to be there."""


def broker_events(events: DataFrame, lives: DataFrame) -> DataFrame:
    """Select the lines about starts, stops, sessions, contacts and controllers.

    A controller's lines that take a replica offline, or send LeaderAndIsr or StopReplica, are about a broker
    too: the first and the last of each kind, broker and second, with the broker as ``subject``. Replicas of a
    topic that is being deleted go offline without their broker.

    A leader's line that its ISR is under min.insync.replicas has the number of replicas in sync as ``count``.

    Columns: ``BROKER_EVENTS_COLUMNS``. Few lines of a log are of these kinds.
    """
    kinds = (*BrokerKind, CompanionKind.CONTROLLER_ELECTED)
    own = sf.col("role") == "controller"
    sent = events.where(own & is_kind(*_SENT)).withColumn("subject", sf.explode("targets"))
    said = events.where(is_kind(*kinds)).select(*BROKER_EVENTS_COLUMNS)
    found = said.unionByName(_edges(sent)).unionByName(_edges(_offline(events.where(own), lives)))
    return found.unionByName(_under_min_isr(events))


def _under_min_isr(events: DataFrame) -> DataFrame:
    """Select the first line of each partition and minute by which its ISR is under min.insync.replicas."""
    lines = events.where(sf.col("under_min_isr")).withColumn("count", sf.size("isr"))
    row = sf.struct(*BROKER_EVENTS_COLUMNS)
    order = sf.struct("time", "source", "block", "line")
    by_minute = lines.groupBy("topic", "partition", sf.date_trunc("minute", "time").alias("minute"))
    return _unfolded(by_minute.agg(sf.min_by(row, order).alias("row")))


def _offline(own: DataFrame, lives: DataFrame) -> DataFrame:
    offline = is_kind(Kind.ISR_REMOVAL, Kind.REPLICAS_OFFLINE) | (
        is_kind(Kind.REPLICA_CHANGE) & (sf.col("to") == "OfflineReplica")
    )
    deleted = lives.where("deleted is not null").select(*LIFE, "deleted")
    return (
        with_life(own.where(offline), lives)
        .join(deleted, list(LIFE), "left")
        .where(sf.coalesce(sf.col("time") < sf.col("deleted") - sf.lit(DELETION), sf.lit(col=True)))
        .withColumn("subject", sf.col("replica"))
        .where("subject is not null")
    )


def _edges(lines: DataFrame) -> DataFrame:
    """Keep the first and the last line of each second."""
    row = sf.struct(*BROKER_EVENTS_COLUMNS)
    order = sf.struct("time", "source", "block", "line")
    return _unfolded(
        lines.groupBy("kind", "subject", "controller_epoch", sf.date_trunc("second", "time").alias("second"))
        .agg(sf.min_by(row, order).alias("first"), sf.max_by(row, order).alias("last"))
        .select(sf.explode(sf.array_distinct(sf.array("first", "last"))).alias("row"))
    )


def _unfolded(rows: DataFrame) -> DataFrame:
    return rows.select(*(sf.col(f"row.{name}") for name in BROKER_EVENTS_COLUMNS))
