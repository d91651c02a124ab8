"""The plan of a cleaning, as data for the process that carries it out."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.cleaning.core.choice import CompactedLog, LogToClean, SegmentSize
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.record_batch import BatchHeader
from barnabas.broker.core.records.transactions import AbortedTransaction
from barnabas.broker.disk.log.log import Log
from barnabas.cluster.model.ids import Offset


class CleanerMemory(NamedTuple):
    """The resources that one cleaner may use.

    Attributes:
        map_bytes: For the offset map.
        load_factor: The share of the map's slots that may be used.
        buffer_bytes: The bytes read at once.
    """

    map_bytes: int
    load_factor: float
    buffer_bytes: int


class LastOfProducer(NamedTuple):
    """The newest batch of an active producer.

    Attributes:
        producer_id: The producer.
        epoch: The producer's epoch.
        last_offset: The last offset of its newest data batch; -1 if only markers are known.
    """

    producer_id: int
    epoch: int
    last_offset: int

    def is_last(self, header: BatchHeader) -> bool:
        """Return whether a batch of this producer is that one."""
        if self.last_offset >= 0:
            return header.last_offset == self.last_offset
        return header.is_control and header.producer_epoch == self.epoch


@dataclass(frozen=True, slots=True)
class CleaningJob:
    """The plan of a cleaning.

    Attributes:
        directory: The partition's directory.
        segments: The segments up to ``end_offset``, the oldest first.
        first_dirty_offset: The offset at which the dirty section begins.
        end_offset: The end of the part of it that is compacted now.
        producers: The active producers.
        aborted_later: The aborted transactions with records below ``end_offset`` whose markers lie in later
            segments. They are below the high watermark, or ``end_offset`` would not lie behind their records.
        config: The log's settings.
        memory: The resources that may be used.
    """

    directory: Path
    segments: tuple[SegmentSize, ...]
    first_dirty_offset: Offset
    end_offset: Offset
    producers: tuple[LastOfProducer, ...]
    aborted_later: tuple[AbortedTransaction, ...]
    config: LogConfig
    memory: CleanerMemory


def facts_of(log: Log, high_watermark: Offset) -> CompactedLog:
    """Return the facts from which the cleaner decides whether, and how far, it compacts a log."""
    return CompactedLog(
        str(log.topic_partition),
        log.compaction.segments,
        log.log_start_offset,
        log.log_end_offset,
        log.last_stable_offset(high_watermark),
        log.config,
    )


def plan(log: Log, due: LogToClean, memory: CleanerMemory) -> CleaningJob:
    """Plan the cleaning of a log up to ``due.end_offset``.

    Raises:
        KafkaStorageError: The disk refused, or the log is closed.
    """
    end_offset, segments = due.end_offset, log.compaction.segments
    ends = [each.base_offset for each in segments[1:]]
    try:
        sizes = tuple(
            SegmentSize(
                each.base_offset,
                end,
                each.size,
                each.offset_index.size,
                each.time_index.size,
                each.modified_ms,
            )
            for each, end in zip(segments, ends, strict=False)
            if each.base_offset < end_offset
        )
    except OSError as error:
        raise log.storage_error("cleaning", error) from error
    return CleaningJob(
        directory=log.directory,
        segments=sizes,
        first_dirty_offset=due.first_dirty_offset,
        end_offset=end_offset,
        producers=tuple(starmap(LastOfProducer, log.producers.snapshot().last_offsets())),
        aborted_later=tuple(log.aborted_transactions(end_offset, end_offset)),
        config=log.config,
        memory=memory,
    )
