"""Files that a stop left in a partition's directory; settled before its log is opened.

Source: ``core/log/Log.scala`` (``removeTempFilesAndCollectSwapFiles``, ``completeSwapOperations``) of Kafka
2.8. Compaction writes new segments as ``.cleaned``, renames them to ``.swap`` once they are flushed, and then
puts them in the place of the old ones. From the first ``.swap`` on the compaction is completed; before, it is
undone.
"""

from __future__ import annotations

from pathlib import Path

import structlog

from barnabas.broker.disk.files import close_file, open_file, remove, rename, set_size, size_of
from barnabas.broker.disk.names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    SWAP_SUFFIX,
    TEMPORARY_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    files_with,
    offset_of,
    segment_file,
)
from barnabas.broker.disk.segment.scan import scan_valid_batches

_log = structlog.get_logger("kafka.log.Log")


def settle_leftovers(directory: Path) -> None:
    """Complete or undo interrupted compactions, and remove all files that are not in use.

    Raises:
        OSError: The disk refused.
    """
    cleaned = [offset_of(path) for path in files_with(directory, CLEANED_SUFFIX)]
    for swap in files_with(directory, LOG_SUFFIX + SWAP_SUFFIX):
        # A split names its parts .swap from the highest down, so one that is still .cleaned undoes them all.
        if not cleaned or offset_of(swap) < min(cleaned):
            _complete_swap(directory, swap)
    for suffix in (DELETED_SUFFIX, CLEANED_SUFFIX, TEMPORARY_SUFFIX, SWAP_SUFFIX):
        for path in directory.glob(f"*{suffix}"):
            remove(path)
    # Indexes without a segment are useless.
    for suffix in SEGMENT_SUFFIXES:
        for path in files_with(directory, suffix):
            if not path.with_suffix(LOG_SUFFIX).exists():
                remove(path)


def _complete_swap(directory: Path, swap: Path) -> None:
    """Replace the segments that a compacted one covers; its indexes are rebuilt later.

    The batches are renamed last, so that a crash in between leaves no index beside other batches.
    """
    base_offset = offset_of(swap)
    end_offset = max(base_offset + 1, _end_of_valid_batches(swap, base_offset))
    covered = {offset_of(path) for path in files_with(directory, LOG_SUFFIX)}
    for base in sorted({base_offset, *(each for each in covered if base_offset <= each < end_offset)}):
        for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX):
            _remove_if_there(segment_file(directory, base, suffix))
        if base != base_offset:
            for suffix in (TRANSACTION_INDEX_SUFFIX, LOG_SUFFIX):
                _remove_if_there(segment_file(directory, base, suffix))
    # If the new segment has no index of aborted transactions, the former segment's is still valid.
    aborted = segment_file(directory, base_offset, TRANSACTION_INDEX_SUFFIX + SWAP_SUFFIX)
    for path in (aborted, swap):
        if path.exists():
            rename(path, path.name.removesuffix(SWAP_SUFFIX))


def _remove_if_there(path: Path) -> None:
    if path.exists():
        remove(path)


def _end_of_valid_batches(path: Path, base_offset: int) -> int:
    """Truncate the file after its last valid batch; return the offset that follows."""
    fd = open_file(path)
    try:
        end, next_offset = 0, base_offset
        for position, batch in scan_valid_batches(fd, size_of(fd), base_offset):
            end, next_offset = position + batch.header.size, batch.header.next_offset
        if end < size_of(fd):
            _log.warning(
                f"Found invalid messages in {path} at byte offset {end}, truncating to offset {next_offset}: "
                f"{size_of(fd) - end} bytes are cut off"
            )
            set_size(fd, end)
    finally:
        close_file(fd)
    return next_offset
