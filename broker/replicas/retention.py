"""The deletion of old segments, at leaders and followers each by their own log.

A follower also adopts its leader's log start offset, which each fetch answer carries. Source:
``LogManager.cleanupLogs`` of Kafka 2.8.
"""

from __future__ import annotations

import asyncio
from itertools import groupby

import structlog

from barnabas.broker.core.retention import Breach
from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions
from barnabas.cluster.runtime.turn import Turn

_log = structlog.get_logger("kafka.log.Log")

INITIAL_DELAY_MS = 30_000
"""The delay of the first check after the start, unless the interval is shorter (``InitialTaskDelayMs``)."""

_WHY = {
    Breach.RETENTION_MS: "retention time {0.retention_ms}ms breach",
    Breach.RETENTION_BYTES: "retention size {0.retention_bytes} breach",
    Breach.LOG_START_OFFSET: "log start offset breach",
}
"""The reasons in the words of Kafka's log, with placeholders for the log's settings."""


class LogRetention:
    """The periodic check of every log of this broker.

    Args:
        hosted: The partitions.
    """

    def __init__(self, hosted: HostedPartitions) -> None:
        self._hosted = hosted

    async def keep(self, interval_ms: int) -> None:
        """Delete old segments every ``interval_ms``; runs until cancelled."""
        await asyncio.sleep(min(interval_ms, INITIAL_DELAY_MS) / 1000)
        while True:
            await self.delete_old_segments()
            await asyncio.sleep(interval_ms / 1000)

    async def delete_old_segments(self) -> None:
        """Delete the segments that are due, partition by partition; other work runs in between.

        Compacted logs are left to the log cleaner, which must not read a segment while it is deleted.
        """
        turn = Turn()
        for partition in tuple(self._hosted.all):
            is_hosted = self._hosted.get(partition.topic_partition) is partition
            if is_hosted and not partition.log.config.is_compacted:
                self.delete_of(partition)
            await turn.yield_if_long()

    def delete_of(self, partition: HostedPartition) -> None:
        """Delete what is due of one partition."""
        log = partition.log
        try:
            gone = log.delete_old_segments(partition.replica.high_watermark)
        except KafkaStorageError as error:
            self._hosted.disk_failed(error)
            return
        if not gone:
            return
        for breach, deletions in groupby(gone, key=lambda deletion: deletion.breach):
            offsets = ",".join(str(base_offset) for base_offset, _ in deletions)
            _log.info(
                f"[Log partition={partition.topic_partition}, dir={log.directory.parent}] "
                f"Deleting segments with base offsets [{offsets}] due to {_WHY[breach].format(log.config)}; "
                f"the log starts at offset {log.log_start_offset}"
            )
        self._hosted.log_start_rose(partition)
