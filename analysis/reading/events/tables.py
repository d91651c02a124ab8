"""The columns of the table ``events``, which has one row for each entry of the logs.

All other tables are computed from this one. Text that is not an entry, such as lines before a file's first
header, has a row too. A column is null if the line does not contain it, and most lines fill few columns.
Nothing is carried over from one line to another.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import types as st


class Column(NamedTuple):
    """A column of ``events``.

    Attributes:
        name: The name in the Parquet files.
        spark: The type in Spark.
        arrow: The type in Arrow.
        doc: A description of the values.
    """

    name: str
    spark: st.DataType
    arrow: pa.DataType
    doc: str


def _text(name: str, doc: str) -> Column:
    return Column(name, st.StringType(), pa.string(), doc)


def _int(name: str, doc: str) -> Column:
    return Column(name, st.IntegerType(), pa.int32(), doc)


def _long(name: str, doc: str) -> Column:
    return Column(name, st.LongType(), pa.int64(), doc)


def _flag(name: str, doc: str) -> Column:
    return Column(name, st.BooleanType(), pa.bool_(), doc)


def _ids(name: str, doc: str) -> Column:
    return Column(name, st.ArrayType(st.IntegerType()), pa.list_(pa.int32()), doc)


def _texts(name: str, doc: str) -> Column:
    return Column(name, st.ArrayType(st.StringType()), pa.list_(pa.string()), doc)


COLUMNS: tuple[Column, ...] = (
    Column(
        "time", st.TimestampNTZType(), pa.timestamp("us"),
        "The time of the line, in UTC if the given time zone is the broker's. Many lines have equal times.",
    ),
    _text("level", "TRACE, DEBUG, INFO, WARN or ERROR."),
    _text("logger", "The logger that the line names: state.change.logger, or another where logs are mixed."),
    _text("role", "The role in which the broker logged the line: controller or broker."),
    _int("broker", "The broker that wrote the log: from the line, else from the path, else as given."),
    _int("controller", "The controller that wrote the line, or that sent the request it is about."),
    _int("controller_epoch", "That controller's epoch; for a refused request the stale epoch."),
    _text("kind", "The kind of line (Kind, OtherKind, CompanionKind, BrokerKind); null if no rule matches."),
    _text("condition", "The condition that the form of the line shows (analysis.conditions.signs)."),
    _text("releases", "The releases that have this form of the line, such as 2.6+ or 0.8 to 1.0."),
    _text("topic", "The topic of the partition that the line is about."),
    _int("partition", "That partition's number."),
    _texts("partitions", "The partitions as topic-number, if the line is about several."),
    _int("replica", "The replica (a broker) that changes its state, or whose replicas went offline."),
    _text("from", "The state before, in Kafka's terms (OnlinePartition, NewReplica, ...), or the ISR."),
    _text("to", "The state after, or the target state of a change that failed."),
    _int("leader", "The leader; -1 for none, -2 while the topic is deleted."),
    _int("leader_epoch", "The leader epoch; for a refused request the epoch in it."),
    _ids("isr", "The in-sync replicas in the order written."),
    _ids("replicas", "The assigned replicas in the order written."),
    _int("version", "zkVersion of the partition's state, which 3.3 and later call partition epoch."),
    _int("state_controller_epoch", "The controller epoch in the partition's state, at most the sender's."),
    _int("previous_leader", "The leader before, 3.6 and later; -1 for none."),
    _int("previous_leader_epoch", "The leader epoch before, for a replica that becomes leader or follower."),
    _int("current_leader_epoch", "The broker's own leader epoch, because of which it refuses a request."),
    _int("latest_controller_epoch", "The highest controller epoch known to a refusing or resigning broker."),
    _int("last_controller_epoch", "The controller epoch of the last update of the partition (1.0 to 3.2)."),
    _int("correlation_id", "The request's number on its connection from controller to broker."),
    _text("api", "The request that the line is about: LEADER_AND_ISR, UPDATE_METADATA or STOP_REPLICA."),
    _text("transition", "become-leader or become-follower."),
    _flag("delete", "Whether StopReplica deletes the log."),
    _ids("targets", "The brokers to which a request goes, or the broker that responded."),
    _int("count", "The number of partitions, if they are not named; for UpdateMetadata the added ones."),
    _int("leaders", "The number of partitions in a LeaderAndIsr request to become leader of."),
    _int("followers", "The number of partitions in a LeaderAndIsr request to become follower of."),
    _int("deleted_count", "The number of partitions that an UpdateMetadata request removed from the cache."),
    _long("duration_ms", "The milliseconds of what a line is about, such as a LeaderAndIsr request."),
    _long("offset", "The log end offset at which a leader epoch starts, or a follower starts to fetch."),
    _long("high_watermark", "The high watermark at that moment."),
    _ids("adding", "The replicas that a reassignment adds."),
    _ids("removing", "The replicas that a reassignment removes."),
    _int("error_code", "The first error code of a response that is not 0; 0 if all are 0."),
    _text("error", "The error's name or text, if the line itself contains one."),
    _text("topic_id", "The topic id."),
    _text("election", "How a leader was elected, if the line says so (Election)."),
    _int("subject", "The broker that a line of BrokerKind is about; its own id in a line about itself."),
    _ids("added_brokers", "The brokers that joined the cluster, in a controller's line."),
    _ids("lost_brokers", "Brokers that left the cluster, or lost a log directory, in a controller's line."),
    _ids("bounced_brokers", "The brokers that restarted before their loss was noticed."),
    _ids("live_brokers", "All live brokers, in a controller's line."),
    _text("contact", "How the contact with another broker was lost (Contact)."),
    _long("broker_epoch", "The broker epoch of a registration."),
    _text("incarnation", "The id of a broker's process (KRaft)."),
    _text("cluster_id", "The id of the cluster."),
    _int("minimum", "min.insync.replicas, in a line that refuses a write."),
    _flag("under_min_isr", "Whether the leader says that the ISR is under min.insync.replicas (3.5+)."),
    _texts("settings", "Settings as name=value, those of SETTINGS_READ."),
    _text("trace", "The lines below the first one (exception, stack and causes), joined by \\n."),
    _text("raw", "The entry as in the file, trace included, without what docker or grep put before it."),
    _flag("understood", "Whether a rule matches the line; null for another logger's that no rule concerns."),
    _text("source", "The file, as Spark names it (a URI)."),
    _long("block", "The first byte of the split that holds the entry; 0 for a file that is one split."),
    _long("line", "The line of the split on which the entry begins; the first is 1."),
)  # fmt: skip
"""The columns of ``events`` in their order.

