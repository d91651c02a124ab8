"""The path of DeleteRecords: the leader's log starts later, and one fetch later those of its followers do.

Source: Kafka's ``ReplicaManager.deleteRecords``, ``Partition.deleteRecordsOnLeader`` and
``DelayedDeleteRecords`` of release 2.8; KIP-107.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import structlog

from broker.core.purgatory import DelayedOperation
from broker.disk.errors import KafkaStorageError
from broker.replicas.hosted import HostedPartition, HostedPartitions
from broker.replicas.interface import Deleted, DeleteResults
from cluster.model.epochs import UNKNOWN_LEADER_EPOCH
from cluster.model.errors import ErrorCode
from cluster.model.ids import Offset, TopicPartition
from cluster.model.topic_names import INTERNAL_TOPICS

HIGH_WATERMARK = -1
"""The offset that asks for all that is committed to be deleted."""

_log = structlog.get_logger("kafka.log.Log")


class DelayedDeleteRecords(DelayedOperation):
    """A deletion that waits until every live replica's log starts late enough."""

    __slots__ = ("_answer", "_hosted", "_pending", "_results")

    def __init__(
        self,
        hosted: HostedPartitions,
        results: DeleteResults,
        pending: dict[TopicPartition, Offset],
        answer: asyncio.Future[DeleteResults],
    ) -> None:
        """``pending`` is where each log must start at every replica; ``results`` say success so far."""
        super().__init__()
        self._hosted = hosted
        self._results = results
        self._pending = pending
        self._answer = answer

    def is_satisfied(self) -> bool:
        """Whether no partition waits any more; those decided now are not looked at again."""
        for topic_partition, offset in tuple(self._pending.items()):
            outcome = self._outcome(topic_partition, offset)
            if outcome is not None:
                del self._pending[topic_partition]
                self._results[topic_partition] = outcome
        return not self._pending

    def _outcome(self, topic_partition: TopicPartition, offset: Offset) -> Deleted | None:
        partition = self._hosted.led(topic_partition, UNKNOWN_LEADER_EPOCH)
        if isinstance(partition, ErrorCode):
            return Deleted(partition)
        low_watermark = self._hosted.low_watermark(partition)
        return Deleted(ErrorCode.NONE, low_watermark) if low_watermark >= offset else None

    def on_complete(self) -> None:
        """Answer; what is still pending has run out of time."""
        for topic_partition in self._pending:
            reached = self._results[topic_partition].low_watermark
            self._results[topic_partition] = Deleted(ErrorCode.REQUEST_TIMED_OUT, reached)
        if not self._answer.done():
            self._answer.set_result(self._results)

    def on_expiration(self) -> None:
        """Kafka counts nothing here."""


class RecordDeleter:
    """Deletes records of the partitions that this broker leads.

    Args:
        hosted: The partitions.
    """

    def __init__(self, hosted: HostedPartitions) -> None:
        self._hosted = hosted

    def delete(
        self, offsets: Mapping[TopicPartition, Offset], timeout_ms: int
    ) -> asyncio.Future[DeleteResults]:
        """Let the logs start at ``offsets``; see ``interface.Deletes.delete``."""
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
        """Have the local log start at ``offset``; the partition and where that is, or why not."""
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
            _log.info(
                f"[Log partition={topic_partition}, dir={log.directory.parent}] "
                f"Incremented log start offset to {wanted} due to client delete records request"
            )
            self._hosted.log_start_rose(partition)
        return partition, wanted
