"""Questions about the logs themselves: their lines, brokers and clocks."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import DataFrame

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.runtime.engine import sf
from barnabas.analysis.story.clocks import BEHIND, LATE

SAMPLE_MAX = 2000
"""The most characters of a sample line; a damaged one may have millions."""


def not_understood(events: DataFrame) -> DataFrame:
    """List the lines that no rule matches; lines that differ only in numbers count as one.

    Columns: ``shape`` (the text with # for each run of digits), ``lines``, ``sources`` (how many files),
    ``first``, ``sample``. Ordered by frequency, the most frequent first.
    """
    first_line = sf.substring_index("raw", "\n", 1)
    return (
        events.where("not understood")
        .groupBy(sf.regexp_replace(sf.substring(first_line, 1, 240), r"\d+", "#").alias("shape"))
        .agg(
            sf.count("*").alias("lines"),
            sf.count_distinct("source").alias("sources"),
            sf.min("time").alias("first"),
            sf.substring(sf.min("raw"), 1, SAMPLE_MAX).alias("sample"),
        )
        .orderBy(sf.desc("lines"), "shape")
    )


def read_logs(events: DataFrame, conditions: DataFrame) -> DataFrame:
    """Count the lines of each file.

    Columns: ``source``, ``lines`` (all), ``conditions`` (that carry a condition), ``unknown`` (that no rule
    of their logger matches), ``first`` and ``last`` (time), ``nameless`` (with a kind, while neither the text
    nor the path names the broker that wrote them), ``registered`` (brokers that records of
    ``__cluster_metadata`` register). Ordered by file.
    """
    # Only lines of a log have a level: records of __cluster_metadata and topics' settings are of no broker.
    is_nameless = sf.col("understood") & sf.col("broker").isNull() & sf.col("level").isNotNull()
    registered = sf.when(
        (sf.col("kind") == BrokerKind.BROKER_REGISTERED.value) & sf.col("level").isNull(), sf.col("subject")
    )
    return (
        events.groupBy("source")
        .agg(
            sf.count("*").alias("lines"),
            sf.count_if(~sf.coalesce(sf.col("understood"), sf.lit(col=True))).alias("unknown"),
            sf.min("time").alias("first"),
            sf.max("time").alias("last"),
            sf.count_if(is_nameless).alias("nameless"),
            sf.count_distinct(registered).alias("registered"),
        )
        .join(conditions.groupBy("source").agg(sf.sum("lines").alias("carry")), ["source"], "left")
        .withColumn("conditions", sf.coalesce("carry", sf.lit(0)))
        .drop("carry")
        .orderBy("source")
    )


def brokers(events: DataFrame) -> DataFrame:
    """List the brokers whose logs were read.

    Columns: ``broker``, ``lines``, ``sources`` (files), ``first`` and ``last`` (time), ``errors`` (lines at
    ERROR), ``warnings``. Ordered by broker.
    """
    return (
        events.where("broker is not null")
        .groupBy("broker")
        .agg(
            sf.count("*").alias("lines"),
            sf.count_distinct("source").alias("sources"),
            sf.min("time").alias("first"),
            sf.max("time").alias("last"),
            sf.count_if(sf.col("level") == "ERROR").alias("errors"),
            sf.count_if(sf.col("level") == "WARN").alias("warnings"),
        )
        .orderBy("broker")
    )


def clock_skew(delays: DataFrame) -> DataFrame:
    """Estimate how far brokers' clocks are behind their controllers', or ahead.

    No broker leads or follows before the decision. If its log says otherwise, its clock is behind the
    controller's by at least that much. If it logged all decisions late, its clock may be ahead. What else is
    claimed, and what not, says ``analysis.story.clocks.differences_of``.

    Columns: ``controller``, ``broker``, ``decisions`` (compared), ``least_ms`` and ``median_ms`` (from the
    decision to the broker's own line), ``behind_ms`` (the least that the broker's clock is behind; 0 if
    nothing shows it), ``ahead_ms`` (the most that it is ahead if it may be, else 0). Ordered by the larger of
    the two, the worst first.
    """
    late, behind = (int(each / timedelta(milliseconds=1)) for each in (LATE, BEHIND))
    reverse = delays.select(
        sf.col("broker").alias("controller"),
        sf.col("controller").alias("broker"),
        sf.col("least_ms").alias("reverse"),
    )
    is_of_others = (sf.col("least_ms") < -behind) & (sf.col("reverse") < -behind)
    is_ahead = sf.col("led_ms").isNotNull() & (sf.col("excess_ms") >= late) & sf.col("reverse").isNull()
    return (
        delays.join(reverse, ["controller", "broker"], "left")
        .withColumns(
            {
                "behind_ms": sf.when(is_of_others, 0).otherwise(sf.greatest(-sf.col("least_ms"), sf.lit(0))),
                "ahead_ms": sf.when(is_ahead, sf.col("least_ms")).otherwise(0),
            }
        )
        .orderBy(sf.desc(sf.greatest("behind_ms", "ahead_ms")), "controller", "broker")
        .drop("led_ms", "excess_ms", "reverse")
    )


def cluster_id(events: DataFrame) -> str | None:
    """Return the id of the cluster; None if no line contains one, or lines contain several."""
    rows = events.where("cluster_id is not null").select("cluster_id").distinct().limit(2).collect()
    return str(rows[0]["cluster_id"]) if len(rows) == 1 else None
