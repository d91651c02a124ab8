"""The safety audit: checks of the logs for states and actions that Kafka's protocol rules out.

A check first looks for suspects by numbers alone, and then looks closely at their lines. Spark aggregates
numbers in a hash table but sorts texts, and it drops the second step if there are no suspects.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, GroupedData

from barnabas.analysis.derived.lives import LIFE, NO_LEADER, PARTITION, is_kind, with_life
from barnabas.analysis.derived.requests import OBEYED
from barnabas.analysis.reading.events.kinds import CompanionKind
from barnabas.analysis.runtime.engine import Window, sf
from barnabas.cluster.model.statechange import Kind

LEADER_EPOCH_FELL = "leader epoch fell"
LEADER_EPOCH_REPEATED = "leader epoch repeated"
TWO_LEADERS = "two leaders in one epoch"
TWO_CONTROLLERS = "two controllers in one epoch"
CONTROLLER_EPOCH_FELL = "controller epoch fell"
LEADER_OUTSIDE_ISR = "leader outside ISR"
STALE_OBEYED = "stale controller obeyed"
COMMITTED_DROPPED = "committed records dropped"

CHECKS: dict[str, str] = {
    LEADER_EPOCH_FELL: "a later state of a partition has a lower leader epoch than an earlier one",
    LEADER_EPOCH_REPEATED: "two elections of a partition gave the same leader epoch",
    TWO_LEADERS: "a partition had two leaders in one leader epoch",
    TWO_CONTROLLERS: "two brokers acted as controller in one controller epoch",
    CONTROLLER_EPOCH_FELL: "a broker logged a controller epoch lower than one it had logged before",
    LEADER_OUTSIDE_ISR: "a leader is not in its own ISR",
    STALE_OBEYED: "a broker obeyed a controller after it had obeyed a later one",
    COMMITTED_DROPPED: "a replica truncated its log below its high watermark, up to which it was committed",
}
"""The checks, each with the meaning of a finding."""

_LINE = ("source", "block", "line", "raw")
"""The columns of a line's text and place."""

_EXAMINED_MAX = 10_000
"""The most requests of stale controllers that are examined one by one."""

_NO_PLACE: dict[str, str] = {"topic": "string", "partition": "int", "leader_epoch": "int", "broker": "int"}


def safety_audit(events: DataFrame, lives: DataFrame, states: DataFrame, requests: DataFrame) -> DataFrame:
    """Find everything that breaks a rule on which Kafka's safety depends; empty for a sound cluster.

    Columns: ``check`` (a key of ``CHECKS``), ``time``, ``topic``, ``partition``, ``leader_epoch``,
    ``broker``, ``controller_epoch`` (null if the check does not concern them), ``detail``, ``evidence`` (raw
    lines). Ordered by check and time.
    """
    findings = (
        leader_epoch_fell(states),
        leader_epoch_repeated(events, lives),
        two_leaders(states),
        leader_outside_isr(states),
        two_controllers(events),
        controller_epoch_fell(events),
        stale_controller_obeyed(events, requests),
        committed_records_dropped(events),
    )
    return reduce(lambda one, other: one.unionByName(other), findings).orderBy(
        "check", "time", "topic", "partition"
    )


def leader_epoch_fell(states: DataFrame) -> DataFrame:
    """Find states with a higher zkVersion but a lower leader epoch than another state of the partition."""
    # Rows of one zkVersion come by their leader epoch, so that none of these is a fall from another.
    by_version = Window.partitionBy(*LIFE).orderBy("version", "leader_epoch")
    order = by_version.rowsBetween(Window.unboundedPreceding, -1)
    highest = sf.max(sf.struct("leader_epoch", "version", "raw")).over(order)
    known = states.where("version is not null and leader_epoch is not null")
    numbers = known.select(*LIFE, "version", "leader_epoch")
    falling = numbers.withColumn("before", sf.max("leader_epoch").over(order)).where("leader_epoch < before")
    return _findings(
        _suspected(known, falling, *LIFE)
        .withColumns({"highest": highest, "at": sf.col("first_logged")})
        .where("leader_epoch < highest.leader_epoch"),
        LEADER_EPOCH_FELL,
        sf.printf(
            sf.lit("leader epoch %d at zkVersion %d, after %d at zkVersion %d"),
            "leader_epoch", "version", "highest.leader_epoch", "highest.version",
        ),
        sf.array("highest.raw", "raw"),
    )  # fmt: skip


