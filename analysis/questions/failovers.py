"""Each failover as a story: trigger, detection, election, LeaderAndIsr, new leader, followers."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from barnabas.analysis.derived.lives import LIFE, is_kind, with_life
from barnabas.analysis.derived.unavailability import BOTH_OFFLINE
from barnabas.analysis.questions.availability import millis_between
from barnabas.cluster.model.statechange import Kind

_APART = timedelta(seconds=30)
"""Losses of one broker that lie further apart are two stories."""

_SLACK = timedelta(seconds=5)
"""A LeaderAndIsr request that is part of a story is sent this soon after its last election."""

_STORY = ("controller_epoch", "broker", "story")


def failovers(
    events: DataFrame, unavailability: DataFrame, controllers: DataFrame, requests: DataFrame
) -> DataFrame:
    """What happened after each loss of a broker that led partitions or was controller.

    Times are of the clock of who logged them: ``heard`` of the lost broker, ``noticed``, ``elected`` and
    ``sent`` of the controller, ``led`` and ``followed`` of the brokers that took over.

    Columns: ``broker`` (lost), ``was_controller``, ``controller`` and ``controller_epoch`` (who acted),
    ``heard`` (last line of the lost broker), ``reigned`` (first line of a new controller; null without one),
    ``noticed``, ``elected`` (last election), ``sent`` (first LeaderAndIsr), ``led`` (the last new leader
    led), ``followed`` (the last follower followed), ``led_behind`` and ``followed_behind`` (whether that was
    before the election of that very partition, by a clock that is behind), ``returned`` (the last partition
    that waited was led again), ``partitions`` (that lost their leader), ``moved`` (that got another at once),
    ``waited`` (that only the lost broker, once back, led again), ``stranded`` (neither), ``leaders`` (the new
    ones), ``notice_ms`` (heard to noticed), ``election_ms``, ``send_ms`` (each from the step before),
    ``lead_ms`` and ``follow_ms`` (from sent, else elected), ``total_ms`` (heard to led, so at most; null
    where the log of the lost broker is not at hand). By time.
    """
    told = _stories(_losses(unavailability))
    ends = (
        _followed(told, events)
        .groupBy(*_STORY)
        .agg(
            sf.max("followed").alias("followed"),
            sf.max_by(sf.col("followed") < sf.col("until"), "followed").alias("followed_behind"),
        )
    )
    stories = _gathered(told).join(ends, list(_STORY), "left")
    reigns = controllers.dropDuplicates(["controller_epoch"]).select(
        "controller_epoch", "controller", sf.col("since").alias("reign_since"), "previous_controller"
    )
    whole = _with_controllers_alone(stories.join(reigns, "controller_epoch", "left"), controllers)
    return _timed(_sent(whole, requests))


def _losses(unavailability: DataFrame) -> DataFrame:
    return unavailability.where("leader_before is not null").withColumn("broker", sf.col("leader_before"))


def _stories(losses: DataFrame) -> DataFrame:
    order = Window.partitionBy("controller_epoch", "broker").orderBy("since")
    begins = sf.col("since") > sf.lag("since").over(order) + sf.lit(_APART)
    return losses.withColumn("begins", sf.coalesce(begins, sf.lit(col=False)).cast("int")).withColumn(
        "story", sf.sum("begins").over(order)
    )


def _moved() -> Column:
    """Whether a partition got another leader at once.

    What was elected a good while later was elected because its replica came back, and so was the lost broker
    itself, however soon.
    """
    at_once = sf.col("until") <= sf.col("since") + sf.lit(_APART)
    return sf.coalesce(at_once & (sf.col("leader_after") != sf.col("broker")), sf.lit(col=False))


def _gathered(told: DataFrame) -> DataFrame:
    moved, waited = _moved(), sf.coalesce(sf.col("leader_after") == sf.col("broker"), sf.lit(col=False))
    led_at = sf.when(moved, sf.col("led_at"))
    return told.groupBy(*_STORY).agg(
        sf.max("leader_heard").alias("heard"),
        sf.min("since").alias("noticed"),
        sf.max(sf.when(moved, sf.col("until"))).alias("elected"),
        sf.max(led_at).alias("led"),
        sf.max_by(led_at < sf.col("until"), led_at).alias("led_behind"),
        sf.max(sf.when(waited, sf.coalesce("led_at", "until"))).alias("returned"),
        sf.count("*").alias("partitions"),
        sf.count_if(moved).alias("moved"),
        sf.count_if(waited).alias("waited"),
        sf.array_sort(sf.collect_set(sf.when(moved, sf.col("leader_after")))).alias("leaders"),
        sf.max(sf.col("cause") == BOTH_OFFLINE).alias("with_controller"),
    )


def _followed(told: DataFrame, events: DataFrame) -> DataFrame:
    """Of each partition that was moved, when the replicas that were there followed its new leader."""
    follows = with_life(events.where(is_kind(Kind.FOLLOWER_STARTS)), events).select(
        *LIFE, "leader_epoch", sf.col("broker").alias("follower"), sf.col("time").alias("followed")
    )
    return (
        told.where(_moved())
        .join(follows, [*LIFE, "leader_epoch"])
        .where(
            (sf.col("follower") != sf.col("broker"))
            & (sf.col("followed") <= sf.col("until") + sf.lit(_SLACK))
        )
    )


def _with_controllers_alone(stories: DataFrame, controllers: DataFrame) -> DataFrame:
    """With the controllers that were lost, or gave up, without a partition being led by them."""
    order = Window.orderBy("controller_epoch", "since")
    changes = (
        controllers.withColumn("heard", sf.lag("until").over(order))
        .where("previous_controller is not null")
        .select(
            "controller_epoch", "controller", "previous_controller", "heard",
            sf.col("previous_controller").alias("broker"),
            sf.col("since").alias("reign_since"),
            sf.col("since").alias("noticed"),
            sf.lit(col=True).alias("with_controller"),
        )
    )  # fmt: skip
    told = stories.where("with_controller or broker = previous_controller").select("controller_epoch")
    alone = changes.join(told.distinct(), "controller_epoch", "left_anti")
    return stories.unionByName(alone, allowMissingColumns=True)


def _sent(stories: DataFrame, requests: DataFrame) -> DataFrame:
    asked = requests.where("api = 'LEADER_AND_ISR' and sent is not null").select(
        sf.col("controller_epoch").alias("by"), sf.col("sent").alias("at")
    )
    in_time = sf.col("at").between(sf.col("noticed"), sf.coalesce("elected", "noticed") + sf.lit(_SLACK)) & (
        sf.col("by") == sf.col("controller_epoch")
    )
    first = (
        stories.join(asked, in_time)
        .groupBy("controller_epoch", "broker", "noticed")
        .agg(sf.min(sf.when(sf.col("at") >= sf.coalesce("elected", "noticed"), sf.col("at"))).alias("sent"))
    )
    return stories.join(first, ["controller_epoch", "broker", "noticed"], "left")


def _timed(stories: DataFrame) -> DataFrame:
    heard, noticed, elected = sf.col("heard"), sf.col("noticed"), sf.col("elected")
    sent, led, followed = sf.col("sent"), sf.col("led"), sf.col("followed")
    counted, moved, waited = (sf.coalesce(name, sf.lit(0)) for name in ("partitions", "moved", "waited"))
    return stories.select(
        "broker",
        sf.col("with_controller").alias("was_controller"),
        "controller",
        "controller_epoch",
        "heard",
        sf.when(sf.col("with_controller"), sf.col("reign_since")).alias("reigned"),
        "noticed", "elected", "sent", "led", "followed",
        *(sf.coalesce(name, sf.lit(col=False)).alias(name) for name in ("led_behind", "followed_behind")),
        "returned",
        counted.alias("partitions"),
        moved.alias("moved"),
        waited.alias("waited"),
        (counted - moved - waited).alias("stranded"),
        sf.coalesce("leaders", sf.array().cast("array<int>")).alias("leaders"),
        millis_between(heard, noticed).alias("notice_ms"),
        millis_between(noticed, elected).alias("election_ms"),
        millis_between(elected, sent).alias("send_ms"),
        millis_between(sf.coalesce(sent, elected), led).alias("lead_ms"),
        millis_between(sf.coalesce(sent, elected), followed).alias("follow_ms"),
        millis_between(heard, led).alias("total_ms"),
    ).orderBy("noticed", "controller_epoch", "broker")  # fmt: skip
