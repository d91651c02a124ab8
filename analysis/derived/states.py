"""The table ``states``: every known state of a partition (leader, leader epoch, ISR, zkVersion).

Most other tables are computed from this one. Many lines are about one state: the controller's decision, the
requests that carry it, every broker that receives them, and the leader's own line in server.log. This module
makes one row of them.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame

from barnabas.analysis.derived.lives import DELETING, LIFE, PARTITION, is_kind, with_life
from barnabas.analysis.reading.events.kinds import CompanionKind, OtherKind
from barnabas.analysis.runtime.engine import Window, sf
from barnabas.cluster.model.statechange import Kind

DECISIONS = (Kind.PARTITION_ONLINE, Kind.ISR_REMOVAL, CompanionKind.LEADER_SELECTED)
"""The lines in which a controller logs a decision, as opposed to a request that carries one."""

_ELECTIONS = (Kind.PARTITION_ONLINE, CompanionKind.LEADER_SELECTED, CompanionKind.KRAFT_CHANGE)

_REMOVALS = (Kind.ISR_REMOVAL, Kind.METADATA_CACHED)

_CHANGES = (CompanionKind.ISR_UPDATED, CompanionKind.KRAFT_CHANGE)

_TELLING = (
    *DECISIONS,
    Kind.REASSIGNMENT_SENT,
    Kind.LEADER_AND_ISR_SENDING,
    Kind.LEADER_AND_ISR_RECEIVED,
    OtherKind.UPDATE_METADATA_SENDING,
    CompanionKind.KRAFT_CHANGE,
    CompanionKind.REPLICA_REMOVED,
    Kind.METADATA_CACHED,
    Kind.LEADER_STARTS,
    Kind.FOLLOWER_STARTS,
    Kind.BECOME_LEADER_SKIPPED,
    Kind.BECOME_FOLLOWER_SKIPPED,
    CompanionKind.ISR_UPDATED,
)
PLACE = ("source", "block", "line")
"""The columns that say where a line is."""

_SETS = ("replicas", "adding", "removing")
"""The columns of a partition's assignment."""


_KEY = (*LIFE, "leader_epoch", "version", "leader", "members", "moment")


def states(events: DataFrame, lives: DataFrame) -> DataFrame:
    """Compute one row for each state of each partition, whichever lines it is known from.

    Columns: ``topic``, ``partition``, ``life``, ``leader_epoch`` (null for releases up to 1.0 of which only
    decisions are logged), ``version`` (zkVersion; null if no line gives it), ``leader`` (-1 for none),
    ``isr`` (null if no line gives it), ``replicas`` (assigned), ``adding`` and ``removing`` (what a
    reassignment adds and removes; null if no line says so), ``controller_epoch`` and ``controller`` (of the
    controller that wrote it), ``decided`` (when that controller logged it), ``first_logged`` (the first
    line about it in any log), ``led_at`` (when the leader logged that it leads), ``from`` (the partition's
    state before), ``removed`` (the replica that a controller removed from the ISR), ``election`` (how its
    leader was elected, as a value of ``Election``; null if no line says so), ``changed`` (when the ISR was
    changed to this one, by the line of its leader, or of a metadata log; if ``raw`` is a line of a KRaft
    controller about the change, its time), ``raw`` (the most informative line), ``source``, ``block`` and
    ``line`` (its place), ``broker`` (which wrote it).
    """
    telling = events.where(is_kind(*_TELLING) & sf.col("topic").isNotNull())
    has_epoch = sf.col("leader_epoch").isNotNull()
    # Lines of few partitions lack the leader epoch; to sort those of all for it would need much memory.
    lacking = telling.where(~has_epoch).select(*PARTITION).distinct()
    few = telling.join(lacking, list(PARTITION), "left_semi")
    lines = _deduplicated(_lines(telling.where(has_epoch), lives))
    return (
        _merged(_with_versions(lines.unionByName(_given_epochs(_deduplicated(_lines(few, lives))))))
        # Only now the text of the best line: with it, the rows above would fill the memory.
        .join(events.select(*PLACE, "isr", "raw", "broker"), list(PLACE))
        .select(
            *LIFE, "leader_epoch", "version", "leader", "isr", "replicas", "adding", "removing",
            "controller_epoch", "controller", "decided", "first_logged", "led_at", "from", "removed",
            "election", "changed", "raw", *PLACE, "broker",
        )
    )  # fmt: skip


def _lines(telling: DataFrame, lives: DataFrame) -> DataFrame:
    return (
        with_life(telling, lives)
        .withColumns(
            {
                "leader": sf.when(is_kind(Kind.LEADER_STARTS), sf.col("broker")).otherwise(sf.col("leader")),
                "members": sf.array_sort("isr"),
                # Without a leader epoch, only the time separates one decision from the next.
                "moment": sf.when(sf.col("leader_epoch").isNull(), sf.col("time")),
            }
        )
        .where((sf.col("leader") > DELETING) & _epochless_only_as_decision())
    )


def _epochless_only_as_decision() -> Column:
    return sf.col("leader_epoch").isNotNull() | is_kind(Kind.PARTITION_ONLINE, CompanionKind.ISR_UPDATED)


