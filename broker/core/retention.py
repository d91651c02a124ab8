"""The rules by which a log's oldest segments are deleted: age, size, log start.

Sources: ``Log.deleteOldSegments`` and ``deletableSegments`` of Kafka 2.8; KIP-107 (log start offset).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.cluster.model.ids import Offset

DELETE = "delete"
"""The ``cleanup.policy`` with which age and size count; the log start counts with any."""

FOR_EVER = -1
"""The ``retention.ms`` and ``retention.bytes`` that keep everything."""


class SegmentFacts(NamedTuple):
    """The facts about a segment that retention needs.

    Attributes:
        base_offset: The first offset that may lie in it.
        size: Bytes of its batches.
        largest_timestamp: Milliseconds since 1970 of its newest record, or of its file's last change if its
            records have no timestamps.
    """

    base_offset: Offset
    size: int
    largest_timestamp: int


@dataclass(frozen=True, slots=True)
class LogFacts:
    """The facts about a log that retention needs.

    Attributes:
        segments: All of its segments, the oldest first; the last one is appended to.
        log_start_offset: The first offset that may be read.
        high_watermark: Nothing at or above it is deleted: it may not be on every in-sync replica.
        log_end_offset: The offset that the next record gets.
    """

    segments: Sequence[SegmentFacts]
    log_start_offset: Offset
    high_watermark: Offset
    log_end_offset: Offset


class Breach(Enum):
    """The limit that a segment exceeds."""

    RETENTION_MS = auto()
    RETENTION_BYTES = auto()
    LOG_START_OFFSET = auto()


class Deletion(NamedTuple):
    """A segment to delete, by its base offset, and the reason."""

    base_offset: Offset
    breach: Breach


def deletable(log: LogFacts, config: LogConfig, now_ms: int) -> tuple[Deletion, ...]:
    """Return the oldest segments to delete, in order; if all are to go, the log must roll first.

    The rules apply in the order age, size, log start. Each starts at the segment where the one before
    stopped, and stops at the first segment that it keeps.
    """
    breaches: list[Deletion] = []
    for breach, applies in _rules(log, config, now_ms):
        breaches += _prefix(log, len(breaches), breach, applies)
    return tuple(breaches)


_Applies = Callable[[int], bool]
"""The function that says whether a rule deletes the segment of that index; called in order."""


def _rules(log: LogFacts, config: LogConfig, now_ms: int) -> list[tuple[Breach, _Applies]]:
    segments = log.segments
    sizes_from = [0]
    for segment in reversed(segments):
        sizes_from.append(sizes_from[-1] + segment.size)
    sizes_from.reverse()

    def is_too_old(index: int) -> bool:
        return now_ms - segments[index].largest_timestamp > config.retention_ms

    def is_too_much(index: int) -> bool:
        return sizes_from[index + 1] >= config.retention_bytes

    def is_below_start(index: int) -> bool:
        return index + 1 < len(segments) and segments[index + 1].base_offset <= log.log_start_offset

    rules: list[tuple[Breach, _Applies]] = []
    if DELETE in config.cleanup_policy:
        if config.retention_ms > FOR_EVER:
            rules.append((Breach.RETENTION_MS, is_too_old))
        if config.retention_bytes > FOR_EVER:
            rules.append((Breach.RETENTION_BYTES, is_too_much))
    return [*rules, (Breach.LOG_START_OFFSET, is_below_start)]


def _prefix(log: LogFacts, first: int, breach: Breach, applies: _Applies) -> list[Deletion]:
    """Return the segments from index ``first`` on, up to the first that may not go or that the rule keeps."""
    found = []
    for index in range(first, len(log.segments)):
        segment = log.segments[index]
        is_last = index + 1 == len(log.segments)
        upper_bound = log.log_end_offset if is_last else log.segments[index + 1].base_offset
        is_committed = log.high_watermark >= upper_bound
        is_last_and_empty = is_last and segment.size == 0
        if is_last_and_empty or not is_committed or not applies(index):
            break
        found.append(Deletion(segment.base_offset, breach))
    return found


def stray_delay_ms(config: LogConfig) -> int | None:
    """Return how long a stray log stays on disk after it was renamed, in milliseconds; None for ever.

    Its records are kept as long as its topic's settings would have kept the newest of them. So a log that was
    taken for a stray by mistake, for instance after ZooKeeper's content was lost, can still be renamed back.
    """
    if "delete" not in config.cleanup_policy or config.retention_ms < 0:
        return None
    return max(config.retention_ms, config.file_delete_delay_ms)
