"""The path of DeleteRecords: the leader raises its log start, and the followers do so with their next fetch.

Source: Kafka's ``ReplicaManager.deleteRecords``, ``Partition.deleteRecordsOnLeader`` and
``DelayedDeleteRecords`` of release 2.8; KIP-107.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import structlog

from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.replicas.delayed_partitions import DelayedPartitions
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions
from barnabas.broker.replicas.interface import Deleted, DeleteResults
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.model.topic_names import INTERNAL_TOPICS
from barnabas.cluster.runtime.line_limit import LINES

HIGH_WATERMARK = -1
"""The offset that stands for the high watermark."""

_log = structlog.get_logger("kafka.log.Log")


class DelayedDeleteRecords(DelayedPartitions[Deleted]):
    """A deletion that waits until every live replica's log starts at the offset or later."""

    __slots__ = ()

    def reached(self, partition: HostedPartition, offset: Offset, _so_far: Deleted, /) -> Deleted | None:
        """Return the low watermark once it is ``offset`` or later; else None."""
        low_watermark = self._hosted.low_watermark(partition)
        return Deleted(ErrorCode.NONE, low_watermark) if low_watermark >= offset else None

    def failed(self, error: ErrorCode, _so_far: Deleted, /) -> Deleted:
        """Return the error, without a low watermark."""
        return Deleted(error)

    def timed_out(self, so_far: Deleted) -> Deleted:
        """Return a timeout, with the low watermark of the request's arrival."""
        return Deleted(ErrorCode.REQUEST_TIMED_OUT, so_far.low_watermark)

    def on_expiration(self) -> None:
        """Do nothing: Kafka has no metric for it."""


class RecordDeleter:
    """The deletion of records in partitions that this broker leads.

    Args:
        hosted: The partitions.
    """

    def __init__(self, hosted: HostedPartitions) -> None:
        self._hosted = hosted

    def delete(
        self, offsets: Mapping[TopicPartition, Offset], timeout_ms: int
    ) -> asyncio.Future[DeleteResults]:
        """Raise the log starts of local leaders to ``offsets``; -1 stands for the high watermark.

        The future waits in the purgatory until no live replica's log starts earlier, or for ``timeout_ms``
        (``REQUEST_TIMED_OUT``; the leader's log starts there anyway). It never raises for one partition: each
        has its error.
        """
        answer: asyncio.Future[DeleteResults] = asyncio.get_running_loop().create_future()
        results: DeleteResults = {}
        pending: dict[TopicPartition, Offset] = {}
        for topic_partition, offset in offsets.items():
            started = self._delete(topic_partition, offset)
            if isinstance(started, ErrorCode):
                results[topic_partition] = Deleted(started)
                continue
            partition, wanted = started
            results[topic_partition] = Deleted(ErrorCode.NONE, self._hosted.low_watermark(partition))
            pending[topic_partition] = wanted
        operation = DelayedDeleteRecords(self._hosted, results, pending, answer)
        self._hosted.deletes.try_complete_else_watch(operation, tuple(pending), timeout_ms)
        return answer

    def _delete(
        self, topic_partition: TopicPartition, offset: Offset
    ) -> tuple[HostedPartition, Offset] | ErrorCode:
        """Raise the local log's start to ``offset``; return the partition and the new start, or the error."""
        partition = self._hosted.led(topic_partition, UNKNOWN_LEADER_EPOCH)
        if partition is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return partition
        if topic_partition.topic in INTERNAL_TOPICS:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if isinstance(partition, ErrorCode):
            return partition
        log, high_watermark = partition.log, partition.replica.high_watermark
        if "delete" not in log.config.cleanup_policy:
            return ErrorCode.POLICY_VIOLATION
        wanted = high_watermark if offset == HIGH_WATERMARK else offset
        if not 0 <= wanted <= high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        try:
            rose = log.raise_log_start(wanted)
        except KafkaStorageError as error:
            self._hosted.disk_failed(error)
            return ErrorCode.KAFKA_STORAGE_ERROR
        if rose:
            if LINES.allow(f"log start offset due to client delete records request: {topic_partition}"):
                _log.info(
                    f"[Log partition={topic_partition}, dir={log.directory.parent}] "
                    f"Incremented log start offset to {wanted} due to client delete records request"
                )
            self._hosted.log_start_rose(partition)
        return partition, wanted
