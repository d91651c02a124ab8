"""Questions about elections: failed and unclean ones, and leaders other than the preferred ones."""

from __future__ import annotations

from pyspark.sql import DataFrame

from barnabas.analysis.derived.lives import LIFE, NO_LEADER, is_kind
from barnabas.analysis.runtime.engine import Window, sf
from barnabas.cluster.model.statechange import Kind


def failed_elections(events: DataFrame) -> DataFrame:
    """List the elections and other state changes of partitions that failed.

    Columns: ``time``, ``topic``, ``partition``, ``controller``, ``controller_epoch``, ``from``, ``to``,
    ``cause`` (the first line of the trace). Ordered by time.
    """
    return (
        events.where(is_kind(Kind.PARTITION_CHANGE_FAILED))
        .select(
            "time", "topic", "partition", "controller", "controller_epoch", "from", "to",
            sf.substring_index("trace", "\n", 1).alias("cause"),
        )
        .orderBy("time", "topic", "partition")
    )  # fmt: skip


def unclean_elections(leaders: DataFrame) -> DataFrame:
    """List the leaders that were elected uncleanly: records may have been lost.

    KRaft's controller says how it elected a leader. A ZooKeeper controller's elections are listed if the
    leader was not in the ISR and the zkVersion follows that of the known ISR: if versions are missing in
    between, the ISR may have grown there, and nothing is known. Lines of KRaft brokers alone prove nothing: a
    leader from outside the ISR may come from the eligible leader replicas (KIP-966).

    Columns: ``topic``, ``partition``, ``leader``, ``leader_epoch``, ``since``, ``previous_leader``,
    ``previous_isr``, ``isr``, ``raw``. Ordered by time.
    """
    return (
        leaders.where(sf.col("leader") > NO_LEADER)
        .where(
            "election = 'unclean' or (election is null and controller_epoch is not null "
            "and size(previous_isr) > 0 and not array_contains(previous_isr, leader) "
            "and version = previous_version + 1)"
        )
        .select(
            "topic", "partition", "leader", "leader_epoch", "since", "previous_leader", "previous_isr", "isr",
            "raw",
        )
        .orderBy("since", "topic", "partition")
    )  # fmt: skip


def preferred_imbalance(leaders: DataFrame) -> DataFrame:
    """Count the partitions that each broker should lead, and those of them that it does not, over time.

    The preferred leader is the first assigned replica. If more than leader.imbalance.per.broker.percentage
    (10) of a broker's partitions are led by others, Kafka's leader rebalance moves them back to it.

    Columns: ``minute``, ``broker``, ``preferred`` (partitions whose preferred leader it is), ``elsewhere``
    (those of them led by another broker or by none), ``percent``. There is a row for each minute in which the
    numbers changed.
    """
    known = leaders.where("size(replicas) > 0").withColumn("broker", sf.element_at("replicas", 1))
    first = Window.partitionBy(*LIFE).orderBy("leader_epoch", "since")
    away = (sf.col("leader") != sf.col("broker")).cast("int")
    steps = known.select(
        sf.col("broker"),
        sf.date_trunc("minute", "since").cast("timestamp_ntz").alias("minute"),
        sf.when(sf.row_number().over(first) == 1, 1).otherwise(0).alias("preferred"),
        (away - sf.coalesce(sf.lag(away).over(first), sf.lit(0))).alias("elsewhere"),
    )
    so_far = Window.partitionBy("broker").orderBy("minute")
    return (
        steps.groupBy("broker", "minute")
        .agg(sf.sum("preferred").alias("preferred"), sf.sum("elsewhere").alias("elsewhere"))
        .where("preferred != 0 or elsewhere != 0")
        .select(
            "minute",
            "broker",
            sf.sum("preferred").over(so_far).alias("preferred"),
            sf.sum("elsewhere").over(so_far).alias("elsewhere"),
        )
        .withColumn("percent", sf.round(sf.col("elsewhere") * 100 / sf.col("preferred"), 1))
        .orderBy("minute", "broker")
    )
