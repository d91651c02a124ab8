"""The interface of this broker's replicas for request handlers, as data and protocols.

``append.Appender`` and ``read.Reader`` implement it. All of it runs on the broker's event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from barnabas.broker.core.records.producer_state import ProducerSnapshot
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


class Appends(Protocol):
    """The produce path."""

    def prepare(self, batches: Mapping[TopicPartition, Bytes | None]) -> Prepares | None:
        """Begin long work, such as recompression, that must precede ``append``.

        Returns:
            A coroutine that runs in turns with other long work and returns the argument for ``append``; None
            if ``batches`` can be appended at once.
        """
        ...

    def append(
        self,
        batches: Mapping[TopicPartition, Prepared],
        *,
        acks: int,
        timeout_ms: int,
        allow_zstd: bool = True,
        allow_internal_topics: bool = False,
    ) -> asyncio.Future[AppendResults]:
        """Append to the local leaders, in their order; the future is done when the answer is due.

        The appends are complete when this returns, so a caller that calls in the order of its requests keeps
        their order without waiting for the answers. With acks -1 the future waits in the purgatory until the
        high watermark passes what was appended, or for ``timeout_ms`` (``REQUEST_TIMED_OUT``; the records may
        still be committed). It never raises for one partition: each has its error.

        Args:
            batches: The record field of each partition; None stands for a null field and is refused.
            acks: -1, 0 or 1; anything else answers ``INVALID_REQUIRED_ACKS`` for every partition.
            timeout_ms: The request's own timeout.
            allow_zstd: False for Produce below 7, which may not carry zstd.
            allow_internal_topics: True for writers of ``__consumer_offsets`` and ``__transaction_state``.
        """
        ...


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


class Deletes(Protocol):
    """The path of DeleteRecords."""

    def delete(
        self, offsets: Mapping[TopicPartition, Offset], timeout_ms: int
    ) -> asyncio.Future[DeleteResults]:
        """Raise the log starts of local leaders to ``offsets``; -1 stands for the high watermark.

        The future waits in the purgatory until no live replica's log starts earlier, or for ``timeout_ms``
        (``REQUEST_TIMED_OUT``; the leader's log starts there anyway). It never raises for one partition: each
        has its error.
        """
        ...


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


class Reads(Protocol):
    """The read paths for consumers, which see nothing at or above the high watermark."""

    def fetch(
        self,
        partitions: Mapping[TopicPartition, FetchPartition],
        *,
        max_wait_ms: int,
        min_bytes: int,
        max_bytes: int,
    ) -> asyncio.Future[FetchResults]:
        """Read committed records.

        The future waits in the purgatory until there is enough, or for ``max_wait_ms``. Partitions are read
        in the order of ``partitions``, which a fair caller rotates. The first batch of the first partition
        with one is returned even if it is larger than ``max_bytes``.

        Args:
            partitions: The fetch of each partition.
            max_wait_ms: The longest time to hold the answer; 0 answers at once.
            min_bytes: The bytes, over all partitions, that complete the answer before ``max_wait_ms``.
            max_bytes: The most bytes of the answer, over all partitions.
        """
        ...

    async def wait(
        self, partitions: Mapping[TopicPartition, FetchPartition], *, max_wait_ms: int, min_bytes: int
    ) -> None:
        """Wait as ``fetch`` does, without reading: the caller reads many partitions in portions."""
        ...

    def read(
        self,
        partitions: Mapping[TopicPartition, FetchPartition],
        max_bytes: int,
        *,
        at_least_one: bool = True,
    ) -> FetchResults:
        """Read committed records at once.

        Args:
            partitions: The fetch of each partition.
            max_bytes: The most bytes, over all partitions.
            at_least_one: Whether the first batch of the first partition with one is returned even if it is
                larger than ``max_bytes``.
        """
        ...

    async def list_offset(
        self,
        topic_partition: TopicPartition,
        timestamp: int,
        current_leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH,
        *,
        read_committed: bool = False,
        replica_id: int = CONSUMER,
    ) -> ListedOffset:
        """Return the first offset at or after ``timestamp``, or the latest or earliest offset.

        With ``read_committed`` nothing at or above the last stable offset counts. A replica id other than
        that of consumers lists up to the log end offset; for ``DEBUGGING_CONSUMER`` a follower answers, too.
        ``MAX_TIMESTAMP`` lists the first record with the largest timestamp, if it is below that end.

        The answer is ``OFFSET_NOT_AVAILABLE`` while a new leader does not know its high watermark yet (for
        versions below 5 the handler makes it ``LEADER_NOT_AVAILABLE``).
        """
        ...

    def offsets_before(
        self, topic_partition: TopicPartition, timestamp: int, most: int, replica_id: int
    ) -> Sequence[Offset] | ErrorCode:
        """Return at most ``most`` offsets that existed at ``timestamp``, the latest first (ListOffsets 0)."""
        ...

    def end_offset_for(
        self,
        topic_partition: TopicPartition,
        leader_epoch: LeaderEpoch,
        current_leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH,
    ) -> EpochEnd:
        """Return the end of ``leader_epoch`` in this leader's log (OffsetForLeaderEpoch, KIP-320)."""
        ...

    def producers(self, topic_partition: TopicPartition) -> ProducerSnapshot | ErrorCode:
        """Return the idempotent producers that a replica's log knows, leader or not (DescribeProducers)."""
        ...


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


class LogDirAdmin(Protocol):
    """The log directories, for DescribeLogDirs and AlterReplicaLogDirs."""

    def describe(self) -> Sequence[DescribedLogDir]:
        """Return every configured directory and the logs in it."""
        ...

    def alter(self, topic_partition: TopicPartition, path: str) -> ErrorCode:
        """Begin to move a replica to the log directory with the absolute path ``path``, or cancel its move.

        Returns:
            ``NONE`` if it moves or is there; ``REPLICA_NOT_AVAILABLE`` if this broker has no replica, which
            will then be created there; ``LOG_DIR_NOT_FOUND``, ``KAFKA_STORAGE_ERROR`` or
            ``INVALID_TOPIC_EXCEPTION`` if it cannot move there.
        """
        ...
