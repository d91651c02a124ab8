"""What the request handlers ask of this broker's replicas, as data and protocols.

``append.Appender`` and ``read.Reader`` carry it out. All of it runs on the broker's event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from barnabas.broker.core.leader_epochs import EpochEndOffset
from barnabas.broker.core.record_batch import RecordBatch
from barnabas.broker.core.refusals import RecordFault, Refusal
from barnabas.broker.core.transactions import AbortedTransaction
from barnabas.broker.disk.file_records import FileRecords
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition

Bytes = bytes | bytearray | memoryview
"""Batches as they came from the socket, the disk or a peer; never decoded."""

Records = Bytes | FileRecords
"""Batches that are read: in memory, or still in their file."""

UNKNOWN_OFFSET = Offset(-1)
"""An offset in an answer that has none to give, because of its error."""

NO_TIMESTAMP = -1
"""A timestamp in an answer that has none to give."""

CONSUMER = -1
"""The replica id of a fetch by a consumer."""

LATEST_TIMESTAMP = -1
"""ListOffsets: asks for the end of what may be read."""

EARLIEST_TIMESTAMP = -2
"""ListOffsets: asks for the log start offset. What is below is no time that ListOffsets 0 to 6 know."""

DEBUGGING_CONSUMER = -2
"""The replica id of a tool that compares replicas: it may ask a follower for offsets."""


@dataclass(frozen=True, slots=True)
class Appended:
    """What became of one partition of a produce request.

    Attributes:
        error: ``NONE`` where it was written, and with acks=-1 where the high watermark has passed it.
        base_offset: The offset of its first record, or ``UNKNOWN_OFFSET``.
        log_append_time: Milliseconds since 1970 on a LogAppendTime topic, else -1.
        log_start_offset: The partition's log start offset, or ``UNKNOWN_OFFSET``.
        record_faults: The records at fault, where the batch was refused for single ones.
        message: A sentence about ``error`` that names the thing, the value and what was expected, or None.
    """

    error: ErrorCode
    base_offset: Offset = UNKNOWN_OFFSET
    log_append_time: int = NO_TIMESTAMP
    log_start_offset: Offset = UNKNOWN_OFFSET
    record_faults: tuple[RecordFault, ...] = ()
    message: str | None = None


Prepared = Bytes | RecordBatch | Refusal | None
"""A record field as it came, or what was made of it before it is appended."""

AppendResults = dict[TopicPartition, Appended]
"""The results of a produce request, in the order of its partitions."""

Prepares = Coroutine[None, None, Mapping[TopicPartition, Prepared]]
"""Prepares the batches of a produce request."""


class Appends(Protocol):
    """The produce path."""

    def prepare(self, batches: Mapping[TopicPartition, Bytes | None]) -> Prepares | None:
        """Do what takes long, such as recompression, before ``append``.

        Returns:
            What ``append`` is to be given, later, by turns with other long pieces of work; None if it can
            be given ``batches`` at once.
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

        The appends themselves are over when this returns, so a caller that calls in the order of its requests
        keeps their order without waiting for the answers. With acks -1 the future waits in the purgatory
        until the high watermark passes what was appended, or for ``timeout_ms`` (``REQUEST_TIMED_OUT``; it
        may still be committed). It never raises for a partition's sake: each has its error.

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
    """What a consumer asks of one partition.

    Attributes:
        offset: The first offset it wants.
        max_bytes: How much of this partition it wants at most; one batch is given even if larger.
        current_leader_epoch: The epoch it believes in, or -1 for no check (KIP-320).
        last_fetched_epoch: The epoch of the last record it has, or -1 (KIP-595).
        allow_zstd: False for Fetch below 10, whose clients cannot read zstd (KIP-110).
        read_committed: Whether it wants nothing of transactions that are open, and to know the aborted ones.
        replica_id: The broker that claims to ask, or a negative number for a consumer.
    """

    offset: Offset
    max_bytes: int
    current_leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH
    last_fetched_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH
    allow_zstd: bool = True
    read_committed: bool = False
    replica_id: int = CONSUMER


@dataclass(frozen=True, slots=True)
class Fetched:
    """What one partition of a fetch gives.

    Attributes:
        error: ``NONE``, or why there are no records.
        records: Whole batches below the high watermark, back to back; the first may begin before the offset
            asked.
        high_watermark: The end of what is committed, or ``UNKNOWN_OFFSET``.
        last_stable_offset: The end of what a read_committed consumer may see, or ``UNKNOWN_OFFSET``.
        log_start_offset: The partition's log start offset, or ``UNKNOWN_OFFSET``.
        diverging_epoch: Set where the reader's log departs from this one before the offset asked (KIP-595).
        aborted_transactions: Those with records among ``records``; only where they were asked for.
    """

    error: ErrorCode
    records: Records = b""
    high_watermark: Offset = UNKNOWN_OFFSET
    last_stable_offset: Offset = UNKNOWN_OFFSET
    log_start_offset: Offset = UNKNOWN_OFFSET
    diverging_epoch: EpochEndOffset | None = None
    aborted_transactions: Sequence[AbortedTransaction] = ()


