"""The read paths for consumers: fetch below the high watermark, offsets by timestamp, ends of leader epochs.

Source: Kafka's ``ReplicaManager.fetchMessages``, ``DelayedFetch`` and ``Partition.fetchOffsetForTimestamp``
of release 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from barnabas.broker.core.offsets_before import offsets_before
from barnabas.broker.core.purgatory import DelayedOperation
from barnabas.broker.core.records.producer_state import ProducerSnapshot
from barnabas.broker.core.replication.divergence import Agreement, agreement
from barnabas.broker.disk.errors import CorruptLogError, KafkaStorageError
from barnabas.broker.disk.log.lookup import offset_at, segment_times
from barnabas.broker.disk.log.results import OffsetOutOfRange, TimestampAndOffset
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions
from barnabas.broker.replicas.interface import (
    CONSUMER,
    DEBUGGING_CONSUMER,
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    NO_PREFERRED_REPLICA,
    EpochEnd,
    Fetched,
    FetchPartition,
    FetchResults,
    ListedOffset,
    Records,
)
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, Offset, TopicPartition
from barnabas.cluster.runtime.turn import carried_out, paced
from barnabas.cluster.runtime.wall_clock import wall_ms

ZSTD = "zstd"
"""The ``compression.type`` whose topics cannot be fetched before Fetch 10, whatever their batches are."""

MAX_LOOKUPS = 2
"""The number of lookups by time that open batches at a time: each holds an unpacked batch."""


class DelayedFetch(DelayedOperation):
    """A long poll that waits for enough committed data, or for a reason to answer without.

    Args:
        reader: Says whether there is enough.
        awaited: The partitions that complete the poll: those that were known when it began.
        min_bytes: The bytes that are enough.
        ended: Done when the poll ends; cancelled if its client has gone.
    """

    __slots__ = ("_awaited", "_ended", "_min_bytes", "_reader")

    def __init__(
        self,
        reader: Reader,
        awaited: Mapping[TopicPartition, FetchPartition],
        min_bytes: int,
        ended: asyncio.Future[None],
    ) -> None:
        super().__init__()
        self._reader = reader
        self._awaited = awaited
        self._min_bytes = min_bytes
        self._ended = ended

    def is_satisfied(self) -> bool:
        """Return whether there is enough to read, or a partition has an error."""
        return self._ended.done() or self._reader.has_enough(self._awaited, self._min_bytes)

    def on_complete(self) -> None:
        """End the poll."""
        if not self._ended.done():
            self._ended.set_result(None)

    def on_expiration(self) -> None:
        """Count a fetch that timed out before there was enough."""
        self._reader.on_expired()


class Reader:
    """The reader for consumers, who see nothing at or above the high watermark.

    Attributes:
        on_expired: Called for each fetch that timed out before there was enough.
    """

    def __init__(self, hosted: HostedPartitions, on_expired: Callable[[], None] = lambda: None) -> None:
        self._hosted = hosted
        self.on_expired = on_expired
        self._looking_up = asyncio.Semaphore(MAX_LOOKUPS)

    async def wait(
        self, partitions: Mapping[TopicPartition, FetchPartition], *, max_wait_ms: int, min_bytes: int
    ) -> None:
        """Wait until a fetch of ``partitions`` is due; the caller reads then, many partitions in portions.

        Args:
            partitions: The fetch of each partition.
            max_wait_ms: The longest wait; 0 for none.
            min_bytes: The bytes, over all partitions, that end the wait before ``max_wait_ms``.
        """
        if max_wait_ms <= 0:
            return
        awaited = await self._known(partitions)
        if not awaited:
            return
        enough: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        fetch = DelayedFetch(self, awaited, min_bytes, enough)
        if not self._hosted.fetches.try_complete_else_watch(fetch, awaited, max_wait_ms):
            # The client decides how long a fetch waits, up to 24 days. Kafka keeps the operation of a client
            # that has gone all that time.
            enough.add_done_callback(lambda _: fetch.force_complete())
        await enough

    async def _known(
        self, partitions: Mapping[TopicPartition, FetchPartition]
    ) -> Mapping[TopicPartition, FetchPartition]:
        """Return the partitions that the metadata has; they alone decide how long the fetch waits.

        A consumer that still names a deleted topic would otherwise fetch without a pause. A partition that
        becomes unknown later completes the fetch (``KafkaApis.handleFetchRequest``, ``DelayedFetch``).
        """
        unknown = {tp async for tp in paced(partitions) if self._is_unknown(tp)}
        if not unknown:
            return partitions
        return {tp: each async for tp, each in paced(partitions.items()) if tp not in unknown}

    def _is_unknown(self, topic_partition: TopicPartition) -> bool:
        hosted = self._hosted
        if hosted.get(topic_partition) is not None:
            return False
        return hosted.absence(topic_partition) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def has_enough(self, partitions: Mapping[TopicPartition, FetchPartition], min_bytes: int) -> bool:
        """Return whether an answer is due: an error, a divergence, or ``min_bytes`` over all partitions."""
        available = 0
        for topic_partition, wanted in partitions.items():
            partition = self._readable(topic_partition, wanted)
            if isinstance(partition, ErrorCode) or _objection(partition, wanted) is not None:
                return True
            if self._preferred(partition, wanted) is not None:
                return True
            end = _end_of(partition, read_committed=wanted.read_committed)
            if wanted.offset < end:
                if not partition.log.in_one_segment(wanted.offset, end):
                    return True  # the answer ends with the segment, whatever follows
                try:
                    readable = partition.log.bytes_between(wanted.offset, end)
                except KafkaStorageError as error:
                    self._hosted.disk_failed(error)
                    return True
                available += min(readable, wanted.max_bytes)
        return available >= min_bytes

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
        results: FetchResults = {}
        remaining = max_bytes
        nothing_yet = at_least_one
        for topic_partition, wanted in partitions.items():
            fetched = self._read_one(topic_partition, wanted, remaining, nothing_yet=nothing_yet)
            results[topic_partition] = fetched
            if fetched.records:
                nothing_yet = False
                remaining -= len(fetched.records)
        return results

    def _read_one(
        self, topic_partition: TopicPartition, wanted: FetchPartition, remaining: int, *, nothing_yet: bool
    ) -> Fetched:
        partition = self._readable(topic_partition, wanted)
        if isinstance(partition, ErrorCode):
            return Fetched(partition)
        objection = _objection(partition, wanted)
        if objection is not None:
            return objection
        end = _end_of(partition, read_committed=wanted.read_committed)
        limit = max(min(wanted.max_bytes, remaining), 0)
        records: Records = b""
        aborted, log = [], partition.log
        preferred = self._preferred(partition, wanted)
        if preferred is None and wanted.offset < end and (limit or nothing_yet):
            try:
                found = log.find(wanted.offset, limit, end, min_one_batch=nothing_yet)
                if wanted.read_committed and not isinstance(found, OffsetOutOfRange) and found.records:
                    aborted = log.aborted_transactions(wanted.offset, found.next_offset)
            except KafkaStorageError as error:
                self._hosted.disk_failed(error)
                return Fetched(error.error)
            except CorruptLogError as error:
                self._hosted.on_corrupt(partition, error)
                return Fetched(error.error)
            if isinstance(found, OffsetOutOfRange):
                return Fetched(ErrorCode.OFFSET_OUT_OF_RANGE)
            if _is_replica(partition, wanted.replica_id):
                records = found.records
        high_watermark = partition.replica.high_watermark
        stable = log.last_stable_offset(high_watermark)
        return Fetched(
            ErrorCode.NONE,
            records,
            high_watermark,
            stable,
            log.log_start_offset,
            aborted_transactions=aborted,
            preferred_read_replica=NO_PREFERRED_REPLICA if preferred is None else preferred,
        )

    def _readable(
        self, topic_partition: TopicPartition, wanted: FetchPartition
    ) -> HostedPartition | ErrorCode:
        """Return the partition, if this broker serves such a fetch of it; else what to answer."""
        find = self._hosted.readable if wanted.may_read_follower else self._hosted.led
        return find(topic_partition, wanted.current_leader_epoch)

    def _preferred(self, partition: HostedPartition, wanted: FetchPartition) -> BrokerId | None:
        """Return the replica that the consumer should read from instead of this leader, or None."""
        if not wanted.rack or wanted.replica_id >= 0:
            return None
        return self._hosted.preferred_replica(partition, wanted.rack, wanted.offset)

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
        partition = self._listed_by(topic_partition, current_leader_epoch, replica_id)
        if isinstance(partition, ErrorCode):
            return ListedOffset(partition)
        if timestamp in {EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP}:
            log = partition.log
            return ListedOffset(ErrorCode.NONE, offset=log.log_start_offset, leader_epoch=log.epoch_at_start)
        if timestamp != LATEST_TIMESTAMP:
            found = await self._look_up(partition, timestamp, current_leader_epoch, replica_id)
            if isinstance(found, ErrorCode):
                return ListedOffset(found)
            end = _listed_end(partition, replica_id, read_committed=read_committed)
            if found is not None and found.offset < end:
                return ListedOffset(ErrorCode.NONE, found.timestamp, found.offset, found.leader_epoch)
        replica, end = partition.replica, _listed_end(partition, replica_id, read_committed=read_committed)
        # A new leader's high watermark may lag behind its predecessor's until its followers have fetched. Its
        # offset could then send a consumer backwards.
        if replica_id == CONSUMER and replica.high_watermark < replica.epoch_start_offset:
            return ListedOffset(ErrorCode.OFFSET_NOT_AVAILABLE)
        if timestamp == LATEST_TIMESTAMP:
            return ListedOffset(ErrorCode.NONE, offset=end, leader_epoch=replica.leader_epoch)
        return ListedOffset(ErrorCode.NONE)

    def _listed_by(
        self, topic_partition: TopicPartition, current_leader_epoch: LeaderEpoch, replica_id: int
    ) -> HostedPartition | ErrorCode:
        """Return the partition whose offsets ``replica_id`` may ask for, or the error."""
        if replica_id == DEBUGGING_CONSUMER:
            return self._hosted.readable(topic_partition, current_leader_epoch)
        return self._hosted.led(topic_partition, current_leader_epoch)

    async def _look_up(
        self,
        partition: HostedPartition,
        timestamp: int,
        current_leader_epoch: LeaderEpoch,
        replica_id: int,
    ) -> TimestampAndOffset | ErrorCode | None:
        """Return the first record of a time, or an error.

        While the lookup runs this broker may lose the leadership and close the log.
        """
        found: TimestampAndOffset | CorruptLogError | KafkaStorageError | None
        async with self._looking_up:
            try:
                found = await carried_out(offset_at(partition.log, timestamp))
            except (CorruptLogError, KafkaStorageError) as error:
                found = error
        again = self._listed_by(partition.topic_partition, current_leader_epoch, replica_id)
        if again is not partition:
            return again if isinstance(again, ErrorCode) else ErrorCode.NOT_LEADER_OR_FOLLOWER
        if isinstance(found, CorruptLogError):
            self._hosted.on_corrupt(partition, found)
            return found.error
        if isinstance(found, KafkaStorageError):
            self._hosted.disk_failed(found)
            return found.error
        return found

    def offsets_before(
        self, topic_partition: TopicPartition, timestamp: int, most: int, replica_id: int
    ) -> Sequence[Offset] | ErrorCode:
        """Return at most ``most`` offsets that existed at ``timestamp``, the latest first (ListOffsets 0)."""
        partition = self._listed_by(topic_partition, UNKNOWN_LEADER_EPOCH, replica_id)
        if isinstance(partition, ErrorCode):
            return partition
        if timestamp < EARLIEST_TIMESTAMP:
            return ErrorCode.UNSUPPORTED_VERSION
        try:
            rows = segment_times(partition.log, wall_ms())
        except KafkaStorageError as error:
            self._hosted.disk_failed(error)
            return error.error
        bound = partition.replica.high_watermark if replica_id == CONSUMER else None
        return offsets_before(rows, timestamp, most, bound)

    def end_offset_for(
        self,
        topic_partition: TopicPartition,
        leader_epoch: LeaderEpoch,
        current_leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH,
    ) -> EpochEnd:
        """Return the end of ``leader_epoch`` in this leader's log (OffsetForLeaderEpoch, KIP-320)."""
        partition = self._hosted.led(topic_partition, current_leader_epoch)
        if isinstance(partition, ErrorCode):
            return EpochEnd(partition)
        epoch, end_offset = partition.log.end_offset_for(leader_epoch)
        return EpochEnd(ErrorCode.NONE, epoch, Offset(end_offset))

    def producers(self, topic_partition: TopicPartition) -> ProducerSnapshot | ErrorCode:
        """Return the idempotent producers that a replica's log knows, leader or not (DescribeProducers)."""
        partition = self._hosted.get(topic_partition)
        if partition is None:
            return self._hosted.absence(topic_partition)
        return partition.log.producers.snapshot()