def leader_epoch_repeated(events: DataFrame, lives: DataFrame) -> DataFrame:
    """Find elections that a controller logged with different zkVersions in one leader epoch."""
    elected = events.where(is_kind(Kind.PARTITION_ONLINE)).where(
        "leader_epoch is not null and version is not null"
    )
    repeated = _of_several(elected.groupBy(*PARTITION, "leader_epoch"), "version")
    return _findings(
        with_life(_suspected(elected, repeated, *PARTITION, "leader_epoch"), lives)
        .groupBy(*LIFE, "leader_epoch")
        .agg(
            sf.array_sort(sf.collect_set("version")).alias("versions"),
            sf.max("time").alias("at"),
            sf.max("controller_epoch").alias("controller_epoch"),
            sf.array_sort(sf.collect_set("raw")).alias("raws"),
        )
        .where("size(versions) > 1"),
        LEADER_EPOCH_REPEATED,
        sf.concat(
            sf.lit("elected in leader epoch "), "leader_epoch", sf.lit(" at the zkVersions "),
            sf.array_join(sf.col("versions").cast("array<string>"), ", "),
        ),
        sf.slice("raws", 1, 4),
    )  # fmt: skip


def two_leaders(states: DataFrame) -> DataFrame:
    """Find partitions that had two leaders in one leader epoch."""
    led = states.where((sf.col("leader") > NO_LEADER) & sf.col("leader_epoch").isNotNull())
    torn = _of_several(led.groupBy(*LIFE, "leader_epoch"), "leader")
    return _findings(
        _suspected(led, torn, *LIFE, "leader_epoch")
        .groupBy(*LIFE, "leader_epoch")
        .agg(
            sf.array_sort(sf.collect_set("leader")).alias("leaders"),
            sf.max("first_logged").alias("at"),
            sf.max("controller_epoch").alias("controller_epoch"),
            sf.array_sort(sf.collect_set("raw")).alias("raws"),
        )
        .where("size(leaders) > 1"),
        TWO_LEADERS,
        sf.concat(
            sf.lit("leaders "), sf.array_join(sf.col("leaders").cast("array<string>"), " and "),
            sf.lit(" in leader epoch "), "leader_epoch",
        ),
        sf.slice("raws", 1, 4),
    )  # fmt: skip


def leader_outside_isr(states: DataFrame) -> DataFrame:
    """Find states whose leader is not in the ISR."""
    return _findings(
        states.where("leader >= 0 and isr is not null and not array_contains(isr, leader)").withColumn(
            "at", sf.col("first_logged")
        ),
        LEADER_OUTSIDE_ISR,
        sf.concat(
            sf.lit("leader "), "leader", sf.lit(" with ISR ["),
            sf.array_join(sf.col("isr").cast("array<string>"), ","), sf.lit("]"),
        ),
        sf.array("raw"),
    )  # fmt: skip


def two_controllers(events: DataFrame) -> DataFrame:
    """Find controller epochs in which two brokers log as controller, or are obeyed as controller."""
    obeyed = events.where("controller is not null and controller_epoch is not null").where(~_refused())
    shared = _of_several(obeyed.groupBy("controller_epoch"), "controller")
    return _findings(
        _suspected(obeyed, shared, "controller_epoch")
        .groupBy("controller_epoch")
        .agg(
            sf.array_sort(sf.collect_set("controller")).alias("controllers"),
            sf.max("time").alias("at"),
            sf.min_by("raw", "controller").alias("one"),
            sf.max_by("raw", "controller").alias("other"),
        )
        .where("size(controllers) > 1"),
        TWO_CONTROLLERS,
        sf.concat(
            sf.lit("controllers "), sf.array_join(sf.col("controllers").cast("array<string>"), " and "),
            sf.lit(" in epoch "), "controller_epoch",
        ),
        sf.array("one", "other"),
    )  # fmt: skip


def controller_epoch_fell(events: DataFrame) -> DataFrame:
    """Find brokers with a lower controller epoch than their earlier one: ZooKeeper lost its state."""
    by_time = Window.partitionBy("broker").orderBy("at", "controller_epoch")
    order = by_time.rowsBetween(Window.unboundedPreceding, -1)
    own = events.where("role = 'controller' and controller_epoch is not null")
    falling = (
        own.groupBy("broker", "controller_epoch")
        .agg(sf.min("time").alias("at"))
        .withColumn("before", sf.max("controller_epoch").over(order))
        .where("controller_epoch < before")
    )
    elected = (
        _suspected(own, falling, "broker")
        .groupBy("broker", "controller_epoch")
        .agg(
            sf.min("time").alias("at"),
            sf.min_by(sf.struct(*_LINE), sf.struct("time", *_LINE)).alias("first"),
        )
        .withColumn("before", sf.max(sf.struct("controller_epoch", "first")).over(order))
    )
    return _findings(
        elected.where("controller_epoch < before.controller_epoch").where(
            _is_after(sf.col("first"), sf.col("before.first"))
        ),
        CONTROLLER_EPOCH_FELL,
        sf.printf(
            sf.lit("broker %d is controller in epoch %d, after epoch %d"),
            "broker", "controller_epoch", "before.controller_epoch",
        ),
        sf.array("before.first.raw", "first.raw"),
    )  # fmt: skip


