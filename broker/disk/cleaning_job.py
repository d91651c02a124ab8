"""The task of a compaction and its figures, as data that another process can be sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from barnabas.broker.core.compaction import SegmentSize
from barnabas.broker.core.record_batch import BatchHeader
from barnabas.broker.core.transactions import AbortedTransaction
from barnabas.cluster.model.ids import Offset


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
    """The task of a compaction, as numbers and text, so that it can be sent to another process.

    Attributes:
        directory: The partition's directory.
        segments: The segments up to ``end_offset``, the oldest first.
        first_dirty_offset: The offset at which the dirty section begins.
        end_offset: The end of the part of it that is compacted now.
        producers: The active producers.
        aborted_later: The aborted transactions with records below ``end_offset`` whose markers lie in later
            segments.
        delete_retention_ms: ``delete.retention.ms``.
        segment_bytes: ``segment.bytes``.
        segment_index_bytes: ``segment.index.bytes``.
        index_interval_bytes: ``index.interval.bytes``.
        map_bytes: Memory for the offset map.
        load_factor: ``log.cleaner.io.buffer.load.factor``.
        buffer_bytes: The bytes read at once.
    """

    directory: str
    segments: tuple[SegmentSize, ...]
    first_dirty_offset: Offset
    end_offset: Offset
    producers: tuple[LastOfProducer, ...]
    aborted_later: tuple[AbortedTransaction, ...]
    delete_retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    map_bytes: int
    load_factor: float
    buffer_bytes: int

    @classmethod
    def of(cls, values: dict[str, Any]) -> CleaningJob:
        """Return the job that ``dataclasses.asdict`` and JSON have encoded."""
        values["segments"] = tuple(SegmentSize(*each) for each in values["segments"])
        values["producers"] = tuple(LastOfProducer(*each) for each in values["producers"])
        values["aborted_later"] = tuple(AbortedTransaction(*each) for each in values["aborted_later"])
        return cls(**values)


@dataclass(slots=True)
class CleaningStats:
    """The figures of a cleaning, as Kafka logs them (``CleanerStats``).

    Attributes:
        map_bytes_read: Bytes read for the offset map.
        bytes_read: Bytes read to be rewritten.
        bytes_written: Bytes of the new segments.
        messages_read: Records read to be rewritten.
        messages_written: Records of the new segments.
        invalid_messages: Records without a key, which were dropped.
        utilization: The share of the offset map that was in use.
        index_s: How long the offset map took, in seconds.
        elapsed_s: How long all of it took, in seconds.
    """

    map_bytes_read: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    messages_read: int = 0
    messages_written: int = 0
    invalid_messages: int = 0
    utilization: float = 0.0
    index_s: float = 0.0
    elapsed_s: float = 0.0
