"""Questions about the active controller and about brokers that went away."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import DataFrame

from barnabas.analysis.derived.last_words import with_last_words
from barnabas.analysis.derived.lives import CLOCKS, LIFE, is_kind, with_life
from barnabas.analysis.runtime.engine import Window, sf
from barnabas.cluster.model.statechange import Kind

_RESTART = timedelta(seconds=1)
"""The shortest time that a broker needs to restart; a shorter absence is not a departure."""


def controller_epochs(controllers: DataFrame) -> DataFrame:
    """List the table ``controllers`` by controller epoch."""
    return controllers.orderBy("controller_epoch", "since", "controller")


def departures(events: DataFrame, unavailability: DataFrame, lives: DataFrame) -> DataFrame:
    """List the brokers that went away, by crash or shutdown, and when they returned.

    A broker is gone when a controller takes its replicas offline or elects other leaders for its partitions.
    It is back when a controller sends it LeaderAndIsr again. Lines of a later controller about a broker that
    is still gone belong to the same departure, and so do requests to a broker in controlled shutdown.
    Replicas of a deleted topic go offline too, which is not a departure. A line of a broker is no notice.

    Columns: ``broker``, ``since`` (noticed by a controller), ``last_logged`` (the last line in its own log
    before), ``back`` (null while it is gone), ``controller_epoch`` (of the controller that noticed),
    ``partitions`` (that lost a replica or their leader). Ordered by time.
    """
    marks = _gone(events, unavailability, lives).unionByName(_sent(events), allowMissingColumns=True)
    order = Window.partitionBy("broker").orderBy("controller_epoch", "time", sf.col("back").isNotNull())
    latest = sf.max(sf.when(sf.col("back").isNull(), sf.col("time"))).over(order)
    returns = sf.col("back").isNull() | sf.coalesce(
        sf.col("time") > latest + sf.lit(_RESTART), sf.lit(col=True)
    )
    marks = marks.where("broker is not null").withColumn("returns", returns).where("returns").drop("returns")
    before = sf.lag(sf.col("back").isNull(), 1).over(order)
    begins = sf.col("back").isNull() & ~sf.coalesce(before, sf.lit(col=False))
    runs = (
        marks.withColumn("begins", begins.cast("int"))
        .withColumn("run", sf.sum("begins").over(order))
        .where("run > 0")
        .groupBy("broker", "run")
        .agg(
            sf.min_by("time", sf.when(sf.col("back").isNull(), sf.struct("controller_epoch", "time"))).alias(
                "since"
            ),
            sf.min("back").alias("back"),
            sf.min("controller_epoch").alias("controller_epoch"),
            sf.count_distinct("partition").alias("partitions"),
        )
    )
    return (
        with_last_words(runs, events, "broker", "since", "last_logged")
        .select("broker", "since", "last_logged", "back", "controller_epoch", "partitions")
        .orderBy("since", "broker")
    )


def _gone(events: DataFrame, unavailability: DataFrame, lives: DataFrame) -> DataFrame:
    """Collect the lines and outages which show that a broker is gone."""
    offline = is_kind(Kind.ISR_REMOVAL, Kind.REPLICAS_OFFLINE) | (
        is_kind(Kind.REPLICA_CHANGE) & (sf.col("to") == "OfflineReplica")
    )
    named = sf.concat_ws("-", "topic", "partition")
    ended = lives.where("deleted is not null").select(*LIFE, "deleted")
    gone = (
        with_life(events.where((sf.col("role") == "controller") & offline), lives)
        .join(ended, list(LIFE), "left")
        .where(sf.coalesce(sf.col("time") < sf.col("deleted") - sf.lit(CLOCKS), sf.lit(col=True)))
        .select(sf.col("replica").alias("broker"), "controller_epoch", "time", named.alias("partition"))
    )
    lost = unavailability.where("leader_before is not null and by_controller").select(
        sf.col("leader_before").alias("broker"),
        "controller_epoch",
        sf.col("since").alias("time"),
        named.alias("partition"),
    )
    return gone.union(lost)


def _sent(events: DataFrame) -> DataFrame:
    """Find the first and the last LeaderAndIsr sent to each broker in each second."""
    own = sf.col("role") == "controller"
    return (
        events.where(own & is_kind(Kind.LEADER_AND_ISR_BATCH, Kind.LEADER_AND_ISR_SENDING))
        .select(sf.explode("targets").alias("broker"), "controller_epoch", "time")
        .groupBy("broker", "controller_epoch", sf.date_trunc("second", "time").alias("second"))
        .agg(sf.min("time").alias("time"), sf.max("time").alias("last"))
        .withColumn("back", sf.explode(sf.array("time", "last")))
        .select("broker", "controller_epoch", sf.col("back").alias("time"), sf.col("back"))
        .distinct()
    )
