"""The columns of the table ``events``: one row for each entry of the logs, and for each piece that is none.

All other tables are computed from this one. A column is null where the line does not say it, and most lines
say little. Nothing is carried over from one line to another.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import types as st


class Column(NamedTuple):
    """A column of ``events``.

    Attributes:
        name: As in the Parquet files.
        spark: Its type in Spark.
        arrow: Its type in Arrow.
        doc: What it holds.
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
        "When it was logged, in UTC if the time zone given is the broker's. Equal times are the rule.",
    ),
    _text("level", "TRACE, DEBUG, INFO, WARN or ERROR."),
    _text("logger", "The logger that the line names: state.change.logger, or another where logs are mixed."),
    _text("role", "Who speaks: controller or broker."),
    _int("broker", "The broker whose log it is: from the line, else from the path, else as given."),
    _int("controller", "The controller: the speaker of its own line, the sender of what a broker got."),
    _int("controller_epoch", "That controller's epoch; of a refused request the stale one."),
    _text("kind", "What it says (statechange.Kind, companions.CompanionKind); null where no rule knows it."),
    _text("releases", "The releases that have this form of the line, such as 2.6+ or 0.8 to 1.0."),
    _text("topic", "The topic of the one partition that it is about."),
    _int("partition", "That partition's number."),
    _texts("partitions", "The partitions as topic-number, of a line about several."),
    _int("replica", "The replica (a broker) that changes its state, or whose replicas went offline."),
    _text("from", "The state before, in Kafka's words (OnlinePartition, NewReplica, ...)."),
    _text("to", "The state after, or the one that was not reached."),
    _int("leader", "The leader; -1 for none, -2 while the topic is deleted."),
    _int("leader_epoch", "The leader epoch; of a refused request the one refused."),
    _ids("isr", "The in-sync replicas in the order written."),
    _ids("replicas", "The assigned replicas in the order written."),
    _int("version", "zkVersion of the partition's state, which 3.3 and later call partition epoch."),
    _int("state_controller_epoch", "The controller epoch of the partition's state: not always the sender's."),
    _int("previous_leader", "The leader before, 3.6 and later; -1 for none."),
    _int("previous_leader_epoch", "The leader epoch before, of a replica that starts to lead or follow."),
    _int("current_leader_epoch", "The leader epoch that a broker has and refuses a request for."),
    _int("latest_controller_epoch", "The highest controller epoch known to who refuses or gives up."),
    _int("last_controller_epoch", "The controller epoch of the last update of the partition (1.0 to 3.2)."),
    _int("correlation_id", "The request's number on its connection from controller to broker."),
    _text("api", "The request it is about: LEADER_AND_ISR, UPDATE_METADATA or STOP_REPLICA."),
    _text("transition", "become-leader or become-follower."),
    _flag("delete", "Whether StopReplica deletes the log."),
    _ids("targets", "The brokers that a request goes to, or the one that an answer comes from."),
    _int("count", "How many partitions a line is about that does not name them; the added ones of a cache."),
    _int("leaders", "How many partitions of a LeaderAndIsr request become led."),
    _int("followers", "How many partitions of a LeaderAndIsr request become followed."),
    _int("deleted_count", "How many partitions an UpdateMetadata request took out of the cache."),
    _long("duration_ms", "How long a LeaderAndIsr request was handled (2.7 and later)."),
    _long("offset", "The log end offset at which a leader epoch starts, or a follower begins."),
    _long("high_watermark", "The high watermark at that moment."),
    _ids("adding", "The replicas that a reassignment adds."),
    _ids("removing", "The replicas that a reassignment removes."),
    _int("error_code", "The first error code of an answer that is not 0; 0 where all are."),
    _text("error", "The error's name or text, where the line itself holds one."),
    _text("topic_id", "The topic id."),
    _text("trace", "What stands below the line: exception, stack and causes, lines joined by \\n."),
    _text("raw", "The entry as it stands in the file, trace included, what stands before it left out."),
    _flag("understood", "Whether a rule knows the line; null for another logger's that none knows."),
    _text("source", "The file, as Spark names it (a URI)."),
    _long("block", "The first byte of the split in which it was read; 0 for a file read as one."),
    _long("line", "The line of the split on which it begins; the first is 1."),
)  # fmt: skip
"""The columns in their order.

``source``, ``block``, ``line`` say where an entry stands: ordered by these, a file's entries have their order
again, also where clocks went back. With the lines of the splits before (table ``files``) ``line`` is the line
of the file.
"""

EVENTS = st.StructType([st.StructField(each.name, each.spark) for each in COLUMNS])
"""The table's schema in Spark."""

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
"""The same in Arrow, before it is written: of texts that are mostly alike each is kept once."""

EVENTS_ARROW = pa.schema([pa.field(each.name, each.arrow) for each in COLUMNS])
"""The same in Arrow, as any program reads it."""

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
"""The table ``files``: one row for each split that was read.

``source``, ``block`` as in ``events``; ``broker`` that the path names; ``size`` in bytes and ``lines`` (line
feeds) of its entries, decompressed; ``entries`` and how many of them were ``understood``; ``replaced`` bytes
that were no UTF-8; ``error`` why reading ended early, null where it did not.
"""
