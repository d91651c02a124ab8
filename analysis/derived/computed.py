"""The table ``computed_conditions``: those that no single line shows.

They are statements about lines that are there. Only "no such broker appears in these logs" and "when the logs
end" are about lines that are not, and say so.
"""

from __future__ import annotations

from datetime import timedelta
from functools import reduce

from pyspark.sql import Column, DataFrame

from barnabas.analysis.conditions.catalogue.controller import CONTROLLER_EPOCH_BACK
from barnabas.analysis.conditions.catalogue.replication import (
    ISR_FLAPPING,
    ISR_SHRUNK_BY_ONE,
    NO_REPLICA_IN_SYNC,
    PARTITION_OFFLINE,
    REPLICA_NEVER_THERE,
    UNCLEAN_ELECTION,
)
from barnabas.analysis.conditions.condition import Condition
from barnabas.analysis.derived.leaders import NONE
from barnabas.analysis.derived.lives import LIFE, NO_LEADER, is_kind
from barnabas.analysis.runtime.engine import Window, sf
from barnabas.cluster.model.statechange import Kind

NAMES_MAX = 100
"""The most partitions or topics that a row names; ``named`` counts all."""

_FLAPS = 3
_FLAPPING = timedelta(minutes=30)
_FOLLOWERS, _PARTITIONS = 2, 3
_CLOCKS = timedelta(minutes=1)
"""The time by which a controller's epoch must be later than the last line of a higher one."""

_NAME = ("topic", "partition")
_ONLINE = ("OnlinePartition", "Online")


def computed_conditions(
    events: DataFrame, states: DataFrame, leaders: DataFrame, isr: DataFrame
) -> DataFrame:
    """Compute rows like those of ``conditions``, from leaders, ISRs and controllers; ``lines`` is 0."""
    found = (
        _unclean(leaders),
        _offline(leaders),
        _nobody_in_sync(events, leaders),
        _never_there(events, states),
        _shrunk_by_one(states, isr),
        _flapping(isr),
        _epoch_back(events),
    )
    return reduce(lambda one, other: one.unionByName(other), found)


def names() -> tuple[Column, Column]:
    """Return the first partitions or topics of a group in order, and the number of all, from ``name``."""
    return (
        sf.slice(sf.array_sort(sf.collect_set("name")), 1, NAMES_MAX).alias("names"),
        sf.count_distinct("name").alias("named"),
    )


def _no_broker() -> Column:
    return sf.lit(None).cast("int")


def _grouped(rows: DataFrame, condition: Condition) -> DataFrame:
    """Merge rows about partitions by their ``subject``."""
    name = sf.concat("topic", sf.lit("-"), "partition")
    return _row(
        rows.withColumn("name", name)
        .groupBy("subject")
        .agg(sf.min("since").alias("since"), sf.max("since").alias("until"), *names()),
        condition,
    )


def _row(rows: DataFrame, condition: Condition) -> DataFrame:
    def nothing(kind: str, *columns: str) -> list[Column]:
        return [sf.lit(None).cast(kind).alias(column) for column in columns]

    return rows.select(
        sf.lit(condition.key).alias("condition"), _no_broker().alias("broker"), "subject",
        *nothing("string", "source"), "since", "until", sf.lit(0).cast("bigint").alias("lines"), "names",
        "named", *nothing("bigint", "records", "silent_ms"), *nothing("string", "error"),
        *nothing("bigint", "block", "line"), *nothing("string", "raw"),
    )  # fmt: skip


def _open(leaders: DataFrame) -> DataFrame:
    """Select the partitions that have no leader when the logs end."""
    return leaders.where("until is null").where((sf.col("leader") == NO_LEADER) & (sf.col("why") == NONE))


def _offline(leaders: DataFrame) -> DataFrame:
    alone = sf.when(sf.size("last_isr") == 1, sf.element_at("last_isr", 1))
    return _grouped(_open(leaders).withColumn("subject", alone), PARTITION_OFFLINE)


def _nobody_in_sync(events: DataFrame, leaders: DataFrame) -> DataFrame:
    """Find failed elections of partitions that have a leader again, or of which nothing more is known."""
    failed = (
        events.where(is_kind(Kind.PARTITION_CHANGE_FAILED) & sf.col("topic").isNotNull())
        .where(sf.col("from").isin("OfflinePartition", "Offline") & sf.col("to").isin(*_ONLINE))
        .select(*_NAME, sf.col("time").alias("since"), _no_broker().alias("subject"))
    )
    return _grouped(failed.join(_open(leaders), list(_NAME), "left_anti"), NO_REPLICA_IN_SYNC)


