"""The table ``unavailability``: when each partition had no leader, and why."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame

from barnabas.analysis.derived.last_words import with_last_words
from barnabas.analysis.derived.lives import CLOCKS, LIFE, NO_LEADER, is_kind, with_life
from barnabas.analysis.reading.events.kinds import OtherKind
from barnabas.analysis.runtime.engine import Window, sf
from barnabas.cluster.model.statechange import Kind

LEADER_OFFLINE = "its leader went offline"
BOTH_OFFLINE = "its leader, the controller, went offline"
NOBODY_IN_SYNC = "no replica in sync was alive"
NEVER_LED = "no replica was alive when it was created"
NOTIFIED_ONLY = "brokers were notified that it has no leader"
UNSEEN = "it is not known who led it before"

_TAKEOVER = timedelta(seconds=10)
"""An outage noticed this soon after a controller's election is blamed on the former controller's death."""

_SOON = timedelta(seconds=5)
"""The time after a failed election within which a leader's own line is not one of its next start."""

_OFFLINE = ("OfflinePartition", "Offline")
_NEW = ("NewPartition", "New")
_ONLINE = ("OnlinePartition", "Online")
_MARK = (
    *LIFE, "controller_epoch", "time", "leader_epoch", "leader", "down", "was_down", "failed", "newborn",
    "reason", "by_controller",
)  # fmt: skip


def unavailability(
    events: DataFrame, states: DataFrame, leaders: DataFrame, controllers: DataFrame, lives: DataFrame
) -> DataFrame:
    """Compute one row for each time in which a partition had no leader.

    An outage begins before it is noticed: the controller learns of a dead leader when its ZooKeeper session
    expires. ``leader_last_logged`` is the last line in the dead leader's own log, so the leader was alive
    until then. It is null if only brokers' lines show the outage, which may be much later: a broker of KRaft
    logs it when it has started again. A partition that has no leader because its topic is being deleted does
    not count, nor does a state without a leader after which leader epochs are missing: when it ended is
    unknown.

    Columns: ``topic``, ``partition``, ``life``, ``since`` (when it was noticed: the first line about it, or
    the next election if there is no such line), ``until`` (the next leader was elected or the topic deleted;
    null while it lasts), ``led_at`` (the next leader logged that it leads), ``leader_before``,
    ``leader_after``, ``leader_epoch`` (of ``leader_after``), ``leader_last_logged``, ``controller_epoch`` (of
    the controller that noticed), ``failed`` (the number of failed elections), ``failure`` (the error of the
    last of them), ``cause`` (a constant of this module), ``by_controller`` (whether a controller's line
    showed it first, so ``since`` is when it was noticed).
    """
    order = Window.partitionBy(*LIFE).orderBy("controller_epoch", "time", "leader_epoch")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    after = order.rowsBetween(1, Window.unboundedFollowing)
    up = sf.col("leader") > NO_LEADER
    was_up = ~sf.coalesce(sf.lag("down").over(order), sf.lit(col=False))
    begins = (sf.col("down") | sf.col("was_down")) & was_up
    marks = _marks(events, states, lives).withColumns(
        {
            "begins": begins,
            "leader_before": sf.last(sf.when(up, sf.col("leader")), ignorenulls=True).over(before),
            "next_up": sf.first(
                sf.when(~sf.col("down"), sf.struct("time", "leader", "leader_epoch")), ignorenulls=True
            ).over(after),
        }
    )
    run = sf.sum(sf.col("begins").cast("int")).over(order)
    return _described(_runs(marks.withColumn("run", run)), events, leaders, controllers, lives)


def _marks(events: DataFrame, states: DataFrame, lives: DataFrame) -> DataFrame:
    """Collect the lines that show a partition with or without a leader."""
    own = sf.col("role") == "controller"
    failed = (
        is_kind(Kind.PARTITION_CHANGE_FAILED)
        & sf.col("to").isin(*_ONLINE)
        & sf.col("from").isin(*_OFFLINE, *_NEW)
    ) | is_kind(OtherKind.NEW_PARTITION_NOT_ALIVE)
    lost = is_kind(Kind.ISR_REMOVAL) & (sf.col("leader") == NO_LEADER)
    down = (is_kind(Kind.PARTITION_DOWN) & sf.col("to").isin(*_OFFLINE)) | lost | failed
    up = is_kind(Kind.PARTITION_ONLINE) & (sf.col("leader") > NO_LEADER)
    still = is_kind(Kind.ISR_REMOVAL) & (sf.col("leader") > NO_LEADER)
    lines = events.where(own & (down | up | still) & sf.col("topic").isNotNull())
    said = with_life(lines, lives).select(
        *LIFE, "controller_epoch", "time", "leader_epoch", "leader",
        down.alias("down"),
        (up & sf.col("from").isin(*_OFFLINE)).alias("was_down"),
        failed.alias("failed"),
        (failed & (sf.col("from").isin(*_NEW) | is_kind(OtherKind.NEW_PARTITION_NOT_ALIVE))).alias("newborn"),
        sf.when(failed, sf.coalesce(sf.substring_index("trace", "\n", 1), "error")).alias("reason"),
        sf.lit(col=True).alias("by_controller"),
        still.alias("still"), "controller",
    )  # fmt: skip
    said = _without_leaders_that_go_on(said, events)
    decided = Window.partitionBy(*LIFE, "leader_epoch")
    from_brokers = (
        states.withColumn("is_decided", sf.max(sf.col("decided").isNotNull()).over(decided))
        .where("not is_decided")
        .groupBy(*LIFE, "leader_epoch", "leader")
        .agg(
            sf.min("first_logged").alias("time"),
            # KRaft's brokers write -1 in some of their lines, and none in the others.
            sf.min(sf.when(sf.col("controller_epoch") >= 0, sf.col("controller_epoch"))).alias(
                "controller_epoch"
            ),
        )
        .withColumns(
            {
                "down": sf.col("leader") == NO_LEADER,
                "was_down": sf.lit(col=False),
                "failed": sf.lit(col=False),
                "newborn": sf.lit(col=False),
                "reason": sf.lit(None).cast("string"),
                "by_controller": sf.lit(col=False),
            }
        )
    )
    return said.unionByName(from_brokers.select(*_MARK)).dropDuplicates(
        [*LIFE, "time", "leader_epoch", "down", "failed"]
    )


