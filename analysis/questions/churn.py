"""Questions about replicas that leave the ISR and return."""

from __future__ import annotations

from pyspark.sql import DataFrame

from barnabas.analysis.derived.lives import LIFE
from barnabas.analysis.runtime.engine import Window, sf


def flapping_brokers(isr: DataFrame) -> DataFrame:
    """Count how often each broker left an ISR and returned; a high count suggests a sick disk, network or GC.

    Columns: ``broker``, ``left`` (times it left an ISR), ``joined``, ``partitions`` (different ones),
    ``spells`` (periods out of sync: times it left an ISR after it had left none for a minute), ``first`` and
    ``last`` (time). Ordered by ``spells``, the most first.
    """
    out = isr.select(
        sf.explode("left").alias("broker"), "topic", "partition", "since", sf.lit(1).alias("is_out")
    )
    back = isr.select(
        sf.explode("joined").alias("broker"), "topic", "partition", "since", sf.lit(0).alias("is_out")
    )
    minutes = Window.partitionBy("broker").orderBy("minute")
    minute = sf.date_trunc("minute", "since").alias("minute")
    by_minute = (
        out.union(back)
        .groupBy("broker", minute)
        .agg(
            sf.sum("is_out").alias("left"),
            sf.sum(1 - sf.col("is_out")).alias("joined"),
            sf.collect_set(sf.struct("topic", "partition")).alias("partitions"),
            sf.min("since").alias("first"),
            sf.max("since").alias("last"),
        )
    )
    pause = sf.unix_seconds(sf.col("minute").cast("timestamp")) - sf.unix_seconds(
        sf.lag("minute").over(minutes).cast("timestamp")
    )
    begins = (sf.col("left") > 0) & (sf.coalesce(pause, sf.lit(3600)) > 60)
    return (
        by_minute.withColumn("begins", begins.cast("int"))
        .groupBy("broker")
        .agg(
            sf.sum("left").alias("left"),
            sf.sum("joined").alias("joined"),
            sf.size(sf.array_distinct(sf.flatten(sf.collect_list("partitions")))).alias("partitions"),
            sf.sum("begins").alias("spells"),
            sf.min("first").alias("first"),
            sf.max("last").alias("last"),
        )
        .orderBy(sf.desc("spells"), sf.desc("left"), "broker")
    )


def under_replicated(isr: DataFrame) -> DataFrame:
    """List the periods in which a partition had fewer replicas in sync than assigned.

    Columns: ``topic``, ``partition``, ``life``, ``since``, ``until`` (null while it lasts), ``sure_until``
    (the last line that shows the period; before ``until`` if the ISR was written in between without a line),
    ``least`` (the smallest ISR), ``assigned``, ``missing`` (brokers out of sync). Ordered by time.
    """
    order = Window.partitionBy(*LIFE).orderBy("leader_epoch", "version", "since")
    short = sf.col("size") < sf.col("assigned")
    before = sf.coalesce(sf.lag(short).over(order), sf.lit(col=False))
    return (
        isr.withColumns({"short": short, "begins": (short & ~before).cast("int")})
        .withColumn("run", sf.sum("begins").over(order))
        .where("short")
        .groupBy(*LIFE, "run")
        .agg(
            sf.min("since").alias("since"),
            sf.max_by("until", sf.struct("leader_epoch", "version", "since")).alias("until"),
            sf.max_by(
                sf.coalesce("seen_until", "until"), sf.struct("leader_epoch", "version", "since")
            ).alias("sure_until"),
            sf.min("size").alias("least"),
            sf.max("assigned").alias("assigned"),
            sf.array_sort(sf.array_distinct(sf.flatten(sf.collect_list("left")))).alias("missing"),
        )
        .drop("run")
        .orderBy("since", "topic", "partition")
    )
