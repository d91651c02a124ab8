"""The produce path: append to the local leader's log, and with acks=all wait in the purgatory for the commit.

Source: Kafka's ``ReplicaManager.appendRecords`` and ``DelayedProduce`` of release 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from barnabas.broker.core.records.recompression import Recompression
from barnabas.broker.core.records.record_batch import HEADER_SIZE, Codec, parse_header
from barnabas.broker.core.records.refusals import Reason, Refusal
from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.disk.log.results import LogAppendInfo
from barnabas.broker.replicas.delayed_partitions import DelayedPartitions
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions
from barnabas.broker.replicas.interface import Appended, AppendResults, Bytes, Prepared, Prepares
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.model.topic_names import INTERNAL_TOPICS
from barnabas.cluster.runtime.turn import carried_out

ACKS_ALL = -1
"""The acks with which the answer waits for all in-sync replicas."""

_ACKS = frozenset((ACKS_ALL, 0, 1))

_EXPECTED = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    )
)
"""The errors that do not count as a failed produce (``ReplicaManager.appendToLocalLog``)."""

_COUNTED = {
    Reason.KEY_MISSING: "NoKeyCompactedTopicRecords",
    Reason.BAD_CRC: "InvalidMessageCrcRecords",
    Reason.NO_RECORDS: "InvalidOffsetOrSequenceRecords",
    Reason.BAD_COUNT: "InvalidOffsetOrSequenceRecords",
    Reason.CONTROL_FROM_CLIENT: "InvalidOffsetOrSequenceRecords",
    Reason.SEQUENCE_MISSING: "InvalidOffsetOrSequenceRecords",
}
"""The metrics of the refusals that have one (``LogValidator.validateBatch``, ``validateKey``)."""

MAX_RECOMPRESSIONS = 2
"""The number of batches recompressed at a time: each holds up to three times its unpacked size."""

OnExpired = Callable[[TopicPartition], None]
"""The function called for each partition of a produce that timed out before it was committed."""


class DelayedProduce(DelayedPartitions[Appended]):
    """An acks=all produce that waits until the high watermark passes what it appended.

    As in Kafka, each partition is in one of these cases:

    A. This broker no longer leads it: the error is the answer. B. The high watermark is below the required
    offset: it waits. C.1 The high watermark has passed it, and enough replicas are in sync: success. C.2 Too
    few replicas are in sync by now: ``NOT_ENOUGH_REPLICAS_AFTER_APPEND``.
    """

    __slots__ = ("_on_expired",)

    def __init__(
        self,
        hosted: HostedPartitions,
        results: AppendResults,
        waiting: dict[TopicPartition, Offset],
        answer: asyncio.Future[AppendResults],
        on_expired: OnExpired,
    ) -> None:
        """Create the operation; ``waiting`` has the required offsets, ``results`` the answers so far."""
        super().__init__(hosted, results, waiting, answer)
        self._on_expired = on_expired

    def reached(self, partition: HostedPartition, offset: Offset, so_far: Appended, /) -> Appended | None:
        """Return success, or the error of too few in-sync replicas; None below the high watermark."""
        replica = partition.replica
        if replica.high_watermark < offset:
            return None
        if len(replica.maximal_isr) >= partition.min_isr:
            return so_far
        return self.failed(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, so_far)

    def failed(self, error: ErrorCode, so_far: Appended, /) -> Appended:
        """Return the error, without the offset of the records."""
        return Appended(error, log_start_offset=so_far.log_start_offset)

    def timed_out(self, so_far: Appended) -> Appended:
        """Return a timeout, though the records may still be committed."""
        return self.failed(ErrorCode.REQUEST_TIMED_OUT, so_far)

    def on_expiration(self) -> None:
        """Count the partitions that were not committed in time."""
        for topic_partition in self.waiting:
            self._on_expired(topic_partition)


class Appender:
    """The appender of clients' batches."""

    def __init__(self, hosted: HostedPartitions, on_expired: OnExpired = lambda _: None) -> None:
        self._hosted = hosted
        self._on_expired = on_expired
        self._recompressing = asyncio.Semaphore(MAX_RECOMPRESSIONS)

    def prepare(self, batches: Mapping[TopicPartition, Bytes | None]) -> Prepares | None:
        """Begin long work, such as recompression, that must precede ``append``.

        Returns:
            A coroutine that runs in turns with other long work and returns the argument for ``append``; None
            if ``batches`` can be appended at once.
        """
        work: dict[TopicPartition, Recompression] = {}
        for topic_partition, records in batches.items():
            partition = self._hosted.led(topic_partition, UNKNOWN_LEADER_EPOCH)
            if isinstance(partition, ErrorCode):
                continue
            recompression = partition.log.recompression(records)
            if recompression is not None:
                work[topic_partition] = recompression
        return self._prepared(batches, work) if work else None

    async def _prepared(
        self, batches: Mapping[TopicPartition, Bytes | None], work: Mapping[TopicPartition, Recompression]
    ) -> Mapping[TopicPartition, Prepared]:
        prepared: dict[TopicPartition, Prepared] = dict(batches)
        for topic_partition, recompression in work.items():
            async with self._recompressing:
                prepared[topic_partition] = await carried_out(recompression)
        return prepared

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
        answer: asyncio.Future[AppendResults] = asyncio.get_running_loop().create_future()
        results: AppendResults = {}
        pending: dict[TopicPartition, Offset] = {}
        grown: list[HostedPartition] = []
        for topic_partition, records in batches.items():
            allowed = allow_internal_topics or topic_partition.topic not in INTERNAL_TOPICS
            objection = _objection(topic_partition, records, acks, allow_zstd=allow_zstd, allow_topic=allowed)
            if objection is None:
                written = self._write(topic_partition, records, acks)
            else:
                written = self._unless_unknown(topic_partition, objection)
            traffic = self._hosted.traffic
            if isinstance(written, Appended):
                # As in Kafka: clients could fill the memory with counts of invented names.
                if written.error is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    traffic.refused(topic_partition.topic, failed=written.error not in _EXPECTED)
                results[topic_partition] = written
                continue
            partition, info = written
            results[topic_partition] = Appended(
                ErrorCode.NONE, info.first_offset, info.log_append_time, info.log_start_offset
            )
            if acks == ACKS_ALL:
                pending[topic_partition] = info.required_offset
            traffic.appended(topic_partition.topic, info.last_offset - info.first_offset + 1, info.size)
            if not info.duplicate:
                grown.append(partition)
        # Notify only after all appends: a follower's fetch that one partition completes can then return all
        # batches.
        for partition in grown:
            self._hosted.grew(partition)
        if pending:
            produce = DelayedProduce(self._hosted, results, pending, answer, self._on_expired)
            self._hosted.produces.try_complete_else_watch(produce, tuple(pending), timeout_ms)
        else:
            answer.set_result(results)
        return answer

    def _unless_unknown(self, topic_partition: TopicPartition, objection: Appended) -> Appended:
        """Return the objection to a request, unless the partition is unknown, which comes first."""
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        is_unknown = self._hosted.led(topic_partition, UNKNOWN_LEADER_EPOCH) is unknown
        return Appended(unknown) if is_unknown else objection

    def _write(
        self, topic_partition: TopicPartition, records: Prepared, acks: int
    ) -> tuple[HostedPartition, LogAppendInfo] | Appended:
        partition = self._hosted.led(topic_partition, UNKNOWN_LEADER_EPOCH)
        if isinstance(partition, ErrorCode):
            return Appended(partition)
        log, replica = partition.log, partition.replica
        if acks == ACKS_ALL and partition.is_under_min_isr:
            return Appended(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                message=f"{topic_partition} has {len(replica.isr)} in-sync replicas; "
                f"acks=all needs {partition.min_isr} (min.insync.replicas)",
            )
        replica.before_append(log.log_end_offset)
        try:
            info = log.append_as_leader(records, replica.leader_epoch)
        except KafkaStorageError as error:
            self._hosted.disk_failed(error)
            return Appended(ErrorCode.KAFKA_STORAGE_ERROR, message=str(error))
        if isinstance(info, Refusal):
            if info.reason in _COUNTED:
                self._hosted.traffic.refused_records(_COUNTED[info.reason], len(info.faults) or 1)
            return Appended(
                info.error,
                log_start_offset=log.log_start_offset,
                record_faults=info.faults,
                message=str(info),
            )
        return partition, info


def _objection(
    topic_partition: TopicPartition, records: Prepared, acks: int, *, allow_zstd: bool, allow_topic: bool
) -> Appended | None:
    """Return why the request may not write at all, whichever broker leads the partition; None if it may."""
    if acks not in _ACKS:
        return Appended(ErrorCode.INVALID_REQUIRED_ACKS, message=f"acks is {acks}; expected -1, 0 or 1")
    if not allow_topic:
        message = f"clients may not write to {topic_partition.topic}"
        return Appended(ErrorCode.INVALID_TOPIC_EXCEPTION, message=message)
    if not allow_zstd and isinstance(records, bytes | bytearray | memoryview) and _is_zstd(records):
        message = "zstd needs Produce version 7 or higher"
        return Appended(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, message=message)
    return None


def _is_zstd(records: Bytes) -> bool:
    return len(records) >= HEADER_SIZE and parse_header(records).codec_number == Codec.ZSTD
