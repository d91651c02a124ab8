"""The writes of the coordinator to ``__consumer_offsets``, and what their errors mean to a group's clients.

Source: ``GroupMetadataManager.appendForGroup``, ``storeOffsets`` and ``storeGroup`` of Kafka 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import MappingProxyType

from barnabas.broker.core.group.coordinator_partition import OFFSETS_TOPIC
from barnabas.broker.core.group.settings import GroupSettings
from barnabas.broker.core.records.batch_builder import BatchBuilder
from barnabas.broker.core.records.record_batch import Codec
from barnabas.broker.replicas.append import Appender
from barnabas.broker.replicas.hosted import HostedPartitions
from barnabas.broker.replicas.interface import UNKNOWN_OFFSET, Appended, AppendResults
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.runtime.wall_clock import wall_ms

OnAppended = Callable[[ErrorCode, Offset], None]
"""The callback of an append: it gets the error and the offset of the batch, -1 after an error."""

_NO_ACKS = 0

COMMIT_ERRORS: Mapping[ErrorCode, ErrorCode] = MappingProxyType(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
        ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
        ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        ErrorCode.INVALID_FETCH_SIZE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    }
)
"""The error that a commit is answered with for an error of the append; other errors pass through."""


class GroupLog:
    """Appends to the partitions of ``__consumer_offsets`` that this broker leads.

    Args:
        appends: The produce path of the replicas.
        hosted: The partitions.
        settings: ``offsets.commit.*`` and the codec.
    """

    def __init__(self, appends: Appender, hosted: HostedPartitions, settings: GroupSettings) -> None:
        self._appends = appends
        self._hosted = hosted
        self._settings = settings
        self._codec = Codec(settings.topic_codec)

    def builder(self, partition: int) -> BatchBuilder:
        """Return an empty batch, which may become as large as the partition takes."""
        hosted = self._hosted.get(TopicPartition(OFFSETS_TOPIC, partition))
        # A partition that is gone refuses the append, whatever the size.
        if hosted is None:
            return BatchBuilder(wall_ms(), 0)
        config = hosted.log.config
        return BatchBuilder(wall_ms(), min(config.max_message_bytes, config.segment_bytes))

    def append(self, partition: int, batch: BatchBuilder, on_appended: OnAppended) -> None:
        """Append a batch as ``offsets.commit.required.acks`` says, within ``offsets.commit.timeout.ms``."""
        self._append(partition, batch, self._settings.commit_required_acks, on_appended)

    def append_tombstones(self, partition: int, batch: BatchBuilder) -> None:
        """Append a batch of tombstones without waiting for replicas.

        Lost ones are written again after loading.
        """
        self._append(partition, batch, _NO_ACKS, lambda _error, _offset: None)

    def _append(self, partition: int, batch: BatchBuilder, acks: int, on_appended: OnAppended) -> None:
        topic_partition = TopicPartition(OFFSETS_TOPIC, partition)
        leads = self._hosted.led(topic_partition, UNKNOWN_LEADER_EPOCH)
        if isinstance(leads, ErrorCode):
            on_appended(leads, UNKNOWN_OFFSET)
            return

        def appended(future: asyncio.Future[AppendResults]) -> None:
            result: Appended = future.result()[topic_partition]
            on_appended(result.error, result.base_offset)

        future = self._appends.append(
            {topic_partition: batch.build(self._codec)},
            acks=acks,
            timeout_ms=self._settings.commit_timeout_ms,
            allow_internal_topics=True,
        )
        if future.done():
            appended(future)
        else:
            future.add_done_callback(appended)
