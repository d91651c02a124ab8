"""Who was controller when, and who led each partition: named questions, DataFrame in and DataFrame out.

Every question takes the table of ``analysis.scan.events``. Brokers' clocks differ, so within a partition
the leader epoch orders, and between reigns the controller epoch; the clock only where there is no epoch (up
to 1.0).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from cluster.model.statechange import Kind

_NOBODY = -1


def coverage(events: DataFrame) -> DataFrame:
    """How much was understood: one row for each kind, and one without kind for what no rule knows.

    Columns: ``kind``, ``lines``, ``first`` and ``last`` (time), ``sample`` (one such line).
    """
    return (
        events.groupBy("kind")
        .agg(
            sf.count("*").alias("lines"),
            sf.min("time").alias("first"),
            sf.max("time").alias("last"),
            sf.min("raw").alias("sample"),
        )
        .orderBy(sf.desc("lines"), "kind")
    )


def controllers(events: DataFrame) -> DataFrame:
    """The reigns: which controller was heard in which epoch, from when to when.

    A reign is known from the controller's own lines and from the brokers' that name the sender of a request,
    so that it shows also where the controller's own log is not at hand.

    Columns: ``controller_epoch``, ``controller``, ``first`` and ``last`` (time it was heard), ``lines`` (its
    own), ``changes`` (partition changes that it logged itself). Ordered by epoch.
    """
    own = sf.col("role") == "controller"
    changes = sf.col("kind").isin(
        Kind.PARTITION_NEW.value, Kind.PARTITION_ONLINE.value, Kind.PARTITION_DOWN.value
    )
    return (
        events.where("controller is not null and controller_epoch is not null")
        .where(~sf.coalesce("kind", sf.lit("")).isin(*_SENT_BY_ANOTHER))
        .groupBy("controller_epoch", "controller")
        .agg(
            sf.min("time").alias("first"),
            sf.max("time").alias("last"),
            sf.count_if(own).alias("lines"),
            sf.count_if(own & changes).alias("changes"),
        )
        .orderBy("controller_epoch", "first", "controller")
    )


_SENT_BY_ANOTHER = (
    Kind.LEADER_AND_ISR_STALE_CONTROLLER.value,
    Kind.STOP_REPLICA_STALE_CONTROLLER.value,
    Kind.UPDATE_METADATA_STALE_CONTROLLER.value,
)
"""Refusals of a deposed controller's requests: it was heard, but it reigned no more."""


def elections(events: DataFrame) -> DataFrame:
    """Each leadership that a controller decided, and when it took effect: per partition, by epoch.

    A leadership is a line that a partition is online, or that its leader went offline and left none.

    Columns: ``topic``, ``partition``, ``leader_epoch`` (null up to 1.0), ``time`` (decided), ``controller``,
    ``controller_epoch``, ``from`` (the partition's state before), ``leader`` (-1 for none), ``isr``,
    ``previous_leader`` (the last there was, null for a partition's first), ``reason``, ``led_at`` (when the
    leader itself says that it leads in this epoch; null where its log is not at hand or says less).
    """
    decided = (
        events.where(_decides())
        .groupBy("topic", "partition", "leader_epoch", "leader", _unless_epoch("time"))
        .agg(
            sf.min("time").alias("time"),
            *(
                sf.min_by(name, "time").alias(name)
                for name in ("controller", "controller_epoch", "from", "isr")
            ),
        )
        .drop("moment")
    )
    in_order = Window.partitionBy("topic", "partition").orderBy("leader_epoch", "controller_epoch", "time")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    some_leader = sf.when(sf.col("leader") != _NOBODY, sf.col("leader"))
    return (
        decided.withColumn("previous_leader", sf.last(some_leader, ignorenulls=True).over(before))
        .withColumn("reason", _reason())
        .join(_led(events), ["topic", "partition", "leader_epoch", "leader"], "left")
        .select(
            "topic", "partition", "leader_epoch", "time", "controller", "controller_epoch", "from", "leader",
            "isr", "previous_leader", "reason", "led_at",
        )
        .orderBy("topic", "partition", "leader_epoch", "controller_epoch", "time")
    )  # fmt: skip


def failures(events: DataFrame) -> DataFrame:
    """Elections and other changes of a partition that failed.

    Columns: ``time``, ``topic``, ``partition``, ``controller``, ``controller_epoch``, ``from``, ``to``,
    ``cause`` (the first line of the trace). Ordered by time.
    """
    return (
        events.where(sf.col("kind") == Kind.PARTITION_CHANGE_FAILED.value)
        .select(
            "time", "topic", "partition", "controller", "controller_epoch", "from", "to",
            sf.substring_index("trace", "\n", 1).alias("cause"),
        )
        .orderBy("time", "topic", "partition")
    )  # fmt: skip


def _decides() -> Column:
    lost = (sf.col("kind") == Kind.ISR_REMOVAL.value) & (sf.col("leader") == _NOBODY)
    return (sf.col("kind") == Kind.PARTITION_ONLINE.value) | lost


def _unless_epoch(column: str) -> Column:
    # A line that stands in two files is one decision; without an epoch only its time tells decisions apart.
    return sf.when(sf.col("leader_epoch").isNull(), sf.col(column)).alias("moment")


def _reason() -> Column:
    return (
        sf.when(sf.col("leader") == _NOBODY, "its leader went offline")
        .when(sf.col("from") == "NewPartition", "new partition")
        .when(sf.col("from") == "OfflinePartition", "leader was lost")
        .when(sf.col("leader") == sf.col("previous_leader"), "same leader, new epoch")
        .otherwise("leader moved")
    )


def _led(events: DataFrame) -> DataFrame:
    return (
        events.where(sf.col("kind") == Kind.LEADER_STARTS.value)
        .groupBy("topic", "partition", "leader_epoch", sf.col("broker").alias("leader"))
        .agg(sf.min("time").alias("led_at"))
    )
