"""Who was controller when: the table ``controllers``."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from barnabas.analysis.derived.lives import is_kind
from barnabas.cluster.model.statechange import Kind

REFUSALS = (
    Kind.LEADER_AND_ISR_STALE_CONTROLLER,
    Kind.STOP_REPLICA_STALE_CONTROLLER,
    Kind.UPDATE_METADATA_STALE_CONTROLLER,
)
"""A broker refuses the request of a deposed controller: it was heard, but it reigned no more."""

_CHANGES = (Kind.PARTITION_NEW, Kind.PARTITION_ONLINE, Kind.PARTITION_DOWN, Kind.ISR_REMOVAL)


def controllers(events: DataFrame) -> DataFrame:
    """The reigns, by controller epoch: one row each, unless two brokers claimed one epoch.

    A reign is known from the controller's own lines and from brokers' that name the sender of a request, so
    it shows also where the controller's log is not at hand.

    Columns: ``controller_epoch``, ``controller``, ``since`` (first heard of, on its own clock if its log is
    at hand), ``until`` (last heard of in the same way), ``lines`` (its own), ``changes`` (of partitions,
    that it logged), ``refused`` (its requests that brokers refused because it was deposed),
    ``next_controller`` and ``next_since`` (who came next, null for the last), ``previous_controller``.
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
