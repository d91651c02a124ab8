"""The question ``failovers``: the steps of each failover from the trigger to the last follower."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame

from barnabas.analysis.derived.last_words import with_last_words
from barnabas.analysis.derived.lives import LIFE, is_kind, with_life
from barnabas.analysis.derived.unavailability import BOTH_OFFLINE
from barnabas.analysis.questions.availability import millis_between
from barnabas.analysis.runtime.engine import Window, sf
from barnabas.cluster.model.statechange import Kind

APART = timedelta(seconds=30)
"""The time between two losses of one broker above which they are two failovers, even without a return."""

_SLACK = timedelta(seconds=5)
"""The longest time after a failover's last election within which its LeaderAndIsr requests are sent."""

_STORY = ("controller_epoch", "broker", "story")


def failovers(
    events: DataFrame,
    lives: DataFrame,
    unavailability: DataFrame,
    controllers: DataFrame,
    requests: DataFrame,
) -> DataFrame:
    """List what happened after each loss of a broker that led partitions or was the controller.

    Losses that only lines of brokers show are left out: under KRaft no controller's line tells of partitions.

    Each time is on the clock of the process that logged it: ``last_logged`` on the lost broker's,
    ``noticed``, ``elected`` and ``sent`` on the controller's, ``led`` and ``followed`` on those of the
    brokers that took over.

    Columns: ``broker`` (lost), ``was_controller``, ``controller`` and ``controller_epoch`` (that handled the
    loss), ``last_logged`` (last line of the lost broker; of one that led nothing, its last as controller,
    null under KRaft), ``controller_since`` (first line of a new controller; null if the controller stayed),
    ``noticed``, ``elected`` (last election), ``sent`` (first LeaderAndIsr), ``led`` (when the last new
    leader led), ``followed`` (when the last follower followed),
    ``led_behind`` and ``followed_behind`` (whether that time is before the partition's own election, so the
    clock is behind), ``led_unseen`` (moved partitions of which no line shows when the new leader led, so
    ``led`` is too early), ``returned`` (when the last waiting partition had a leader again), ``partitions``
    (that lost their leader), ``moved`` (that got another leader at once), ``waited`` (that had no leader
    until the lost broker returned), ``stranded`` (the others), ``leaders`` (the new ones),
    ``notice_ms`` (last_logged to noticed), ``election_ms``, ``send_ms`` (each from the step before),
    ``lead_ms`` and ``follow_ms`` (from sent, else elected), ``total_ms`` (last_logged to led, an upper bound;
    null if the lost broker's log is missing, or a new leader's line is). Ordered by time.
    """
    lost = _stories(_losses(unavailability))
    ends = (
        _followed(lost, events, lives)
        .groupBy(*_STORY)
        .agg(
            sf.max("followed").alias("followed"),
            sf.max_by(sf.col("followed") < sf.col("until"), "followed").alias("followed_behind"),
        )
    )
    stories = _gathered(lost).join(ends, list(_STORY), "left")
    elected = controllers.dropDuplicates(["controller_epoch"]).select(
        "controller_epoch", "controller", sf.col("since").alias("controller_since"), "previous_controller"
    )
    whole = _with_controllers_alone(stories.join(elected, "controller_epoch", "left"), controllers, events)
    return _timed(_sent(whole, requests))


def _losses(unavailability: DataFrame) -> DataFrame:
    """Find the outages that a controller noticed; the line of a broker may be much later than the loss."""
    noticed = unavailability.where("leader_before is not null and by_controller")
    return noticed.withColumn("broker", sf.col("leader_before"))


def _stories(losses: DataFrame) -> DataFrame:
    order = Window.partitionBy("controller_epoch", "broker").orderBy("since")
    earlier = order.rowsBetween(Window.unboundedPreceding, -1)
    led_again = sf.when(sf.col("leader_after") == sf.col("broker"), sf.coalesce("led_at", "until"))
    before = sf.lag("since").over(order)
    has_returned = sf.max(led_again).over(earlier).between(before, sf.col("since"))
    begins = (sf.col("since") > before + sf.lit(APART)) | sf.coalesce(has_returned, sf.lit(col=False))
    return losses.withColumn("begins", sf.coalesce(begins, sf.lit(col=False)).cast("int")).withColumn(
        "story", sf.sum("begins").over(order)
    )


def _moved() -> Column:
    """Return a condition: the partition got another leader at once.

    A leader elected more than ``APART`` after the loss was elected because its replica returned; so was the
    lost broker itself, however soon.
    """
    at_once = sf.col("until") <= sf.col("since") + sf.lit(APART)
    return sf.coalesce(at_once & (sf.col("leader_after") != sf.col("broker")), sf.lit(col=False))