def _deduplicated(lines: DataFrame) -> DataFrame:
    """Merge lines of equal content early, so that few rows remain however many brokers logged them."""
    decision = is_kind(*DECISIONS) & ~_is_said_again()
    # The best line about a state is the controller's decision, then the leader's own line.
    rank = (
        sf.when(decision | is_kind(CompanionKind.KRAFT_CHANGE), 0)
        .when(is_kind(Kind.LEADER_STARTS), 1)
        .otherwise(2)
    )
    merged = lines.groupBy(*_KEY).agg(
        sf.min(sf.when(decision, sf.col("time"))).alias("decided"),
        sf.min("time").alias("first_logged"),
        sf.min(sf.when(is_kind(Kind.LEADER_STARTS), sf.col("time"))).alias("led_at"),
        sf.min(sf.when(decision, sf.col("controller_epoch"))).alias("decider_epoch"),
        sf.min("state_controller_epoch").alias("state_epoch"),
        sf.min_by("controller", sf.when(decision, sf.col("time"))).alias("controller"),
        *(sf.max(name).alias(name) for name in _SETS),
        sf.min_by("from", sf.when(is_kind(*_ELECTIONS), sf.col("time"))).alias("from"),
        sf.min_by(
            "replica",
            sf.when(is_kind(*_REMOVALS) & ~_is_said_again() & sf.col("replica").isNotNull(), sf.col("time")),
        ).alias("removed"),
        sf.max("election").alias("election"),
        # One minimum of whole rows; Spark keeps a copy of the order beside each value of min_by.
        sf.min(sf.struct(rank.alias("rank"), "time", *PLACE)).alias("best"),
        sf.min(sf.when(is_kind(*_CHANGES), sf.col("time"))).alias("changed"),
    )
    return _with_best(merged, "rank", *PLACE)


def _is_said_again() -> Column:
    """Return whether a controller removed a replica that was not in the ISR, and so changed nothing.

    Its line is then about a state that an earlier controller wrote, and shows neither when nor why.
    """
    is_earlier = sf.col("state_controller_epoch") < sf.col("controller_epoch")
    return is_kind(Kind.ISR_REMOVAL) & sf.coalesce(is_earlier, sf.lit(col=False))


def _given_epochs(lines: DataFrame) -> DataFrame:
    """Select the lines that lack the leader epoch, and add it to the ISR changes in server.log.

    A leader changes the ISR in the leader epoch of the state before, and in that in which it last said that
    it leads. If lines are missing, the later one of these is right. If no line gives it, it stays unknown.
    If a partition's leader epochs are known, other lines without one add nothing.
    """
    by_version = Window.partitionBy(*LIFE).orderBy(sf.col("version").asc_nulls_first(), "first_logged")
    by_time = Window.partitionBy(*LIFE).orderBy("first_logged")
    whole = by_version.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    state = sf.struct("leader_epoch", "leader")
    known = sf.when(sf.col("leader_epoch").isNotNull() & sf.col("version").isNotNull(), state)
    started = sf.when(sf.col("led_at").isNotNull(), state)
    epoch = sf.greatest(
        *(
            sf.when(sf.col(f"{each}.leader") == sf.col("leader"), sf.col(f"{each}.leader_epoch"))
            for each in ("before", "started")
        )
    )
    return (
        lines.withColumns(
            {
                "before": sf.last(known, ignorenulls=True).over(by_version),
                "any_epoch": sf.max("leader_epoch").over(whole).isNotNull(),
                "started": sf.last(started, ignorenulls=True).over(by_time),
            }
        )
        .where("leader_epoch is null")
        .withColumn("leader_epoch", sf.when(sf.col("changed").isNotNull(), epoch))
        .where("leader_epoch is not null or not (changed is not null or any_epoch)")
        .withColumn("moment", sf.when(sf.col("leader_epoch").isNull(), sf.col("moment")))
        .drop("before", "started", "any_epoch")
    )


def _with_versions(lines: DataFrame) -> DataFrame:
    """Add zkVersion and ISR to leaders' and followers' lines that lack them (releases up to 3.2).

    A leader starts from the state in which its leader epoch began: of those with this ISR, the one with the
    lowest zkVersion, unless the leader changed the ISR to that one only later.
    """
    # One order serves both, so that the rows are sorted once.
    by_members = Window.partitionBy(*LIFE, "leader_epoch", "leader", "moment").orderBy("members")
    same = by_members.rangeBetween(Window.currentRow, Window.currentRow)
    epoch = by_members.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    made = sf.when(sf.col("changed") == sf.col("first_logged"), sf.col("changed"))
    lowest = sf.when(sf.col("version").isNotNull(), sf.struct("version", made.alias("made")))
    is_later = sf.coalesce(sf.col("lowest.made") > sf.col("led_at"), sf.lit(col=False))
    return (
        lines.withColumns(
            {
                "lowest": sf.min(lowest).over(same),
                "known": sf.max(sf.col("members").isNotNull()).over(epoch),
            }
        )
        .where("members is not null or not known or leader_epoch is null")
        .withColumn("version", sf.coalesce("version", sf.when(~is_later, sf.col("lowest.version"))))
        .drop("lowest")
    )


def _merged(lines: DataFrame) -> DataFrame:
    merged = lines.groupBy(*_KEY).agg(
        sf.min("decided").alias("decided"),
        sf.min("first_logged").alias("first_logged"),
        sf.min("led_at").alias("led_at"),
        sf.coalesce(sf.min("decider_epoch"), sf.min("state_epoch")).alias("controller_epoch"),
        sf.min("controller").alias("controller"),
        *(sf.max(name).alias(name) for name in _SETS),
        sf.min("from").alias("from"),
        sf.min("removed").alias("removed"),
        sf.max("election").alias("election"),
        sf.min("changed").alias("changed"),
        sf.min(sf.struct("rank", "first_logged", *PLACE)).alias("best"),
    )
    return _with_best(merged, *PLACE)


def _with_best(rows: DataFrame, *names: str) -> DataFrame:
    return rows.withColumns({name: sf.col(f"best.{name}") for name in names}).drop("best")