``source``, ``block`` and ``line`` are the place of an entry. Ordered by these, a file's entries are in file
order even if clocks went back. The line in the file is ``line`` plus the lines of the splits before (table
``files``).
"""

EVENTS = st.StructType([st.StructField(each.name, each.spark) for each in COLUMNS])
"""The schema of ``events`` in Spark."""

_SPELLED_OUT = ("raw", "trace")

EVENTS_CODED = pa.schema(
    [
        pa.field(
            each.name,
            pa.dictionary(pa.int32(), each.arrow)
            if pa.types.is_string(each.arrow) and each.name not in _SPELLED_OUT
            else each.arrow,
        )
        for each in COLUMNS
    ]
)
"""The schema of ``events`` in Arrow before writing: columns of repeating texts are dictionary-encoded."""

EVENTS_ARROW = pa.schema([pa.field(each.name, each.arrow) for each in COLUMNS])
"""The schema of ``events`` in Arrow, as any program reads the table."""

FILES = st.StructType(
    [
        st.StructField("source", st.StringType()),
        st.StructField("block", st.LongType()),
        st.StructField("broker", st.IntegerType()),
        st.StructField("size", st.LongType()),
        st.StructField("lines", st.LongType()),
        st.StructField("entries", st.LongType()),
        st.StructField("understood", st.LongType()),
        st.StructField("replaced", st.LongType()),
        st.StructField("error", st.StringType()),
    ]
)
"""The schema of the table ``files``, which has one row for each split that was read.

Columns: ``source`` and ``block`` as in ``events``; ``broker``, from the path; ``size`` (bytes) and ``lines``
(line feeds) of the split's entries after decompression; ``entries``; ``understood`` (entries that a rule
matches); ``replaced`` (bytes that were not UTF-8); ``error`` (why reading ended early; null if it did not).
"""