def _without_leaders_that_go_on(said: DataFrame, events: DataFrame) -> DataFrame:
    """Leave out failed elections of partitions whose leader goes on, and the lines that still name it.

    No other broker may lead while all stop, so elections fail although the leader, the last to stop, leads.
    It does if the next state still names it, if it is the controller itself, or if it writes a line soon and
    before the one which says that it is gone.
    """
    order = Window.partitionBy(*LIFE).orderBy("controller_epoch", "time", "leader_epoch")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    after = order.rowsBetween(1, Window.unboundedFollowing)
    state = sf.when(~sf.col("failed"), sf.struct("time", "still", "down"))
    marks = said.withColumns(
        {
            "led_by": sf.last(sf.when(sf.col("leader") > NO_LEADER, sf.col("leader")), ignorenulls=True).over(
                before
            ),
            "next_state": sf.first(state, ignorenulls=True).over(after),
        }
    )
    failed = marks.where("failed").withColumn(
        "moment",
        sf.when(sf.col("next_state.down"), sf.least("next_state.time", sf.col("time") + sf.lit(_SOON))),
    )
    is_led = (
        sf.coalesce("next_state.still", sf.lit(col=False))
        | sf.coalesce(sf.col("led_by") == sf.col("controller"), sf.lit(col=False))
        | sf.coalesce(sf.col("spoke") > sf.col("time"), sf.lit(col=False))
    )
    gone = with_last_words(failed, events, "led_by", "moment", "spoke").where(~is_led)
    return marks.where("not (failed or still)").select(*_MARK).unionByName(gone.select(*_MARK))


def _runs(marks: DataFrame) -> DataFrame:
    """Merge consecutive marks without a leader; an unseen outage starts and ends with its election."""
    return (
        marks.where("down or begins")
        .groupBy(*LIFE, "run")
        .agg(
            sf.min("time").alias("since"),
            sf.min("controller_epoch").alias("controller_epoch"),
            sf.min_by("leader_before", "time").alias("leader_before"),
            sf.min_by("by_controller", "time").alias("by_controller"),
            sf.max(sf.when(sf.col("down"), sf.col("leader_epoch"))).alias("down_epoch"),
            sf.max_by(sf.when(sf.col("down"), sf.col("next_up")).otherwise(_itself()), "time").alias(
                "next_up"
            ),
            sf.count_if("failed").alias("failed"),
            sf.max(sf.coalesce("newborn", sf.lit(col=False))).alias("newborn"),
            sf.max_by("reason", sf.when(sf.col("failed"), sf.col("time"))).alias("failure"),
        )
        .where("run > 0")
        .where(sf.coalesce(sf.col("next_up.leader_epoch") <= sf.col("down_epoch") + 1, sf.lit(col=True)))
        .drop("down_epoch")
    )


def _itself() -> Column:
    return sf.struct("time", "leader", "leader_epoch")


def _described(
    runs: DataFrame, events: DataFrame, leaders: DataFrame, controllers: DataFrame, lives: DataFrame
) -> DataFrame:
    led = leaders.select(*LIFE, "leader_epoch", sf.col("leader").alias("leader_after"), "led_at")
    successor = [*LIFE, "leader_epoch", "leader_after"]
    elected = controllers.select(
        "controller_epoch", "previous_controller", sf.col("since").alias("controller_since")
    )
    outages = runs.select(
        "*",
        sf.col("next_up.time").alias("elected"),
        sf.col("next_up.leader").alias("leader_after"),
        sf.col("next_up.leader_epoch").alias("leader_epoch"),
    )
    return (
        with_last_words(outages, events, "leader_before", "since", "leader_last_logged")
        .withColumn("leader_last_logged", sf.when(sf.col("by_controller"), sf.col("leader_last_logged")))
        .join(led.dropDuplicates(successor), successor, "left")
        .join(lives.select(*LIFE, "deleted"), list(LIFE), "left")
        .where(sf.coalesce(sf.col("since") < sf.col("deleted") - sf.lit(CLOCKS), sf.lit(col=True)))
        .join(elected.dropDuplicates(["controller_epoch"]), "controller_epoch", "left")
        .select(
            *LIFE, "since", sf.coalesce("elected", "deleted").alias("until"), "led_at", "leader_before",
            "leader_after", "leader_epoch", "leader_last_logged", "controller_epoch", "failed", "failure",
            _cause().alias("cause"), "by_controller",
        )
    )  # fmt: skip


def _cause() -> Column:
    at_begin = sf.col("since") <= sf.col("controller_since") + sf.lit(_TAKEOVER)
    return (
        sf.when(sf.col("leader_before").isNull() & sf.col("newborn"), NEVER_LED)
        .when(sf.col("failed") > 0, NOBODY_IN_SYNC)
        .when((sf.col("leader_before") == sf.col("previous_controller")) & at_begin, BOTH_OFFLINE)
        .when(sf.col("controller_epoch").isNull(), NOTIFIED_ONLY)
        .when(sf.col("leader_before").isNull(), UNSEEN)
        .otherwise(LEADER_OFFLINE)
    )
