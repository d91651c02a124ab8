"""Questions about the time that brokers took for the controller's requests."""

from __future__ import annotations

from pyspark.sql import DataFrame

from barnabas.analysis.runtime.engine import sf

LEADER_AND_ISR = "LEADER_AND_ISR"


def slowest_leader_and_isr(requests: DataFrame) -> DataFrame:
    """List the LeaderAndIsr requests by duration; partitions refuse writes until their request is done.

    Columns: ``broker``, ``controller``, ``controller_epoch``, ``correlation_id``, ``partitions``,
    ``received``, ``finished``, ``duration_ms``. Ordered by duration, the slowest first.
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
    """Count the requests of each kind to each broker.

    Columns: ``api``, ``broker``, ``requests``, ``median_ms``, ``slowest_ms``, ``unlogged`` (sent, but missing
    in the broker's log), ``refused`` (from a stale controller). Ordered by kind and broker.
    """
    return (
        requests.groupBy("api", "broker")
        .agg(
            sf.count("*").alias("requests"),
            sf.median("duration_ms").cast("bigint").alias("median_ms"),
            sf.max("duration_ms").alias("slowest_ms"),
            sf.count_if(sf.col("received").isNull()).alias("unlogged"),
            sf.count_if(sf.startswith("outcome", sf.lit("refused"))).alias("refused"),
        )
        .orderBy("api", "broker")
    )
