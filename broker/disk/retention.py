"""Taking the segments out of a log that its settings no longer keep; ``broker.core.retention`` says which."""

from __future__ import annotations

from pathlib import Path

from barnabas.broker.core.log_config import LogConfig
from barnabas.broker.core.retention import Deletion, LogFacts, SegmentFacts, deletable
from barnabas.broker.disk.log_files import LogFiles
from barnabas.cluster.model.ids import Offset


def retire_old_segments(
    files: LogFiles, config: LogConfig, high_watermark: Offset, now_ms: int
) -> tuple[tuple[Deletion, ...], list[Path]]:
    """Take out what is due; where that is everything, the log begins a new segment at its end first.

    Returns:
        What was taken out, and what its files will be called until they are unlinked.

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
