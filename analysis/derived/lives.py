"""A topic may be deleted and created again under its name: its partitions then begin at leader epoch 0 again.

So every table of partitions has a column ``life``: 0 until the first creation that the logs hold, then 1, 2 …
"""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from analysis.companions import CompanionKind
from cluster.model.statechange import Kind

PARTITION = ("topic", "partition")
LIFE = (*PARTITION, "life")
NO_LEADER = -1
DELETING = -2
"""The leader of a partition whose topic is being deleted (Kafka: ``LeaderDuringDelete``)."""

_NONEXISTENT = ("NonExistentPartition", "NotExists")
_CLOCKS = timedelta(seconds=2)
"""As far as clocks may differ around the creation of a topic."""


def is_kind(*kinds: Kind | CompanionKind) -> Column:
    """Whether a line of ``events`` says one of these."""
    return sf.col("kind").isin(*(kind.value for kind in kinds))


def lives(events: DataFrame) -> DataFrame:
    """The lives of each partition that the logs see begin or end.

    Columns: ``topic``, ``partition``, ``life``, ``born`` (null for a life that began before the logs),
    ``deleted`` (null for one that did not end), ``replicas`` (assigned at birth).
    """
    born = (
        _births(events)
        .groupBy(*PARTITION, sf.col("time").alias("born"))
        .agg(sf.max("replicas").alias("replicas"))
    )
    born = _numbered(born, events, sf.col("born"))
    ends = is_kind(Kind.PARTITION_DOWN) & sf.col("to").isin(*_NONEXISTENT)
    ends = ends | (is_kind(*_MARKED) & (sf.col("leader") == DELETING))
    deleted = (
        with_life(events.where(ends & sf.col("topic").isNotNull()), events)
        .groupBy(*LIFE)
        .agg(sf.min("time").alias("deleted"))
    )
    return born.join(deleted, list(LIFE), "full").select(*LIFE, "born", "deleted", "replicas")


_MARKED = (Kind.UPDATE_METADATA_SENDING, Kind.METADATA_CACHED, Kind.LEADER_AND_ISR_SENDING)


def with_life(lines: DataFrame, events: DataFrame) -> DataFrame:
    """``lines`` (of some partition each) with the column ``life``.

    The clock decides. A broker's clock may be behind that of the controller which created the topic, so a
    broker's line of leader epoch 0 just before a creation belongs to what was created.
    """
    behind = (sf.col("role") == "broker") & (sf.col("leader_epoch") == 0)
    return _numbered(
        lines, events, sf.when(behind, sf.col("time") + sf.lit(_CLOCKS)).otherwise(sf.col("time"))
    )


def _numbered(frame: DataFrame, events: DataFrame, moment: Column) -> DataFrame:
    births = _births(events).groupBy(*PARTITION).agg(sf.collect_set("time").alias("births"))
    count = sf.size(sf.filter("births", lambda birth: birth <= moment))
    return (
        frame.join(births, list(PARTITION), "left")
        .withColumn("life", sf.when(sf.col("births").isNull(), 0).otherwise(count))
        .drop("births")
    )


def _births(events: DataFrame) -> DataFrame:
    return events.where(is_kind(Kind.PARTITION_NEW) & sf.col("from").isin(*_NONEXISTENT))
