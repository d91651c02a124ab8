"""The table ``lives``: incarnations of a partition whose topic is deleted and created again.

A new topic of the same name starts at leader epoch 0 again, so leader epochs order only the rows of one
incarnation. Every table of partitions therefore has a column ``life``: 0 before the first creation in the
logs, then 1, 2 and so on.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from pyspark.sql import Column, DataFrame

from barnabas.analysis.reading.events.kinds import OtherKind
from barnabas.analysis.runtime.engine import Window, sf
from barnabas.cluster.model.statechange import Kind

PARTITION = ("topic", "partition")
LIFE = (*PARTITION, "life")
NO_LEADER = -1
DELETING = -2
"""The leader of a partition whose topic is being deleted (Kafka: ``LeaderDuringDelete``)."""

_NONEXISTENT = ("NonExistentPartition", "NotExists")
CLOCKS = timedelta(seconds=2)
"""The largest difference of clocks that is assumed."""

DELETION = timedelta(seconds=5)
"""The largest time between a deletion's steps: those of all partitions of a broker are in one batch."""

_LATEST = timedelta(minutes=1)
"""The longest time after which a broker still logs a leader epoch that is over."""


def is_kind(*kinds: StrEnum) -> Column:
    """Return a condition: the line of ``events`` is of one of these kinds."""
    return sf.col("kind").isin(*(kind.value for kind in kinds))


def lives(events: DataFrame) -> DataFrame:
    """Compute one row for each incarnation of a partition whose creation or deletion is in the logs.

    Columns: ``topic``, ``partition``, ``life``, ``born`` (the creation, or the first line where no line names
    it; null if the topic was created before the logs begin), ``deleted`` (null if it was not deleted),
    ``replicas`` (assigned at creation).

    At TRACE the log names a deletion. At INFO (the default from 2.6) only its effects show: the controller
    removes the last replica from the ISR and at once sends StopReplica to that replica's broker. A dead
    broker is sent nothing, and a broker in controlled shutdown first moves its leaderships. A broker that
    loses its session just before it stops looks the same, but then the partition's leader epoch rises later.

    Where no line says that a partition was created, another topic id begins an incarnation, also after a
    creation in the logs: that of another cluster is not in them. So does a leader in epoch 0 long after a
    leader in a higher one, where the logs have no creation. So does, also after a creation in the logs, a
    controller's decision with a lower leader epoch than its decision long before: the logs lack a creation.
    """
    created = (
        events.where(is_kind(Kind.PARTITION_NEW) & sf.col("from").isin(*_NONEXISTENT))
        .groupBy(*PARTITION, sf.col("time").alias("born"))
        .agg(sf.max("replicas").alias("replicas"))
    )
    births = created.unionByName(_remade(events, created))
    born = _numbered(births, births, sf.col("born"), sf.lit(col=False))
    ends = is_kind(Kind.PARTITION_DOWN) & sf.col("to").isin(*_NONEXISTENT)
    ends = ends | (is_kind(*_MARKED) & (sf.col("leader") == DELETING))
    said = events.where(ends & sf.col("topic").isNotNull()).select(*_ENDING)
    stopped = _last(with_life(_stopped(events), births), events, births)
    deleted = with_life(said, births).unionByName(stopped).groupBy(*LIFE).agg(sf.min("time").alias("deleted"))
    return born.join(deleted, list(LIFE), "full").select(*LIFE, "born", "deleted", "replicas")


def _remade(events: DataFrame, created: DataFrame) -> DataFrame:
    """Find the begins of incarnations without a line about their creation, as brokers of KRaft have none."""
    starts = events.where(
        is_kind(Kind.LEADER_STARTS, Kind.FOLLOWER_STARTS) & sf.col("topic").isNotNull()
    ).select(*PARTITION, "time", "kind", "leader_epoch", "topic_id")
    by_id = Window.partitionBy(*PARTITION).orderBy("born")
    other_id = (
        starts.where("topic_id is not null")
        .groupBy(*PARTITION, "topic_id")
        .agg(sf.min("time").alias("born"))
        .withColumn("before", sf.lag("born").over(by_id))
        .where("before is not null")
    )
    # A broker's clock may be behind that of the controller which logs the creation.
    apart = sf.lit(CLOCKS)
    other_id = _unnamed(other_id, created, sf.col("before") + apart, sf.col("born") + apart)
    by_time = Window.partitionBy(*PARTITION).orderBy("time", "leader_epoch")
    first_epoch = (
        starts.where(is_kind(Kind.LEADER_STARTS) & sf.col("topic_id").isNull())
        .join(created.select(*PARTITION).distinct(), list(PARTITION), "left_anti")
        .withColumns({"epoch": sf.lag("leader_epoch").over(by_time), "before": sf.lag("time").over(by_time)})
        .where((sf.col("leader_epoch") == 0) & (sf.col("epoch") > 0))
        .where(sf.col("time") > sf.col("before") + sf.lit(_LATEST))
        .withColumn("born", sf.col("time"))
    )
    none = sf.lit(None).cast("array<int>")
    return (
        other_id.select(*PARTITION, "born")
        .unionByName(first_epoch.select(*PARTITION, "born"))
        .unionByName(_fallen(events, created))
        .withColumn("replicas", none)
    )


