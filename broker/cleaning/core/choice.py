"""The choice of the log to compact next, of its dirty section, and of the segments to merge.

A log is a clean section that was compacted before, followed by a dirty section. The active segment of the
dirty section is never compacted, nor are records that are younger than ``min.compaction.lag.ms``, may belong
to an open transaction, or are not committed: a truncation may drop them, after the former values have gone.

Source: ``LogCleanerManager.scala`` (``grabFilthiestCompactedLog``, ``cleanableOffsets``,
``calculateCleanableBytes``, ``maxCompactionDelay``) and ``LogCleaner.scala`` (``groupSegmentsBySize``) of
Kafka 2.8; KIP-58, KIP-354. The last stable offset bounds a cleaning as in Kafka 3.0 (KAFKA-13194).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.cluster.model.ids import Offset

K = TypeVar("K")

MAX_OFFSETS = 2**31 - 1
"""The largest distance between two offsets of a segment."""


class SegmentAge(Protocol):
    """The facts about a segment that compaction decides by; those in the file are read when needed."""

    @property
    def base_offset(self) -> Offset:
        """The first offset that may lie in it."""
        ...

    @property
    def size(self) -> int:
        """The bytes of its batches."""
        ...

    @property
    def largest_timestamp(self) -> int:
        """Milliseconds since 1970 of the newest record; of the file's last change where there is none."""
        ...

    @property
    def first_timestamp(self) -> int:
        """The maximum timestamp of the first batch in milliseconds since 1970, -1 where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class CompactedLog:
    """The facts about a log that compaction decides by.

    Attributes:
        name: Its name in log lines.
        segments: All of its segments, the oldest first; the last one takes the appends.
        log_start_offset: The first offset that may be read.
        log_end_offset: The offset that the next record gets.
        last_stable_offset: The offset below which all is committed and no transaction is open.
        config: Its settings.
    """

    name: str
    segments: Sequence[SegmentAge]
    log_start_offset: Offset
    log_end_offset: Offset
    last_stable_offset: Offset
    config: LogConfig


class DirtySection(NamedTuple):
    """The dirty section of a log, and the correction of its checkpoint if one is needed.

    Attributes:
        offset: The first offset of the section.
        is_reset: Whether the checkpoint cannot be right, and must be written with this offset.
        warning: The log line about that, or None.
    """

    offset: Offset
    is_reset: bool = False
    warning: str | None = None


class LogToClean(NamedTuple):
    """The sizes of the clean and the dirty section of a log.

    Attributes:
        first_dirty_offset: The offset at which the dirty section begins.
        end_offset: The end of the part of it that may be compacted: the base offset of a segment.
        clean_bytes: The size of the segments that begin before the dirty section.
        cleanable_bytes: The size of the segments that may be compacted from the dirty section's start on.
        compaction_delay_ms: For how long ``max.compaction.lag.ms`` has been exceeded, else 0.
    """

    first_dirty_offset: Offset
    end_offset: Offset
    clean_bytes: int
    cleanable_bytes: int
    compaction_delay_ms: int

    @property
    def ratio(self) -> float:
        """The dirty share of what may be compacted."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0


def dirty_section(log: CompactedLog, checkpoint: Offset | None) -> DirtySection:
    """Return where the dirty section of ``log`` begins.

    Args:
        log: The log.
        checkpoint: Its row of ``cleaner-offset-checkpoint``; None where it has none.
    """
    start = log.log_start_offset
    if checkpoint is None:
        return DirtySection(start)
    if checkpoint < start:
        warning = (
            f"Resetting first dirty offset of {log.name} to log start offset {start} "
            f"since the checkpointed offset {checkpoint} is invalid."
        )
        # Retention moves the start of such a log all the time.
        is_expected = "delete" in log.config.cleanup_policy
        return DirtySection(start, is_reset=True, warning=None if is_expected else warning)
    if checkpoint > log.log_end_offset:
        warning = (
            f"The last checkpoint dirty offset for partition {log.name} is {checkpoint}, which is larger "
            f"than the log end offset {log.log_end_offset}. Resetting to the log start offset {start}."
        )
        return DirtySection(start, is_reset=True, warning=warning)
    return DirtySection(checkpoint)