def _listed_end(partition: HostedPartition, replica_id: int, *, read_committed: bool) -> Offset:
    """Return the end of what is listed: the log end offset for all replica ids but that of consumers.

    Source: ``Partition.fetchOffsetForTimestamp``.
    """
    if replica_id != CONSUMER:
        return partition.log.log_end_offset
    return _end_of(partition, read_committed=read_committed)


def _end_of(partition: HostedPartition, *, read_committed: bool) -> Offset:
    """Return the end of what a consumer may see: the high watermark, or the last stable offset."""
    high_watermark = partition.replica.high_watermark
    return partition.log.last_stable_offset(high_watermark) if read_committed else high_watermark


def _is_replica(partition: HostedPartition, replica_id: int) -> bool:
    """Return whether the fetcher may have records: a broker that is no replica gets none, without an error.

    Source: ``ReplicaManager.updateFollowerFetchState``. A broker that is a replica gets what consumers get:
    followers fetch over gRPC, and a fetch here moves no high watermark.
    """
    return replica_id < 0 or replica_id in partition.replica.assignment.replicas


def _objection(partition: HostedPartition, wanted: FetchPartition) -> Fetched | None:
    """Return the answer to a fetch that gets no records, though this broker leads; else None."""
    log = partition.log
    if not wanted.allow_zstd and log.config.compression_type == ZSTD:
        return Fetched(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    leader_end = log.end_offset_for(wanted.last_fetched_epoch)
    match agreement(
        leader_end, wanted.last_fetched_epoch, wanted.offset, log.log_start_offset, log.log_end_offset
    ):
        case Agreement.OUT_OF_RANGE:
            return Fetched(ErrorCode.OFFSET_OUT_OF_RANGE)
        case Agreement.DIVERGES:
            high_watermark = partition.replica.high_watermark
            return Fetched(
                ErrorCode.NONE,
                high_watermark=high_watermark,
                last_stable_offset=log.last_stable_offset(high_watermark),
                log_start_offset=log.log_start_offset,
                diverging_epoch=leader_end,
            )
        case Agreement.AGREES:
            return None