FetchResults = dict[TopicPartition, Fetched]
"""The results of a fetch, in the order of its partitions."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """What became of one partition of DeleteRecords.

    Attributes:
        error: ``NONE`` where no live replica's log starts before what was asked.
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
        """Let the logs of local leaders start at ``offsets``, at most at their high watermarks; -1 is that.

        The future waits in the purgatory until no live replica's log starts earlier, or for ``timeout_ms``
        (``REQUEST_TIMED_OUT``; the leader's log starts there all the same). It never raises for a partition's
        sake: each has its error.
        """
        ...


@dataclass(frozen=True, slots=True)
class ListedOffset:
    """The answer to one partition of ListOffsets.

    Attributes:
        timestamp: Of the record found, in milliseconds since 1970; -1 for the earliest and latest offset.
        offset: The offset found; ``UNKNOWN_OFFSET`` where no record is that young, or on error.
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
    """The consumers' paths; a consumer sees nothing at or above the high watermark."""

    def fetch(
        self,
        partitions: Mapping[TopicPartition, FetchPartition],
        *,
        max_wait_ms: int,
        min_bytes: int,
        max_bytes: int,
    ) -> asyncio.Future[FetchResults]:
        """Read what is committed.

        The future waits in the purgatory until there is enough, or for ``max_wait_ms``. Partitions are read
        in the order of ``partitions``: a caller that is fair rotates it. The first batch of the first
        partition that has one is given even if it is larger than ``max_bytes``.

        Args:
            partitions: What is wanted of each partition.
            max_wait_ms: How long the answer may be held; 0 answers at once.
            min_bytes: How much there must be, over all partitions, for an answer before ``max_wait_ms``.
            max_bytes: The most that the answer may hold, over all partitions.
        """
        ...

    def wait(
        self, partitions: Mapping[TopicPartition, FetchPartition], *, max_wait_ms: int, min_bytes: int
    ) -> asyncio.Future[None]:
        """Wait as ``fetch`` does, and read nothing: the caller reads many partitions in portions."""
        ...

    def read(
        self,
        partitions: Mapping[TopicPartition, FetchPartition],
        max_bytes: int,
        *,
        at_least_one: bool = True,
    ) -> FetchResults:
        """Read what is committed, at once.

        Args:
            partitions: What is wanted of each partition.
            max_bytes: The most that all of them give.
            at_least_one: Whether the first batch of the first partition that has one is given even if it is
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
    ) -> ListedOffset:
        """The offset of the first record at least as young as ``timestamp``, or the latest or earliest.

        With ``read_committed`` nothing at or above the last stable offset counts. A time below -2 answers
        ``UNSUPPORTED_VERSION``, as Kafka 4.0 does: -3 asks for the largest timestamp from version 7 on
        (KIP-734), and 2.8 would give the first record's offset instead.

        Answers ``OFFSET_NOT_AVAILABLE`` while a new leader does not know its high watermark yet (versions
        below 5 call it ``LEADER_NOT_AVAILABLE``: the handler translates).
        """
        ...

    def offsets_before(
        self, topic_partition: TopicPartition, timestamp: int, most: int, replica_id: int
    ) -> Sequence[Offset] | ErrorCode:
        """At most ``most`` offsets that were there at ``timestamp``, the latest first (ListOffsets 0)."""
        ...

    def end_offset_for(
        self,
        topic_partition: TopicPartition,
        leader_epoch: LeaderEpoch,
        current_leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH,
    ) -> EpochEnd:
        """Where ``leader_epoch`` ends in this leader's log (OffsetForLeaderEpoch, KIP-320)."""
        ...


@dataclass(frozen=True, slots=True)
class DescribedLog:
    """A log as DescribeLogDirs tells of it.

    Attributes:
        topic_partition: Whose log.
        size: Bytes of its segments.
        offset_lag: How far it lies behind the high watermark, or a future log behind the current one; -1
            where the replica is not online.
        is_future: Whether it will take the place of the current one.
    """

    topic_partition: TopicPartition
    size: int
    offset_lag: int
    is_future: bool = False


@dataclass(frozen=True, slots=True)
class DescribedLogDir:
    """A log directory as DescribeLogDirs tells of it.

    Attributes:
        path: Its absolute path.
        error: ``KAFKA_STORAGE_ERROR`` where it is offline.
        logs: The logs in it.
    """

    path: str
    error: ErrorCode
    logs: Sequence[DescribedLog] = ()


class LogDirAdmin(Protocol):
    """The log directories, for DescribeLogDirs and AlterReplicaLogDirs."""

    def describe(self) -> Sequence[DescribedLogDir]:
        """Every configured directory and the logs in it."""
        ...