def _gathered(lost: DataFrame) -> DataFrame:
    moved, waited = _moved(), sf.coalesce(sf.col("leader_after") == sf.col("broker"), sf.lit(col=False))
    led_at = sf.when(moved, sf.col("led_at"))
    return lost.groupBy(*_STORY).agg(
        sf.min_by("leader_last_logged", "since").alias("last_logged"),
        sf.min("since").alias("noticed"),
        sf.max(sf.when(moved, sf.col("until"))).alias("elected"),
        sf.max(led_at).alias("led"),
        sf.max_by(led_at < sf.col("until"), led_at).alias("led_behind"),
        sf.count_if(moved & sf.col("led_at").isNull()).alias("led_unseen"),
        sf.max(sf.when(waited, sf.coalesce("led_at", "until"))).alias("returned"),
        sf.count("*").alias("partitions"),
        sf.count_if(moved).alias("moved"),
        sf.count_if(waited).alias("waited"),
        sf.array_sort(sf.collect_set(sf.when(moved, sf.col("leader_after")))).alias("leaders"),
        sf.max(sf.col("cause") == BOTH_OFFLINE).alias("with_controller"),
    )


def _followed(lost: DataFrame, events: DataFrame, lives: DataFrame) -> DataFrame:
    """Find when the live replicas of each moved partition followed its new leader."""
    follows = with_life(events.where(is_kind(Kind.FOLLOWER_STARTS)), lives).select(
        *LIFE, "leader_epoch", sf.col("broker").alias("follower"), sf.col("time").alias("followed")
    )
    return (
        lost.where(_moved())
        .join(follows, [*LIFE, "leader_epoch"])
        .where(
            (sf.col("follower") != sf.col("broker"))
            & (sf.col("followed") <= sf.col("until") + sf.lit(_SLACK))
        )
    )


def _with_controllers_alone(stories: DataFrame, controllers: DataFrame, events: DataFrame) -> DataFrame:
    """Add the controllers that were lost, or resigned, while they led no partition.

    Only a controller that logged changes of partitions has a last line as controller: of KRaft's, the events
    hold little more than the first.
    """
    order = Window.orderBy("controller_epoch", "since")
    changed = controllers.withColumn(
        "last_change", sf.when(sf.lag("changes").over(order) > 0, sf.lag("until").over(order))
    ).where("previous_controller is not null")
    spoken = with_last_words(
        changed, events.where("role = 'controller'"), "previous_controller", "since", "last_words"
    )
    # Of a broker that is elected again, the last words may be its first line in the new epoch.
    is_other = sf.col("last_change").isNotNull() & (sf.col("previous_controller") != sf.col("controller"))
    latest = sf.when(is_other, sf.greatest("last_change", "last_words")).otherwise(sf.col("last_change"))
    changes = (
        spoken.withColumn("last_logged", latest)
        .select(
            "controller_epoch", "controller", "previous_controller", "last_logged",
            sf.col("previous_controller").alias("broker"),
            sf.col("since").alias("controller_since"),
            sf.col("since").alias("noticed"),
            sf.lit(col=True).alias("with_controller"),
        )
    )  # fmt: skip
    lost = stories.where("with_controller or broker = previous_controller").select("controller_epoch")
    alone = changes.join(lost.distinct(), "controller_epoch", "left_anti")
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
    last_logged, noticed, elected = sf.col("last_logged"), sf.col("noticed"), sf.col("elected")
    sent, led, followed = sf.col("sent"), sf.col("led"), sf.col("followed")
    names = ("partitions", "moved", "waited", "led_unseen")
    counted, moved, waited, unseen = (sf.coalesce(name, sf.lit(0)) for name in names)
    return stories.select(
        "broker",
        sf.col("with_controller").alias("was_controller"),
        "controller",
        "controller_epoch",
        "last_logged",
        sf.when(sf.col("with_controller"), sf.col("controller_since")).alias("controller_since"),
        "noticed", "elected", "sent", "led", "followed",
        *(sf.coalesce(name, sf.lit(col=False)).alias(name) for name in ("led_behind", "followed_behind")),
        unseen.alias("led_unseen"),
        "returned",
        counted.alias("partitions"),
        moved.alias("moved"),
        waited.alias("waited"),
        (counted - moved - waited).alias("stranded"),
        sf.coalesce("leaders", sf.array().cast("array<int>")).alias("leaders"),
        millis_between(last_logged, noticed).alias("notice_ms"),
        millis_between(noticed, elected).alias("election_ms"),
        millis_between(elected, sent).alias("send_ms"),
        millis_between(sf.coalesce(sent, elected), led).alias("lead_ms"),
        millis_between(sf.coalesce(sent, elected), followed).alias("follow_ms"),
        sf.when(unseen == 0, millis_between(last_logged, led)).alias("total_ms"),
    ).orderBy("noticed", "controller_epoch", "broker")  # fmt: skip