def stale_controller_obeyed(events: DataFrame, requests: DataFrame) -> DataFrame:
    """Find requests that a broker obeyed after it had obeyed a request of a later controller epoch.

    If there are very many, for example because logs of two clusters are mixed, only the first
    ``_EXAMINED_MAX`` are examined.
    """
    by_time = Window.partitionBy("broker").orderBy("received", "controller_epoch")
    order = by_time.rowsBetween(Window.unboundedPreceding, -1)
    named = ("controller", "correlation_id", "received")
    latest = sf.max(sf.struct("controller_epoch", *named)).over(order)
    stale = (
        requests.where((sf.col("outcome") == OBEYED) & sf.col("controller_epoch").isNotNull())
        .withColumns({"at": sf.col("received"), "latest": latest})
        .where("controller_epoch < latest.controller_epoch and received > latest.received")
        .orderBy("received", "broker", "api", "correlation_id")
        .limit(_EXAMINED_MAX)
        .select("*", *(sf.col(f"latest.{name}").alias(f"latest_{name}") for name in named))
    )
    keys = ("broker", *named)
    earlier = ("broker", *(f"latest_{name}" for name in named))
    asked = stale.select(*keys).union(stale.select(*earlier)).distinct()
    lines = (
        events.where("role = 'broker' and correlation_id is not null")
        .withColumn("received", sf.col("time"))
        .join(sf.broadcast(asked), list(keys))
        .groupBy(*keys)
        .agg(sf.min(sf.struct(*_LINE)).alias("first"))
    )
    before = lines.select("broker", *(sf.col(name).alias(f"latest_{name}") for name in named), "first")
    return _findings(
        stale.join(lines, list(keys))
        .join(before.withColumnRenamed("first", "before"), list(earlier))
        .where(_is_after(sf.col("first"), sf.col("before"))),
        STALE_OBEYED,
        sf.printf(
            sf.lit("%s of controller %d in epoch %d, after one of epoch %d"),
            "api", "controller", "controller_epoch", "latest.controller_epoch",
        ),
        sf.array("before.raw", "first.raw"),
    )  # fmt: skip


def committed_records_dropped(events: DataFrame) -> DataFrame:
    """Find replicas that truncated their logs below their high watermarks."""
    dropped = events.where(is_kind(CompanionKind.COMMITTED_TRUNCATED)).where("topic is not null")
    return _findings(
        dropped.withColumn("at", sf.col("time")),
        COMMITTED_DROPPED,
        sf.concat(
            sf.coalesce(sf.concat(sf.lit("on broker "), "broker"), sf.lit("on a broker")),
            sf.lit(" was truncated to offset "), "offset",
            sf.lit(", below its high watermark "), "high_watermark",
        ),
        sf.array("raw"),
    )  # fmt: skip


def _of_several(groups: GroupedData, value: str) -> DataFrame:
    """Return the groups in which a column of numbers has several values."""
    least, most = sf.min(value).alias("least"), sf.max(value).alias("most")
    return groups.agg(least, most).where("least < most")


def _suspected(rows: DataFrame, suspects: DataFrame, *keys: str) -> DataFrame:
    """Select the rows whose keys are those of a suspect."""
    return rows.join(sf.broadcast(suspects.select(*keys)), list(keys), "left_semi")


def _is_after(line: Column, other: Column) -> Column:
    """Return a condition: no file holds the two lines in the opposite order.

    When a clock is set back, as at the end of daylight saving time, later lines have earlier times.

    Args:
        line: The columns ``_LINE`` of the line that is later by its time.
        other: The columns ``_LINE`` of the earlier line.
    """
    elsewhere = line["source"] != other["source"]
    return elsewhere | (sf.struct(other["block"], other["line"]) <= sf.struct(line["block"], line["line"]))


def _findings(rows: DataFrame, check: str, detail: Column, evidence: Column) -> DataFrame:
    missing = {name: sf.lit(None).cast(ddl) for name, ddl in _NO_PLACE.items() if name not in rows.columns}
    return rows.withColumns(missing).select(
        sf.lit(check).alias("check"),
        sf.col("at").alias("time"),
        "topic",
        "partition",
        "leader_epoch",
        "broker",
        "controller_epoch",
        detail.alias("detail"),
        evidence.alias("evidence"),
    )


def _refused() -> Column:
    return sf.coalesce(sf.endswith("kind", sf.lit("-stale-controller")), sf.lit(col=False))
