"""The requests and results of this broker's replicas, as request handlers see them."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass

from barnabas.broker.core.records.record_batch import RecordBatch
from barnabas.broker.core.records.refusals import RecordFault, Refusal
from barnabas.broker.core.records.transactions import AbortedTransaction
from barnabas.broker.core.replication.leader_epochs import EpochEndOffset
from barnabas.broker.disk.segment.file_records import FileRecords
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition

Bytes = bytes | bytearray | memoryview
"""Batches of the socket, the disk or a peer; never decoded."""

Records = Bytes | FileRecords
"""Batches that were read: in memory, or still in their file."""

UNKNOWN_OFFSET = Offset(-1)
"""The offset in an answer without one, because of its error."""

NO_TIMESTAMP = -1
"""The timestamp in an answer without one."""

CONSUMER = -1
"""The replica id of a consumer's fetch."""

NO_PREFERRED_REPLICA = -1
"""The value that stands for no preferred read replica."""

LATEST_TIMESTAMP = -1
"""The timestamp with which ListOffsets requests the end of the readable range."""

EARLIEST_TIMESTAMP = -2
"""The timestamp with which ListOffsets requests the log start; versions 0 to 6 have no lower one."""

EARLIEST_LOCAL_TIMESTAMP = -4
"""The same, of what is not in remote storage (KIP-405), which there is none of here."""

DEBUGGING_CONSUMER = -2
"""The replica id of a tool that compares replicas: it may request offsets of a follower."""


@dataclass(frozen=True, slots=True)
class Appended:
    """The result of a produce request for one partition.

    Attributes:
        error: ``NONE`` if the batch was written, and with acks=-1 the high watermark has passed it.
        base_offset: The offset of its first record, or ``UNKNOWN_OFFSET``.
        log_append_time: Milliseconds since 1970 on a LogAppendTime topic, else -1.
        log_start_offset: The partition's log start offset, or ``UNKNOWN_OFFSET``.
        record_faults: The records at fault, if the batch was refused because of single ones.
        message: A sentence about ``error`` that names the thing, the value and what was expected, or None.
    """

    error: ErrorCode
    base_offset: Offset = UNKNOWN_OFFSET
    log_append_time: int = NO_TIMESTAMP
    log_start_offset: Offset = UNKNOWN_OFFSET
    record_faults: tuple[RecordFault, ...] = ()
    message: str | None = None


Prepared = Bytes | RecordBatch | Refusal | None
"""A record field as it came, or its recompressed batch."""

AppendResults = dict[TopicPartition, Appended]
"""The results of a produce request, in the order of its partitions."""

Prepares = Coroutine[None, None, Mapping[TopicPartition, Prepared]]
"""The preparation of a produce request's batches."""


@dataclass(frozen=True, slots=True)
class FetchPartition:
    """The fetch of one partition by a consumer.

    Attributes:
        offset: The first offset wanted.
        max_bytes: The most bytes of this partition; one batch is returned even if larger.
        current_leader_epoch: The leader epoch known to the consumer, or -1 for no check (KIP-320).
        last_fetched_epoch: The epoch of the consumer's last record, or -1 (KIP-595).
        allow_zstd: False for Fetch below 10, whose clients cannot read zstd (KIP-110).
        read_committed: Whether to omit open transactions, and to list the aborted ones.
        replica_id: The broker that claims to fetch, or a negative number for a consumer.
        rack: The consumer's rack, or an empty string; None for Fetch below 11, whose consumers read from the
            leader alone (KIP-392).
    """

    offset: Offset
    max_bytes: int
    current_leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH
    last_fetched_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH
    allow_zstd: bool = True
    read_committed: bool = False
    replica_id: int = CONSUMER
    rack: str | None = None

    @property
    def may_read_follower(self) -> bool:
        """Return whether a follower may serve this fetch."""
        return self.rack is not None and self.replica_id < 0


@dataclass(frozen=True, slots=True)
class Fetched:
    """The result of a fetch for one partition.

    Attributes:
        error: ``NONE``, or the reason why there are no records.
        records: Consecutive whole batches below the high watermark; the first may begin before the requested
            offset.
        high_watermark: The end of what is committed, or ``UNKNOWN_OFFSET``.
        last_stable_offset: The end of what a read_committed consumer may see, or ``UNKNOWN_OFFSET``.
        log_start_offset: The partition's log start offset, or ``UNKNOWN_OFFSET``.
        diverging_epoch: Set if the reader's log diverges from this one before the requested offset (KIP-595).
        aborted_transactions: The transactions with records among ``records``; only if requested.
        preferred_read_replica: The replica to read from instead, or -1.
    """

    error: ErrorCode
    records: Records = b""
    high_watermark: Offset = UNKNOWN_OFFSET
    last_stable_offset: Offset = UNKNOWN_OFFSET
    log_start_offset: Offset = UNKNOWN_OFFSET
    diverging_epoch: EpochEndOffset | None = None
    aborted_transactions: Sequence[AbortedTransaction] = ()
    preferred_read_replica: int = NO_PREFERRED_REPLICA


FetchResults = dict[TopicPartition, Fetched]
"""The results of a fetch, in the order of its partitions."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """The result of DeleteRecords for one partition.

    Attributes:
        error: ``NONE`` if no live replica's log starts before the requested offset.
        low_watermark: The lowest log start offset of the leader and its live followers, or
            ``UNKNOWN_OFFSET``.
    """

    error: ErrorCode
    low_watermark: Offset = UNKNOWN_OFFSET


DeleteResults = dict[TopicPartition, Deleted]
"""The results of a deletion, in the order of its partitions."""


@dataclass(frozen=True, slots=True)
class ListedOffset:
    """The answer to one partition of ListOffsets.

    Attributes:
        timestamp: The timestamp of the record, in milliseconds since 1970; -1 for the earliest and latest
            offset.
        offset: The offset found; ``UNKNOWN_OFFSET`` if no record is late enough, or on error.
        leader_epoch: The epoch of the record at ``offset``, or -1.
    """

    error: ErrorCode
    timestamp: int = NO_TIMESTAMP
    offset: Offset = UNKNOWN_OFFSET
    leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH


@dataclass(frozen=True, slots=True)
class EpochEnd:
    """The answer to one partition of OffsetForLeaderEpoch."""

    error: ErrorCode
    leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH
    end_offset: Offset = UNKNOWN_OFFSET


@dataclass(frozen=True, slots=True)
class DescribedLog:
    """A log, as DescribeLogDirs returns it.

    Attributes:
        topic_partition: The partition.
        size: Bytes of its segments.
        offset_lag: The offsets from the log's end to the high watermark, or from a future log's end to the
            current one's; -1 if the replica is not online.
        is_future: Whether it will replace the current one.
    """

    topic_partition: TopicPartition
    size: int
    offset_lag: int
    is_future: bool = False


@dataclass(frozen=True, slots=True)
class DescribedLogDir:
    """A log directory, as DescribeLogDirs returns it.

    Attributes:
        path: Its absolute path.
        error: ``KAFKA_STORAGE_ERROR`` if it is offline.
        logs: The logs in it.
    """

    path: str
    error: ErrorCode
    logs: Sequence[DescribedLog] = ()