def log_to_clean(log: CompactedLog, first_dirty: Offset, now_ms: int) -> LogToClean:
    """Return how dirty ``log`` is, and how much of it may be compacted.

    Args:
        log: The log.
        first_dirty: Where its dirty section begins.
        now_ms: Wall time in milliseconds.
    """
    # An active segment without batches leaves the last offset of the log to the one before it, which must
    # not be compacted then: a follower would never reach the log's end.
    count = len(log.segments) - 1
    while count and not log.segments[count].size:
        count -= 1
    sealed, active = log.segments[:count], log.segments[count]
    dirty = _from(sealed, first_dirty, active)
    end = max(first_dirty, _first_uncleanable(log, dirty, active, now_ms))
    end_offset = next(iter(_from(sealed, end, active)), active).base_offset
    cleanable = [segment for segment in dirty if segment.base_offset < end_offset]
    return LogToClean(
        first_dirty,
        end_offset,
        sum(segment.size for segment in log.segments if segment.base_offset < first_dirty),
        sum(segment.size for segment in cleanable),
        _compaction_delay_ms(log.config, dirty, now_ms),
    )


def filthiest(logs: Mapping[K, tuple[LogToClean, LogConfig]]) -> K | None:
    """Return the log to clean next: the highest ratio of those that are due, or None."""
    due = {
        key: each.ratio
        for key, (each, config) in logs.items()
        if each.cleanable_bytes
        and (each.compaction_delay_ms > 0 or each.ratio > config.min_cleanable_dirty_ratio)
    }
    return max(due, key=lambda key: due[key], default=None)


def _from(sealed: Sequence[SegmentAge], offset: Offset, active: SegmentAge) -> Sequence[SegmentAge]:
    """Return the sealed segments from that which covers ``offset`` on; none if the active one covers it."""
    if offset >= active.base_offset:
        return ()
    first = 0
    for index, segment in enumerate(sealed):
        if segment.base_offset > offset:
            break
        first = index
    return sealed[first:]


def _first_uncleanable(
    log: CompactedLog, dirty: Sequence[SegmentAge], active: SegmentAge, now_ms: int
) -> Offset:
    bounds = [active.base_offset, log.last_stable_offset]
    lag_ms = log.config.min_compaction_lag_ms
    if lag_ms > 0:
        young = (segment.base_offset for segment in dirty if segment.largest_timestamp > now_ms - lag_ms)
        bounds.append(next(young, active.base_offset))
    return min(bounds)


def _compaction_delay_ms(config: LogConfig, dirty: Sequence[SegmentAge], now_ms: int) -> int:
    clean_until_ms = now_ms - config.max_compaction_lag_ms
    if clean_until_ms <= 0:
        return 0  # No record is that old, and no file has to be read to find out.
    timestamps = (segment.first_timestamp for segment in dirty)
    earliest = min((each for each in timestamps if each > 0), default=clean_until_ms)
    return max(0, clean_until_ms - earliest)


class SegmentSize(NamedTuple):
    """A segment that is to be compacted.

    Attributes:
        base_offset: The first offset of the section.
        end_offset: The next segment's base offset.
        size: The bytes of its batches.
        index_size: The bytes of its offset index.
        time_index_size: The bytes of its time index.
        modified_ms: When its file was last written, in milliseconds since 1970.
    """

    base_offset: Offset
    end_offset: Offset
    size: int
    index_size: int
    time_index_size: int
    modified_ms: int


def groups(
    segments: Sequence[SegmentSize], segment_bytes: int, index_bytes: int
) -> list[tuple[SegmentSize, ...]]:
    """Put neighbours together that fit into one segment; each group becomes one.

    Args:
        segments: The segments to compact, the oldest first.
        segment_bytes: ``segment.bytes``.
        index_bytes: ``segment.index.bytes``.
    """
    made: list[list[SegmentSize]] = []
    size = index_size = time_index_size = 0
    for segment in segments:
        size += segment.size
        index_size += segment.index_size
        time_index_size += segment.time_index_size
        fits = (
            made
            and size <= segment_bytes
            and max(index_size, time_index_size) <= index_bytes
            and segment.end_offset - 1 - made[-1][0].base_offset <= MAX_OFFSETS
        )
        if fits:
            made[-1].append(segment)
        else:
            made.append([segment])
            size, index_size = segment.size, segment.index_size
            time_index_size = segment.time_index_size
    return [tuple(group) for group in made]


def delete_horizon_ms(segments: Sequence[SegmentSize], first_dirty: Offset, delete_retention_ms: int) -> int:
    """Return the time (ms since 1970) before which a segment was written whose tombstones are dropped.

    It is ``delete.retention.ms`` before the last segment of the clean section was written. Without a clean
    section it is 0: no tombstone goes.
    """
    clean = [segment.modified_ms for segment in segments if segment.base_offset < first_dirty]
    return clean[-1] - delete_retention_ms if clean else 0
