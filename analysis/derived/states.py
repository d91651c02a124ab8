"""Every state that a partition is known to have had: leader, leader epoch, ISR, zkVersion. The root table.

Many lines tell one state: the controller's that decides it, those of the requests that carry it, those of
every broker that learns of it, and the leader's own in server.log. They become one row here.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from barnabas.analysis.derived.lives import DELETING, LIFE, is_kind, with_life
from barnabas.analysis.reading.companions import CompanionKind
from barnabas.analysis.reading.kinds import OtherKind
from barnabas.cluster.model.statechange import Kind

DECISIONS = (Kind.PARTITION_ONLINE, Kind.ISR_REMOVAL)
"""The lines with which a controller says what it has decided, and not only whom it tells."""

_TELLING = (
    *DECISIONS,
    Kind.REASSIGNMENT_SENT,
    Kind.LEADER_AND_ISR_SENDING,
    Kind.LEADER_AND_ISR_RECEIVED,
    OtherKind.UPDATE_METADATA_SENDING,
    Kind.METADATA_CACHED,
    Kind.LEADER_STARTS,
    Kind.FOLLOWER_STARTS,
    CompanionKind.ISR_UPDATED,
)
_KEY = (*LIFE, "leader_epoch", "version", "leader", "members", "moment")


def states(events: DataFrame) -> DataFrame:
    """One row for each state of each partition, whoever told it.

    Columns: ``topic``, ``partition``, ``life``, ``leader_epoch`` (null up to 1.0 where only decisions are at
    hand), ``version`` (zkVersion; null where no line told it), ``leader`` (-1 for none), ``isr`` (null where
    not told), ``replicas`` (assigned), ``controller_epoch`` and ``controller`` (of the reign that wrote it),
    ``decided`` (when that controller logged it), ``heard`` (when anybody first did), ``led_at`` (when the
    leader said that it leads), ``from`` (the partition's state before), ``raw`` (the line that tells it
    best).
    """
    told = with_life(events.where(is_kind(*_TELLING) & sf.col("topic").isNotNull()), events)
    told = told.withColumns(
        {
            "leader": sf.when(is_kind(Kind.LEADER_STARTS), sf.col("broker")).otherwise(sf.col("leader")),
            "members": sf.array_sort("isr"),
            # Without an epoch only the time tells one decision from the next.
            "moment": sf.when(sf.col("leader_epoch").isNull(), sf.col("time")),
        }
    ).where((sf.col("leader") > DELETING) & _epochless_only_as_decision())
    whole = _merged(_with_versions(_with_epochs(_first_told(told))))
    # Where a partition's epochs are known, lines without one say nothing more.
    any_epoch = sf.max("leader_epoch").over(Window.partitionBy(*LIFE)).isNotNull()
    return (
        whole.withColumn("any_epoch", any_epoch)
        .where("leader_epoch is not null or not any_epoch")
        .select(
            *LIFE, "leader_epoch", "version", "leader", "isr", "replicas", "controller_epoch", "controller",
            "decided", "heard", "led_at", "from", "raw",
        )
    )  # fmt: skip


def _epochless_only_as_decision() -> Column:
    return sf.col("leader_epoch").isNotNull() | is_kind(Kind.PARTITION_ONLINE, CompanionKind.ISR_UPDATED)


def _first_told(told: DataFrame) -> DataFrame:
    """The lines of equal content as one row: few remain, however many brokers logged them."""
    decision = is_kind(*DECISIONS)
    # Of all lines that tell a state, its decision tells it best, then what the leader says.
    rank = sf.when(decision, 0).when(is_kind(Kind.LEADER_STARTS), 1).otherwise(2)
    return told.groupBy(*_KEY).agg(
        sf.min(sf.when(decision, sf.col("time"))).alias("decided"),
        sf.min("time").alias("heard"),
        sf.min(sf.when(is_kind(Kind.LEADER_STARTS), sf.col("time"))).alias("led_at"),
        sf.min(sf.when(decision, sf.col("controller_epoch"))).alias("decider_epoch"),
        sf.min("state_controller_epoch").alias("state_epoch"),
        sf.min_by("controller", sf.when(decision, sf.col("time"))).alias("controller"),
        sf.max("replicas").alias("replicas"),
        sf.min_by("isr", sf.struct(rank, "time")).alias("isr"),
        sf.min_by("from", sf.when(is_kind(Kind.PARTITION_ONLINE), sf.col("time"))).alias("from"),
        sf.min_by("raw", sf.struct(rank, "time")).alias("raw"),
        sf.min(rank).alias("rank"),
        sf.max(is_kind(CompanionKind.ISR_UPDATED)).alias("is_own"),
    )


def _with_epochs(told: DataFrame) -> DataFrame:
    """The leader epoch of the ISRs that leaders tell in server.log, which has none.

    A leader changes the ISR in the epoch that the last state before it gave to it; where nobody told that
    one, nothing is known.
    """
    order = Window.partitionBy(*LIFE).orderBy(sf.col("version").asc_nulls_first(), "heard")
    known = sf.when(sf.col("leader_epoch").isNotNull(), sf.struct("leader_epoch", "leader"))
    before = sf.last(known, ignorenulls=True).over(order)
    own = (sf.col("before.leader") == sf.col("leader")) & sf.col("is_own")
    return (
        told.withColumn("before", before)
        .withColumn("leader_epoch", sf.coalesce("leader_epoch", sf.when(own, sf.col("before.leader_epoch"))))
        .where("leader_epoch is not null or not is_own")
        .withColumn("moment", sf.when(sf.col("leader_epoch").isNull(), sf.col("moment")))
        .drop("before", "is_own")
    )


def _with_versions(told: DataFrame) -> DataFrame:
    """The version, and the ISR, filled in where a leader's or follower's own words leave it out (to 3.2).

    A leader starts from the state in which its epoch began: the one with this ISR of the least version.
    """
    epoch = Window.partitionBy(*LIFE, "leader_epoch", "leader", "moment")
    same = Window.partitionBy(*LIFE, "leader_epoch", "leader", "members", "moment")
    return told.withColumns(
        {
            "version": sf.coalesce("version", sf.min("version").over(same)),
            "known": sf.max(sf.col("members").isNotNull()).over(epoch),
        }
    ).where("members is not null or not known or leader_epoch is null")


def _merged(told: DataFrame) -> DataFrame:
    best = sf.struct("rank", "heard")
    return told.groupBy(*_KEY).agg(
        sf.min("decided").alias("decided"),
        sf.min("heard").alias("heard"),
        sf.min("led_at").alias("led_at"),
        sf.coalesce(sf.min("decider_epoch"), sf.min("state_epoch")).alias("controller_epoch"),
        sf.min("controller").alias("controller"),
        sf.max("replicas").alias("replicas"),
        sf.min_by("isr", best).alias("isr"),
        sf.min("from").alias("from"),
        sf.min_by("raw", best).alias("raw"),
    )
