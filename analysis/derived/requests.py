"""The table ``requests``: the controllers' requests to brokers, and the time that brokers took."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame

from barnabas.analysis.derived.controllers import REFUSALS
from barnabas.analysis.derived.lives import is_kind
from barnabas.analysis.reading.events.kinds import OtherKind
from barnabas.analysis.runtime.engine import Window, sf
from barnabas.cluster.model.statechange import Kind

OBEYED = "obeyed"
REFUSED = "refused: stale controller epoch"
FAILED = "failed"
NOT_LOGGED = "not logged by the broker"

_LEADER_AND_ISR = (
    Kind.LEADER_AND_ISR_HANDLING, Kind.LEADER_AND_ISR_FINISHED, Kind.LEADER_AND_ISR_RECEIVED,
    Kind.LEADER_AND_ISR_STALE_CONTROLLER, Kind.LEADER_AND_ISR_STALE_EPOCH, Kind.LEADER_AND_ISR_SAME_EPOCH,
    Kind.LEADER_AND_ISR_FAILED, Kind.TRANSITION_STARTED, Kind.TRANSITION_COMPLETED,
    Kind.LEADER_FETCHERS_STOPPED, Kind.FOLLOWER_FETCHERS_STOPPED, OtherKind.FETCHERS_STOPPED,
)  # fmt: skip
_STOP_REPLICA = (Kind.STOP_REPLICA_HANDLING, Kind.STOP_REPLICA_RECEIVED, Kind.STOP_REPLICA_STALE_CONTROLLER)
_UPDATE_METADATA = (
    Kind.METADATA_UPDATED,
    Kind.METADATA_CACHED,
    Kind.METADATA_DELETED,
    Kind.UPDATE_METADATA_STALE_CONTROLLER,
)
_BATCHES = (Kind.LEADER_AND_ISR_BATCH, Kind.UPDATE_METADATA_BATCH, Kind.STOP_REPLICA_BATCH)
_WORK = (Kind.TRANSITION_COMPLETED, Kind.LEADER_AND_ISR_FINISHED)
_COUNTED = (Kind.LEADER_AND_ISR_HANDLING, Kind.STOP_REPLICA_HANDLING, Kind.METADATA_UPDATED)
_NAMED = (Kind.LEADER_AND_ISR_RECEIVED, Kind.STOP_REPLICA_RECEIVED, Kind.METADATA_CACHED)

_CLOCKS = timedelta(seconds=2)
"""The most that a broker's clock is assumed to be behind its controller's."""

_PAUSE = timedelta(minutes=10)
"""Two lines with one correlation id that are further apart are about requests of different connections."""

_CHANNEL = ("broker", "controller")
_GROUP = (*_CHANNEL, "controller_epoch", "api")


def requests(events: DataFrame, controllers: DataFrame) -> DataFrame:
    """Compute one row for each LeaderAndIsr, UpdateMetadata and StopReplica request, from both ends.

    A broker's lines are grouped by correlation id. Ids start again with each connection, so the same id after
    a long silence counts as another request. A controller's lines (2.6 and later) hold no id. The n-th
    request that a controller sent to a broker in its controller epoch is taken for the n-th that the broker
    received; if one such pair differs in its number of partitions, no pair of that controller epoch and
    broker is used.

    Columns: ``api`` (LEADER_AND_ISR, UPDATE_METADATA, STOP_REPLICA), ``broker`` (the receiver),
    ``controller``, ``controller_epoch`` (null if no line gives it), ``correlation_id``, ``partitions`` (their
    number), ``sent`` (controller's clock), ``received`` and ``finished`` (broker's clock), ``duration_ms``
    (from the broker's line, else from its first to its last line about the request; null if there is only
    one), ``answered`` (controller's clock, TRACE), ``outcome`` (a constant of this module).
    """
    whole = _paired(_received(events, controllers), _sent(events))
    # Several connections may have used one correlation id; the answer is the first one after the request.
    after = sf.filter("answers", lambda answer: answer >= sf.col("sent"))
    answered = sf.when(sf.col("sent").isNotNull(), sf.get(after, sf.lit(0))).when(
        sf.size("answers") == 1, sf.get("answers", sf.lit(0))
    )
    return (
        whole.join(_answers(events), [*_GROUP, "correlation_id"], "left")
        .select(
            "api", *_CHANNEL, "controller_epoch", "correlation_id",
            sf.coalesce("partitions", "sent_partitions").alias("partitions"),
            "sent", "received", "finished", "duration_ms", answered.alias("answered"),
            sf.coalesce("outcome", sf.lit(NOT_LOGGED)).alias("outcome"),
        )
    )  # fmt: skip


def _paired(received: DataFrame, sent: DataFrame) -> DataFrame:
    by_time = Window.partitionBy(*_GROUP)
    received = received.withColumn(
        "number", sf.row_number().over(by_time.orderBy("received", "correlation_id"))
    )
    sent = sent.withColumn("number", sf.row_number().over(by_time.orderBy("sent", "block", "line")))
    agrees = sf.coalesce(sf.col("partitions") == sf.col("sent_partitions"), sf.lit(col=True))
    pairs = received.join(sent, [*_GROUP, "number"], "full").withColumn(
        "agree", sf.min(agrees).over(Window.partitionBy(*_GROUP))
    )
    apart = pairs.where("not agree")
    return (
        pairs.where("agree")
        .unionByName(apart.drop(*_SENT), allowMissingColumns=True)
        .unionByName(apart.select(*_GROUP, *_SENT), allowMissingColumns=True)
        .where("received is not null or sent is not null")
    )


_SENT = ("sent", "sent_partitions")


def _received(events: DataFrame, controllers: DataFrame) -> DataFrame:
    """Group the brokers' lines to one row for each request."""
    lines = events.where(is_kind(*_LEADER_AND_ISR, *_STOP_REPLICA, *_UPDATE_METADATA)).where(
        "role = 'broker' and controller is not null and correlation_id is not null"
    )
    by_second = (
        lines.withColumn("api", _api())
        .groupBy(*_GROUP, "correlation_id", sf.date_trunc("second", "time").alias("second"))
        .agg(
            sf.min("time").alias("received"),
            sf.max("time").alias("last"),
            sf.max(sf.when(is_kind(*_WORK), sf.col("time"))).alias("finished"),
            sf.max("duration_ms").alias("said_ms"),
            sf.max(sf.when(is_kind(*_COUNTED), sf.col("count"))).alias("counted"),
            sf.count_if(is_kind(*_NAMED)).alias("named"),
            sf.max(is_kind(*REFUSALS)).alias("refused"),
            sf.max(is_kind(Kind.LEADER_AND_ISR_FAILED)).alias("failed"),
        )
    )
    in_time = Window.partitionBy(*_CHANNEL).orderBy("received", "correlation_id")
    again = sf.col("received") > sf.lag("last").over(in_time) + sf.lit(_PAUSE)
    before = sf.lag("correlation_id").over(in_time)
    begins_again = (sf.col("correlation_id") < before) | ((sf.col("correlation_id") == before) & again)
    begun = by_second.withColumn("begins", sf.coalesce(begins_again, sf.lit(col=False)).cast("int"))
    return (
        _with_epoch(begun.withColumn("connection", sf.sum("begins").over(in_time)), controllers)
        .groupBy(*_GROUP, "connection", "correlation_id")
        .agg(
            sf.min("received").alias("received"),
            sf.coalesce(sf.max("finished"), sf.max("last")).alias("finished"),
            sf.coalesce(sf.max("said_ms"), _spent()).alias("duration_ms"),
            sf.coalesce(sf.max("counted"), sf.sum("named")).cast("int").alias("partitions"),
            sf.when(sf.max("refused"), REFUSED)
            .when(sf.max("failed"), FAILED)
            .otherwise(OBEYED)
            .alias("outcome"),
        )
    )


def _with_epoch(lines: DataFrame, controllers: DataFrame) -> DataFrame:
    """Add the controller epoch to brokers' lines that lack it (INFO lines of 2.6 and later).

    The epoch comes from other lines of the same request, else from the controller's latest epoch that had
    begun by then, within the assumed difference of clocks.
    """
    known = Window.partitionBy(*_CHANNEL, "connection")
    epochs = controllers.groupBy("controller").agg(
        sf.array_sort(sf.collect_list(sf.struct("controller_epoch", "since"))).alias("epochs")
    )
    begun = sf.filter("epochs", lambda epoch: epoch["since"] <= sf.col("received") + sf.lit(_CLOCKS))
    latest = sf.get(begun, sf.size(begun) - 1)["controller_epoch"]
    epoch = sf.coalesce("controller_epoch", sf.max("controller_epoch").over(known), latest)
    return lines.join(epochs, "controller", "left").withColumn("controller_epoch", epoch).drop("epochs")


def _api() -> Column:
    return (
        sf.when(is_kind(*_STOP_REPLICA), "STOP_REPLICA")
        .when(is_kind(*_UPDATE_METADATA), "UPDATE_METADATA")
        .otherwise("LEADER_AND_ISR")
    )


def _spent() -> Column:
    first, last = sf.min("received"), sf.max("last")
    spent = sf.unix_millis(last.cast("timestamp")) - sf.unix_millis(first.cast("timestamp"))
    return sf.when(last > first, spent)


def _sent(events: DataFrame) -> DataFrame:
    """Group the controllers' lines to one row for each request and receiving broker."""
    return (
        events.where(is_kind(*_BATCHES) & (sf.col("role") == "controller"))
        .select(
            "api", "controller", "controller_epoch",
            sf.explode("targets").alias("broker"),
            sf.col("time").alias("sent"),
            sf.coalesce("count", sf.col("leaders") + sf.col("followers")).alias("sent_partitions"),
            "block", "line",
        )
        # A broker logs nothing about a request without partitions.
        .where("api != 'UPDATE_METADATA' or sent_partitions > 0")
        .dropDuplicates(["api", "controller", "controller_epoch", "broker", "sent", "block", "line"])
    )  # fmt: skip


def _answers(events: DataFrame) -> DataFrame:
    return (
        events.where(is_kind(Kind.RESPONSE_RECEIVED) & sf.col("correlation_id").isNotNull())
        .select(
            "api", "controller", "controller_epoch", "correlation_id",
            sf.explode("targets").alias("broker"),
            "time",
        )
        .groupBy(*_GROUP, "correlation_id")
        .agg(sf.array_sort(sf.collect_set("time")).alias("answers"))
    )  # fmt: skip
