"""Questions about partitions without a leader: which ones, for how long, how many at once."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame

from barnabas.analysis.derived.unavailability import NEVER_LED
from barnabas.analysis.runtime.engine import Window, sf

OFFLINE = "without a leader"
UNDER_REPLICATED = "under-replicated"


def millis_between(start: Column, end: Column) -> Column:
    """Return the milliseconds from one time to another; null if one of them is null."""
    return sf.unix_millis(end.cast("timestamp")) - sf.unix_millis(start.cast("timestamp"))


def partitions_without_leader(unavailability: DataFrame) -> DataFrame:
    """List the partitions that had no leader, how often and for how long.

    An outage is counted from the line in which it was noticed to the line in which the next leader leads (or
    to its election, if its log is missing); ``at_most_ms`` counts from the last line of the dead leader.
    Without that line nothing shows how long the leader had been dead, except for a new partition, which had
    no leader before. Without the next leader's line nothing shows when it led.

    Columns: ``topic``, ``partition``, ``outages``, ``lasting`` (whether one has not ended), ``total_ms``,
    ``at_most_ms`` (null if the last line of a dead leader, or the next leader's is missing), ``longest_ms``,
    ``first``, ``cause`` (of the longest). Ordered by ``total_ms``, the longest first.
    """
    end = sf.coalesce("led_at", "until")
    noticed = sf.greatest(millis_between(sf.col("since"), end), sf.lit(0))
    newborn = sf.when(sf.col("cause") == NEVER_LED, sf.col("since"))
    begin = sf.least(sf.coalesce("leader_last_logged", newborn), "since")
    is_ended = sf.col("led_at").isNotNull() | sf.col("leader_after").isNull()
    is_bounded = (sf.col("leader_last_logged").isNotNull() | newborn.isNotNull()) & is_ended
    return (
        unavailability.withColumns(
            {"noticed": noticed, "at_most": millis_between(begin, end), "is_bounded": is_bounded}
        )
        .groupBy("topic", "partition")
        .agg(
            sf.count("*").alias("outages"),
            sf.max(sf.col("until").isNull()).alias("lasting"),
            sf.coalesce(sf.sum("noticed"), sf.lit(0)).alias("total_ms"),
            sf.when(sf.min("is_bounded"), sf.coalesce(sf.sum("at_most"), sf.lit(0))).alias("at_most_ms"),
            sf.max("noticed").alias("longest_ms"),
            sf.min("since").alias("first"),
            sf.max_by("cause", sf.coalesce("noticed", sf.lit(2**62))).alias("cause"),
        )
        .orderBy(sf.desc("lasting"), sf.desc("total_ms"), sf.desc("at_most_ms"), "topic", "partition")
    )


def leaderless_minutes(unavailability: DataFrame) -> DataFrame:
    """List the minutes in which partitions had no leader.

    Columns: ``minute``, ``began`` (outages), ``ended``, ``partitions`` (without a leader at the end of that
    minute), ``touched`` (without one at any time in it). An outage whose end no line shows counts on, so both
    numbers are upper bounds after it. There is a row for each minute in which something changed; between two
    rows nothing changes.
    """
    steps = unavailability.select(sf.col("since").alias("time"), sf.lit(1).alias("step")).union(
        unavailability.where("until is not null").select("until", sf.lit(-1))
    )
    so_far = Window.orderBy("minute")
    return (
        steps.groupBy(sf.date_trunc("minute", "time").cast("timestamp_ntz").alias("minute"))
        .agg(sf.count_if(sf.col("step") > 0).alias("began"), sf.count_if(sf.col("step") < 0).alias("ended"))
        .withColumn("partitions", sf.sum(sf.col("began") - sf.col("ended")).over(so_far))
        .withColumn("touched", sf.col("partitions") + sf.col("ended"))
        .orderBy("minute")
    )


def strip(intervals: DataFrame, start: Column, end: Column, cells: int) -> DataFrame:
    """Count the intervals that begin and end in each of ``cells`` equal parts of the time.

    Args:
        intervals: Rows with ``topic``, ``since`` and ``until`` (null if no line shows the end; only the
            interval's first cell counts it).
        start: The left end of the strip.
        end: The right end.
        cells: The number of cells.

    Returns:
        ``topic``, ``cell`` (from 0), ``began`` (intervals that begin in it) and ``over`` (that ended in the
        cell before): their running difference is the number that a cell shows. The number of rows is bounded
        by topics and cells.
    """
    width = sf.greatest(millis_between(start, end), sf.lit(1)) / cells
    cell = sf.least(sf.floor(millis_between(start, sf.col("time")) / width), sf.lit(cells - 1))
    begins = intervals.select("topic", sf.col("since").alias("time"), sf.lit(1).alias("step"))
    ends = intervals.select("topic", sf.coalesce("until", "since").alias("time"), sf.lit(-1))
    return (
        begins.union(ends)
        .withColumn("cell", cell + sf.when(sf.col("step") < 0, 1).otherwise(0))
        .groupBy("topic", "cell")
        .agg(sf.count_if(sf.col("step") > 0).alias("began"), sf.count_if(sf.col("step") < 0).alias("over"))
        .orderBy("topic", "cell")
    )