def _unnamed(found: DataFrame, created: DataFrame, since: Column, until: Column) -> DataFrame:
    """Select the rows without a line about the partition's creation after ``since`` and by ``until``."""
    named = created.groupBy(*PARTITION).agg(sf.collect_set("born").alias("named"))
    is_named = sf.exists("named", lambda birth: (birth > since) & (birth <= until))
    return found.join(named, list(PARTITION), "left").where(~sf.coalesce(is_named, sf.lit(col=False)))


def _fallen(events: DataFrame, created: DataFrame) -> DataFrame:
    """Find decisions of controllers whose leader epoch is lower than that of the decision before.

    ZooKeeper never lets the leader epoch of a partition fall, so the partition was made in between. Where
    a line says when, that line begins the incarnation.
    """
    by_time = Window.partitionBy(*PARTITION).orderBy("time", "leader_epoch")
    fallen = (
        events.where((sf.col("role") == "controller") & is_kind(Kind.PARTITION_ONLINE, Kind.ISR_REMOVAL))
        .where("leader_epoch is not null and topic is not null")
        .select(*PARTITION, "time", "leader_epoch")
        .withColumns({"epoch": sf.lag("leader_epoch").over(by_time), "before": sf.lag("time").over(by_time)})
        .where("leader_epoch < epoch")
        .where(sf.col("time") > sf.col("before") + sf.lit(_LATEST))
    )
    unnamed = _unnamed(fallen, created, sf.col("before"), sf.col("time"))
    return unnamed.select(*PARTITION, sf.col("time").alias("born"))


_ENDING = (*PARTITION, "time", "role", "leader_epoch")


def _stopped(events: DataFrame) -> DataFrame:
    """Find the removals of last replicas that are followed by StopReplica to their brokers."""
    own = sf.col("role") == "controller"
    stops = events.where(own & is_kind(Kind.STOP_REPLICA_BATCH)).select(
        "controller_epoch",
        sf.element_at("targets", 1).alias("replica"),
        sf.date_trunc("second", "time").alias("second"),
        sf.col("time").alias("stopped"),
    )
    stops = stops.groupBy("controller_epoch", "replica", "second").agg(sf.max("stopped").alias("stopped"))
    # The controller sends the batch of requests after the step, which may be one of thousands of partitions.
    seconds = [
        sf.date_trunc("second", sf.col("time") + sf.lit(timedelta(seconds=later)))
        for later in range(int(DELETION.total_seconds()) + 1)
    ]
    last = is_kind(Kind.ISR_REMOVAL) & (sf.col("leader") == NO_LEADER)
    removed = events.where(own & last).withColumn("second", sf.explode(sf.array(*seconds)))
    return (
        removed.join(stops, ["controller_epoch", "replica", "second"])
        .where("stopped >= time")
        .select(*_ENDING)
        .distinct()
    )


def _last(stopped: DataFrame, events: DataFrame, births: DataFrame) -> DataFrame:
    """Select those after which no line of the same incarnation has a higher leader epoch."""
    known = events.where("leader_epoch is not null and topic is not null").select(
        *PARTITION, "time", "role", "leader_epoch"
    )
    few = known.join(stopped.select(*PARTITION).distinct(), list(PARTITION), "left_semi")
    newest = with_life(few, births).groupBy(*LIFE).agg(sf.max("leader_epoch").alias("newest"))
    return stopped.join(newest, list(LIFE)).where("leader_epoch >= newest").drop("newest")


_MARKED = (OtherKind.UPDATE_METADATA_SENDING, Kind.METADATA_CACHED, Kind.LEADER_AND_ISR_SENDING)


def with_life(lines: DataFrame, lives: DataFrame) -> DataFrame:
    """Add the column ``life`` to ``lines``, each of which is about one partition.

    Args:
        lines: The rows to extend.
        lives: The table ``lives``, of which ``topic``, ``partition`` and ``born`` are used.

    A line belongs to the latest creation before it by the clock. A broker's clock may be behind that of the
    controller which created the topic, so a broker's line of leader epoch 0 just before a creation belongs to
    the new topic, unless another creation is just before that line.
    """
    early = (sf.col("role") == "broker") & (sf.col("leader_epoch") == 0)
    return _numbered(lines, lives, sf.col("time"), sf.coalesce(early, sf.lit(col=False)))


def _numbered(frame: DataFrame, lives: DataFrame, moment: Column, early: Column) -> DataFrame:
    born = lives.where("born is not null")
    births = born.groupBy(*PARTITION).agg(sf.collect_set("born").alias("births"))

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
