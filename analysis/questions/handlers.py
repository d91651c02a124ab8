"""How long brokers took to do what controllers asked."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

LEADER_AND_ISR = "LEADER_AND_ISR"


def slowest_leader_and_isr(requests: DataFrame) -> DataFrame:
    """LeaderAndIsr requests by the time that the broker took: partitions cannot be written meanwhile.

    Columns: ``broker``, ``controller``, ``controller_epoch``, ``correlation_id``, ``partitions``,
    ``received``, ``finished``, ``duration_ms``. The slowest first.
    """
    return (
        requests.where((sf.col("api") == LEADER_AND_ISR) & sf.col("duration_ms").isNotNull())
        .select(
            "broker", "controller", "controller_epoch", "correlation_id", "partitions", "received",
            "finished", "duration_ms",
        )
        .orderBy(sf.desc("duration_ms"), "received", "broker")
    )  # fmt: skip


def request_times(requests: DataFrame) -> DataFrame:
    """Each broker's requests of each kind.

    Columns: ``api``, ``broker``, ``requests``, ``median_ms``, ``slowest_ms``, ``unheard`` (sent, but not in
    the broker's log), ``refused`` (from a stale controller). By kind and broker.
    """
    return (
        requests.groupBy("api", "broker")
        .agg(
            sf.count("*").alias("requests"),
            sf.median("duration_ms").cast("bigint").alias("median_ms"),
            sf.max("duration_ms").alias("slowest_ms"),
            sf.count_if(sf.col("received").isNull()).alias("unheard"),
            sf.count_if(sf.startswith("outcome", sf.lit("refused"))).alias("refused"),
        )
        .orderBy("api", "broker")
    )
