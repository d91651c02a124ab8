"""The table ``delays``: from decisions to brokers' lines about them, which show whose clocks differ."""

from __future__ import annotations

from pyspark.sql import DataFrame

from barnabas.analysis.derived.lives import PARTITION, is_kind
from barnabas.analysis.runtime.engine import sf
from barnabas.cluster.model.statechange import Kind

_DECISION = (*PARTITION, "leader_epoch")


def delays(events: DataFrame) -> DataFrame:
    """Compute one row for each controller and other broker that logged that it leads or follows.

    The rows do not use incarnations of partitions, which wrong times confuse. A leader epoch that was decided
    twice, as when a topic is created again, is left out. So is one that leaders logged with several topic
    ids, or only some with one: they are of several topics, or clusters.

    Columns: ``controller``, ``broker``, ``decisions`` (compared), ``least_ms`` and ``median_ms`` (from the
    controller's line to the broker's first line about the decision, so negative if that is earlier),
    ``led_ms`` (the least of those by which the broker itself was elected; null if none was), ``excess_ms``
    (the least by which one is longer than the controller's own of that minute: elections may be slow).
    """
    known = _known(events)
    own = (
        known.where(sf.col("leads") & (sf.col("controller") == sf.col("broker")))
        .groupBy("controller", "minute")
        .agg(sf.max("delay_ms").alias("own_ms"))
    )
    return (
        known.where("controller != broker")
        .join(own, ["controller", "minute"], "left")
        .withColumn("excess_ms", sf.col("delay_ms") - sf.coalesce("own_ms", sf.lit(0)))
        .groupBy("controller", "broker")
        .agg(
            sf.count("*").alias("decisions"),
            sf.min("delay_ms").alias("least_ms"),
            sf.median("delay_ms").cast("bigint").alias("median_ms"),
            sf.min(sf.when(sf.col("leads"), sf.col("delay_ms"))).alias("led_ms"),
            sf.min("excess_ms").alias("excess_ms"),
        )
    )


def _known(events: DataFrame) -> DataFrame:
    """Select the lines that brokers lead or follow, each with the decision, its minute, and the delay."""
    decided = (
        events.where(is_kind(Kind.PARTITION_ONLINE) & (sf.col("role") == "controller"))
        .where("leader_epoch is not null and controller is not null")
        .groupBy(*_DECISION)
        .agg(
            sf.min("time").alias("decided"),
            sf.min("controller").alias("controller"),
            # A copy of the log has the same times.
            sf.count_distinct("time").alias("times"),
        )
        .where("times = 1")
    )
    started = events.where(is_kind(Kind.LEADER_STARTS, Kind.FOLLOWER_STARTS)).where(
        "leader_epoch is not null and broker is not null"
    )
    logged = started.groupBy(*_DECISION, "broker").agg(
        sf.min("time").alias("logged"),
        sf.max("time").alias("last"),
        sf.max(is_kind(Kind.LEADER_STARTS)).alias("leads"),
    )
    # The lines of followers name no topic id.
    topic = sf.when(is_kind(Kind.LEADER_STARTS), sf.coalesce("topic_id", sf.lit("")))
    same = (
        started.groupBy(*_DECISION)
        .agg(sf.count_distinct(topic).alias("topics"))
        .where("topics <= 1")
        .select(*_DECISION)
    )
    delay = sf.unix_millis(sf.col("logged").cast("timestamp")) - sf.unix_millis(
        sf.col("decided").cast("timestamp")
    )
    minute = sf.date_trunc("minute", "decided")
    return (
        logged.join(decided.join(same, list(_DECISION)), list(_DECISION))
        .where("logged >= decided or last <= decided")
        .withColumns({"delay_ms": delay, "minute": minute})
    )
