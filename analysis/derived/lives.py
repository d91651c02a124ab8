"""A topic may be deleted and created again under its name: its partitions then begin at leader epoch 0 again.

So every table of partitions has a column ``life``: 0 until the first creation that the logs hold, then 1, 2 …
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from barnabas.analysis.reading.kinds import OtherKind
from barnabas.cluster.model.statechange import Kind

PARTITION = ("topic", "partition")
LIFE = (*PARTITION, "life")
NO_LEADER = -1
DELETING = -2
"""The leader of a partition whose topic is being deleted (Kafka: ``LeaderDuringDelete``)."""

_NONEXISTENT = ("NonExistentPartition", "NotExists")
CLOCKS = timedelta(seconds=2)
"""As far as clocks may differ around the creation of a topic, and a deletion's steps lie apart."""


def is_kind(*kinds: StrEnum) -> Column:
    """Whether a line of ``events`` says one of these."""
    return sf.col("kind").isin(*(kind.value for kind in kinds))


def lives(events: DataFrame) -> DataFrame:
    """The lives of each partition that the logs see begin or end.

    Columns: ``topic``, ``partition``, ``life``, ``born`` (null for a life that began before the logs),
    ``deleted`` (null for one that did not end), ``replicas`` (assigned at birth).

    At TRACE a deletion is said. At INFO (the default from 2.6) it shows in this alone: the last replica is
    taken out of the ISR, and at once its broker, which lives, is sent StopReplica. A dead broker is sent
    nothing, and one that shuts down gives its leaderships to others first.
    """
    born = (
        _births(events)
        .groupBy(*PARTITION, sf.col("time").alias("born"))
        .agg(sf.max("replicas").alias("replicas"))
    )
    born = _numbered(born, events, sf.col("born"), sf.lit(col=False))
    ends = is_kind(Kind.PARTITION_DOWN) & sf.col("to").isin(*_NONEXISTENT)
    ends = ends | (is_kind(*_MARKED) & (sf.col("leader") == DELETING))
    said = events.where(ends & sf.col("topic").isNotNull()).select(*_ENDING)
    deleted = (
        with_life(said.unionByName(_stopped(events)), events)
        .groupBy(*LIFE)
        .agg(sf.min("time").alias("deleted"))
    )
    return born.join(deleted, list(LIFE), "full").select(*LIFE, "born", "deleted", "replicas")


_ENDING = (*PARTITION, "time", "role", "leader_epoch")


def _stopped(events: DataFrame) -> DataFrame:
    """The removals of last replicas whose brokers are then told to stop them."""
    own = sf.col("role") == "controller"
    stops = events.where(own & is_kind(Kind.STOP_REPLICA_BATCH)).select(
        "controller_epoch",
        sf.element_at("targets", 1).alias("replica"),
        sf.date_trunc("second", "time").alias("second"),
        sf.col("time").alias("stopped"),
    )
    stops = stops.groupBy("controller_epoch", "replica", "second").agg(sf.max("stopped").alias("stopped"))
    # Requests go out when a step is done: in the removal's second, or in the next one.
    seconds = [sf.date_trunc("second", sf.col("time") + sf.lit(timedelta(seconds=later))) for later in (0, 1)]
    last = is_kind(Kind.ISR_REMOVAL) & (sf.col("leader") == NO_LEADER)
    removed = events.where(own & last).withColumn("second", sf.explode(sf.array(*seconds)))
    return (
        removed.join(stops, ["controller_epoch", "replica", "second"])
        .where("stopped >= time")
        .select(*_ENDING)
        .distinct()
    )


_MARKED = (OtherKind.UPDATE_METADATA_SENDING, Kind.METADATA_CACHED, Kind.LEADER_AND_ISR_SENDING)


def with_life(lines: DataFrame, events: DataFrame) -> DataFrame:
    """``lines`` (of some partition each) with the column ``life``.

    The clock decides. A broker's clock may be behind that of the controller which created the topic, so a
    broker's line of leader epoch 0 just before a creation belongs to what was created, unless it stands just
    behind another creation.
    """
    early = (sf.col("role") == "broker") & (sf.col("leader_epoch") == 0)
    return _numbered(lines, events, sf.col("time"), sf.coalesce(early, sf.lit(col=False)))


def _numbered(frame: DataFrame, events: DataFrame, moment: Column, early: Column) -> DataFrame:
    births = _births(events).groupBy(*PARTITION).agg(sf.collect_set("time").alias("births"))

    def between(since: Column, until: Column) -> Column:
        return sf.exists("births", lambda birth: (birth > since) & (birth <= until))

    apart = sf.lit(CLOCKS)
    is_next = early & ~between(moment - apart, moment) & between(moment, moment + apart)
    count = sf.size(sf.filter("births", lambda birth: birth <= moment)) + is_next.cast("int")
    return (
        frame.join(births, list(PARTITION), "left")
        .withColumn("life", sf.when(sf.col("births").isNull(), 0).otherwise(count))
        .drop("births")
    )


def _births(events: DataFrame) -> DataFrame:
    return events.where(is_kind(Kind.PARTITION_NEW) & sf.col("from").isin(*_NONEXISTENT))
