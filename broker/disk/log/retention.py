"""The removal of segments that a log's settings no longer keep; ``broker.core.retention`` decides."""

from __future__ import annotations

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.retention import Deletion, LogFacts, SegmentFacts, deletable
from barnabas.broker.disk.log.log_files import LogFiles
from barnabas.broker.disk.segment.segment import LogSegment
from barnabas.cluster.model.ids import Offset


def retire_old_segments(
    files: LogFiles, config: LogConfig, high_watermark: Offset, now_ms: int
) -> tuple[tuple[Deletion, ...], list[LogSegment]]:
    """Remove the segments that are due; if these are all, roll first.

    Returns:
        The removed segments, described and still open for their readers.

    Raises:
        OSError: The disk refused.
    """
    segments = [
        SegmentFacts(segment.base_offset, segment.size, segment.largest_timestamp)
        for segment in files.segments
    ]
    facts = LogFacts(segments, files.log_start_offset, high_watermark, files.log_end_offset)
    gone = deletable(facts, config, now_ms)
    if not gone:
        return (), []
    if len(gone) == len(segments):
        files.roll(config, now_ms)
    return gone, files.retire_first(len(gone))
