"""The table ``controllers``: which broker was the active controller in each controller epoch."""

from __future__ import annotations

from pyspark.sql import DataFrame

from barnabas.analysis.derived.lives import is_kind
from barnabas.analysis.runtime.engine import Window, sf
from barnabas.cluster.model.statechange import Kind

REFUSALS = (
    Kind.LEADER_AND_ISR_STALE_CONTROLLER,
    Kind.STOP_REPLICA_STALE_CONTROLLER,
    Kind.UPDATE_METADATA_STALE_CONTROLLER,
)
"""The lines with which a broker refuses a request because its controller epoch is stale."""

_CHANGES = (Kind.PARTITION_NEW, Kind.PARTITION_ONLINE, Kind.PARTITION_DOWN, Kind.ISR_REMOVAL)


def controllers(events: DataFrame) -> DataFrame:
    """Compute one row for each controller epoch; two rows if two brokers claimed the same epoch.

    A controller epoch is known from the controller's own lines and from brokers' lines that name the sender
    of a request, so the table is complete even if the controller's log is missing.

    Columns: ``controller_epoch``, ``controller``, ``since`` (its first line, or the first line about it if
    its own log is missing), ``until`` (its last line, likewise), ``lines`` (the number of its own lines),
    ``changes`` (partition changes that it logged), ``refused`` (requests that brokers refused because their
    controller epoch was stale), ``next_controller`` and ``next_since`` (its successor; null for the last),
    ``previous_controller``.
    """
    own = sf.col("role") == "controller"
    accepted = ~sf.coalesce(is_kind(*REFUSALS), sf.lit(col=False))
    by_epoch = Window.orderBy("controller_epoch", "since", "controller")
    return (
        events.where("controller is not null and controller_epoch is not null")
        .groupBy("controller_epoch", "controller")
        .agg(
            sf.coalesce(
                sf.min(sf.when(own, sf.col("time"))), sf.min(sf.when(accepted, sf.col("time")))
            ).alias("since"),
            sf.coalesce(
                sf.max(sf.when(own, sf.col("time"))), sf.max(sf.when(accepted, sf.col("time")))
            ).alias("until"),
            sf.count_if(own).alias("lines"),
            sf.count_if(own & is_kind(*_CHANGES)).alias("changes"),
            sf.count_if(~accepted).alias("refused"),
        )
        .where("since is not null")
        .withColumns(
            {
                "next_controller": sf.lead("controller").over(by_epoch),
                "next_since": sf.lead("since").over(by_epoch),
                "previous_controller": sf.lag("controller").over(by_epoch),
            }
        )
    )
