"""Questions about what controllers did: their epochs, what failed, and how brokers took their requests."""

from __future__ import annotations

from pyspark.sql import DataFrame

from barnabas.analysis.derived.lives import is_kind
from barnabas.analysis.runtime.engine import sf
from barnabas.cluster.model.statechange import Kind


def controller_epochs(controllers: DataFrame) -> DataFrame:
    """List the table ``controllers`` by controller epoch."""
    return controllers.orderBy("controller_epoch", "since", "controller")


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


def request_times(requests: DataFrame) -> DataFrame:
    """Count the requests of each kind to each broker; partitions refuse writes until LeaderAndIsr is done.

    Columns: ``api``, ``broker``, ``requests``, ``median_ms``, ``slowest_ms``, ``slowest_at`` (when the
    slowest was received, or the latest of them), ``unlogged`` (sent, but missing in the broker's log),
    ``refused`` (from a stale controller). Ordered by kind and broker.
    """
    timed = sf.when(sf.col("duration_ms").isNotNull(), sf.struct("duration_ms", "received"))
    return (
        requests.groupBy("api", "broker")
        .agg(
            sf.count("*").alias("requests"),
            sf.median("duration_ms").cast("bigint").alias("median_ms"),
            sf.max("duration_ms").alias("slowest_ms"),
            sf.max_by("received", timed).alias("slowest_at"),
            sf.count_if(sf.col("received").isNull()).alias("unlogged"),
            sf.count_if(sf.startswith("outcome", sf.lit("refused"))).alias("refused"),
        )
        .orderBy("api", "broker")
    )