def _never_there(events: DataFrame, states: DataFrame) -> DataFrame:
    """Find assigned ids that are not among the live brokers of a controller's lists, nor anywhere else."""
    live = events.where("live_brokers is not null").select(sf.explode("live_brokers").alias("subject"))
    known = (
        live.union(events.where("broker is not null").select("broker"))
        .union(states.select("leader"))
        .union(states.where("isr is not null").select(sf.explode("isr").alias("subject")))
        .distinct()
    )
    listed = live.select(sf.lit(1).alias("one")).distinct()
    assigned = states.where("replicas is not null").select(
        *_NAME, sf.col("first_logged").alias("since"), sf.lit(1).alias("one"),
        sf.explode("replicas").alias("subject"),
    )  # fmt: skip
    return _grouped(
        assigned.join(known, ["subject"], "left_anti").join(listed, ["one"], "left_semi"), REPLICA_NEVER_THERE
    )


def _shrunk_by_one(states: DataFrame, isr: DataFrame) -> DataFrame:
    """Find leaders that removed several followers from ISRs of several partitions in one minute."""
    key = (*LIFE, "leader_epoch", "version")
    own = states.where("changed is not null").select(*key).distinct()
    removed = (
        isr.where(sf.col("leader") > NO_LEADER)
        .join(own, list(key), "left_semi")
        .select(
            *_NAME, "since", sf.col("leader").alias("subject"),
            sf.date_trunc("minute", "since").alias("minute"), sf.explode("left").alias("follower"),
        )
    )  # fmt: skip
    at_once = (
        removed.withColumn("name", sf.concat("topic", sf.lit("-"), "partition"))
        .groupBy("subject", "minute")
        .agg(sf.count_distinct("follower").alias("followers"), sf.count_distinct("name").alias("named"))
        .where((sf.col("followers") >= _FOLLOWERS) & (sf.col("named") >= _PARTITIONS))
        .select("subject", "minute")
    )
    return _grouped(removed.join(at_once, ["subject", "minute"], "left_semi"), ISR_SHRUNK_BY_ONE)


def _flapping(isr: DataFrame) -> DataFrame:
    left = isr.select(*LIFE, "since", sf.explode("left").alias("subject"))
    order = Window.partitionBy(*LIFE, "subject").orderBy("since")
    earlier = sf.lag("since", _FLAPS - 1).over(order)
    often = left.withColumn("earlier", earlier).where(
        sf.col("since") <= sf.col("earlier") + sf.lit(_FLAPPING)
    )
    return _grouped(often, ISR_FLAPPING)


def _epoch_back(events: DataFrame) -> DataFrame:
    """Find controllers that began to act after the last line of one in a higher epoch."""
    controllers = (
        events.where("role = 'controller' and controller is not null and controller_epoch is not null")
        .groupBy("controller_epoch", "controller")
        .agg(sf.min("time").alias("since"), sf.max("time").alias("until"))
    )
    order = Window.orderBy("since", "controller_epoch")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    none = sf.array_sort(sf.collect_set(sf.lit(None).cast("string"))).alias("names")
    back = (
        controllers.withColumns({"highest": sf.max(sf.struct("controller_epoch", "until")).over(before)})
        .where(sf.col("highest.controller_epoch") > sf.col("controller_epoch"))
        .where(sf.col("since") > sf.col("highest.until") + sf.lit(_CLOCKS))
        .withColumn("subject", sf.col("controller"))
    )
    return _row(
        back.groupBy("subject").agg(
            sf.min("since").alias("since"), sf.max("since").alias("until"), none,
            sf.count_distinct(sf.lit(None).cast("string")).alias("named"),
        ),
        CONTROLLER_EPOCH_BACK,
    )  # fmt: skip


def _unclean(leaders: DataFrame) -> DataFrame:
    """Find leaders that were not in sync, where no version of the state is missing in between."""
    found = leaders.where(sf.col("leader") > NO_LEADER).where(
        "election = 'unclean' or (election is null and controller_epoch is not null "
        "and size(previous_isr) > 0 and not array_contains(previous_isr, leader) "
        "and version = previous_version + 1)"
    )
    return _grouped(found.withColumn("subject", sf.col("leader")), UNCLEAN_ELECTION)
