"""The table ``leaders``: the leader of each partition over time, with the reasons for begin and end."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame

from barnabas.analysis.derived.lives import CLOCKS, LIFE, NO_LEADER
from barnabas.analysis.runtime.engine import Window, sf

NEW = "new partition"
FIRST_SEEN = "first seen in these logs"
NONE = "no leader"
LOST = "there was no leader before"
SAME = "new epoch, same leader"
PREFERRED = "moved to the preferred leader"
MOVED = "moved"
AFTER_UNSEEN = "after leader epochs that no line shows"
DELETED = "topic deleted"
DELETING = "topic is being deleted"


def leaders(states: DataFrame, lives: DataFrame) -> DataFrame:
    """Compute one row for each leader in each leader epoch; leader -1 stands for a time without a leader.

    Columns: ``topic``, ``partition``, ``life``, ``leader``, ``leader_epoch``, ``controller_epoch`` and
    ``controller`` (the controller that elected it), ``since`` (the election, or the first line about it),
    ``led_at`` (when the leader logged that it leads; null if its log is missing or lacks that line),
    ``until`` (when the next row begins or the topic was deleted; if leader epochs jump before the next row,
    others led or nobody did in between, so it is an upper bound; null if no line shows an end),
    ``why`` (the reason for its begin) and ``ended`` (the reason for its end; null as ``until``), both
    constants of this module; ``isr`` (at its begin), ``last_isr`` (at its end), ``version`` and
    ``last_version`` (zkVersion at begin and end), ``previous_leader`` (the latest leader before, never -1),
    ``previous_isr``, ``previous_version``, ``replicas`` (assigned), ``election`` (as in ``states``), ``raw``.
    """
    order = Window.partitionBy(*LIFE).orderBy("leader_epoch", "version", "since")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    some_leader = sf.when(sf.col("leader") != NO_LEADER, sf.col("leader"))
    born = lives.select(*LIFE, "born", "deleted", sf.col("replicas").alias("born_replicas"))
    leaderships = _leaderships(states).join(born, list(LIFE), "left").withColumns(
        {
            "replicas": sf.coalesce("replicas", "born_replicas"),
            "previous_leader": sf.last(some_leader, ignorenulls=True).over(before),
            "previous_isr": sf.lag("last_isr").over(order),
            "previous_version": sf.lag("last_version").over(order),
            "before": sf.lag("leader").over(order),
            "jump": sf.col("leader_epoch") - sf.lag("leader_epoch").over(order),
        }
    )  # fmt: skip
    return (
        leaderships.withColumn("why", _why())
        .withColumns({"until": sf.lead("since").over(order), "next": sf.lead("why").over(order)})
        .withColumns(
            {
                "ended": sf.coalesce("next", sf.when(sf.col("deleted").isNotNull(), DELETED)),
                "until": sf.coalesce("until", "deleted"),
            }
        )
        .select(
            *LIFE, "leader", "leader_epoch", "controller_epoch", "controller", "since", "led_at", "until",
            "why", "ended", "isr", "last_isr", "version", "last_version", "previous_leader", "previous_isr",
            "previous_version", "replicas", "election", "raw",
        )
    )  # fmt: skip


def _leaderships(states: DataFrame) -> DataFrame:
    moment = sf.when(sf.col("leader_epoch").isNull(), sf.col("first_logged"))
    # States of one leadership differ in these columns.
    order = Window.partitionBy(*LIFE, "leader_epoch", "leader", "moment").orderBy(
        "version", "first_logged", "isr"
    )
    whole = order.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    return (
        states.withColumns({"moment": moment, "since": sf.coalesce("decided", "first_logged")})
        .withColumns(
            {
                "place": sf.row_number().over(order),
                "last_isr": sf.last(sf.struct("isr"), ignorenulls=True).over(whole)["isr"],
                "last_version": sf.max("version").over(whole),
            }
            | {name: sf.max(name).over(whole) for name in ("replicas", "election")}
            | {name: sf.min(name).over(whole) for name in ("led_at", "from", "version")}
        )
        .where("place = 1")
    )


def _why() -> Column:
    leader, before = sf.col("leader"), sf.col("before")
    first = sf.col("previous_leader").isNull()
    is_deleting = sf.coalesce(sf.col("since") >= sf.col("deleted") - sf.lit(CLOCKS), sf.lit(col=False))
    lost = (sf.col("from") == "OfflinePartition") | (before == NO_LEADER)
    # Of a partition in leader epoch 0, a follower's line or a change of the ISR may be of any later time.
    soon = sf.col("since") + sf.lit(CLOCKS)
    is_birth = (sf.col("led_at") <= soon) | (sf.col("since") <= sf.col("born") + sf.lit(CLOCKS))
    is_new = (sf.col("leader_epoch") == 0) & sf.coalesce(is_birth, sf.lit(col=False))
    return (
        sf.when((leader == NO_LEADER) & is_deleting, DELETING)
        .when(leader == NO_LEADER, NONE)
        .when(sf.col("from") == "NewPartition", NEW)
        .when(lost, LOST)
        .when(first, sf.when(is_new, NEW).otherwise(FIRST_SEEN))
        .when(leader == sf.col("previous_leader"), SAME)
        .when(sf.col("jump") > 1, AFTER_UNSEEN)
        .when(leader == sf.element_at("replicas", 1), PREFERRED)
        .otherwise(MOVED)
    )
