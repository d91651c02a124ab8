"""The question ``write_stalls``: everything that kept producers of a partition waiting, or may have."""

from __future__ import annotations

from pyspark.sql import DataFrame

from barnabas.analysis.questions.availability import OFFLINE, UNDER_REPLICATED
from barnabas.analysis.questions.churn import under_replicated
from barnabas.analysis.runtime.engine import sf


def write_stalls(unavailability: DataFrame, isr: DataFrame) -> DataFrame:
    """List the periods in which a partition refused writes, or refused writes with acks=all.

    A partition without a leader accepts no writes. With fewer replicas in sync than min.insync.replicas,
    which the logs do not contain, it refuses writes with acks=all.

    Columns: ``topic``, ``partition``, ``what`` (``availability.OFFLINE`` or ``UNDER_REPLICATED``), ``since``,
    ``until`` (null while it lasts), ``earliest`` (the last line of the dead leader, the earliest possible
    start), ``sure_until`` (null, or a time before ``until`` after which it may have been over),
    ``leader_before``, ``leader_after``, ``elected``, ``led_at``, ``leader_epoch``, ``controller_epoch``,
    ``failed``, ``failure``, ``cause``, ``least`` (the smallest ISR), ``assigned``, ``missing``. Ordered by
    partition and time.
    """
    without = unavailability.select(
        "topic", "partition", sf.lit(OFFLINE).alias("what"), "since",
        sf.coalesce("led_at", "until").alias("until"),
        sf.col("leader_last_logged").alias("earliest"),
        "leader_before", "leader_after",
        sf.col("until").alias("elected"),
        "led_at", "leader_epoch", "controller_epoch", "failed", "failure", "cause",
    )  # fmt: skip
    short = under_replicated(isr).select(
        "topic", "partition", sf.lit(UNDER_REPLICATED).alias("what"), "since", "until",
        sf.when(sf.coalesce(sf.col("sure_until") < sf.col("until"), sf.lit(col=False)), sf.col("sure_until"))
        .alias("sure_until"),
        "least", "assigned", "missing",
    )  # fmt: skip
    return without.unionByName(short, allowMissingColumns=True).orderBy("topic", "partition", "since", "what")
