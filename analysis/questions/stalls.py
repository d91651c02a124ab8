"""Why writes stalled: everything that kept producers of a partition waiting, or may have."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from barnabas.analysis.questions.availability import OFFLINE, UNDER_REPLICATED
from barnabas.analysis.questions.churn import under_replicated


def write_stalls(unavailability: DataFrame, isr: DataFrame) -> DataFrame:
    """When a partition could not be written, or not with acks=all.

    Without a leader nobody writes. With fewer replicas in sync than min.insync.replicas (which the logs do
    not tell) writes with acks=all are refused.

    Columns: ``topic``, ``partition``, ``what`` (``availability.OFFLINE`` or ``UNDER_REPLICATED``), ``since``,
    ``until`` (null while it lasts), ``earliest`` (the last line of the dead leader: it may have begun then),
    ``sure_until`` (null, or before ``until``: from then on it may have been over), ``leader_before``,
    ``leader_after``, ``elected``, ``led_at``, ``leader_epoch``, ``controller_epoch``, ``failed``,
    ``failure``, ``cause``, ``least`` (the smallest ISR), ``assigned``, ``missing``. By partition and time.
    """
    without = unavailability.select(
        "topic", "partition", sf.lit(OFFLINE).alias("what"), "since",
        sf.coalesce("led_at", "until").alias("until"),
        sf.col("leader_heard").alias("earliest"),
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
