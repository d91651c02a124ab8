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
    (those of them led by another broker or by none), ``percent`` (null if it should lead none). There is a
    row for each minute in which the numbers changed.
    """
    known = leaders.where("size(replicas) > 0").withColumn("broker", sf.element_at("replicas", 1))
    first = Window.partitionBy(*LIFE).orderBy("leader_epoch", "since")
    # Where clocks differ, an epoch begins with the latest time before it.
    begun = known.withColumns(
        {
            "away": (sf.col("leader") != sf.col("broker")).cast("int"),
            "begun": sf.max("since").over(first),
        }
    )
    # A reassignment may make another broker the preferred leader, so each epoch counts only while it lasts.
    ended = begun.withColumn("begun", sf.lead("begun").over(first)).where("begun is not null")
    minute = sf.date_trunc("minute", "begun").cast("timestamp_ntz").alias("minute")
    steps = begun.select(
        "broker", minute, sf.lit(1).alias("preferred"), sf.col("away").alias("elsewhere")
    ).union(
        ended.select("broker", minute, sf.lit(-1).alias("preferred"), (-sf.col("away")).alias("elsewhere"))
    )
    so_far = Window.partitionBy("broker").orderBy("minute")
    share = sf.round(sf.col("elsewhere") * 100 / sf.col("preferred"), 1)
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
        .withColumn("percent", sf.when(sf.col("preferred") > 0, share))
        .orderBy("minute", "broker")
    )
