"""The swap of a compacted segment for those it replaces; a crash at any moment leaves a valid log.

The new files are renamed from ``.cleaned`` to ``.swap``, the batches last: from then on a start of the broker
completes the swap (``leftovers``). Then the replaced files become ``.deleted``, to be unlinked later, and
``.swap`` is cut off the new names. Everything here runs on the directory's thread.

Source: ``Log.scala`` (``replaceSegments``) and ``LogSegment.scala`` (``changeFileSuffixes``) of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.files import remove, rename, sync_directory
from barnabas.broker.disk.names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    SEGMENT_SUFFIXES,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
)
from barnabas.broker.disk.segment.index import SparseIndex
from barnabas.broker.disk.segment.segment import LogSegment
from barnabas.broker.disk.segment.transaction_index import TransactionIndex
from barnabas.cluster.model.ids import Offset


def open_cleaned(directory: Path, base_offset: Offset, config: LogConfig, now_ms: int) -> LogSegment:
    """Open a compacted segment whose files end in ``.cleaned``, with its indexes in memory.

    Raises:
        OSError: The disk refused.
    """
    new = LogSegment(directory, base_offset, config, now_ms, CLEANED_SUFFIX)
    new.load_indexes()
    new.hold_indexes()
    return new


def begin_swap(new: LogSegment) -> None:
    """Rename the files from ``.cleaned`` to ``.swap``; from then on a crash does not undo the swap.

    Raises:
        OSError: The disk refused.
    """
    _change_suffix(new, CLEANED_SUFFIX, SWAP_SUFFIX)
    sync_directory(new.path.parent)


def take_back(new: LogSegment) -> None:
    """Close the segment and unlink its files, the batches first: the log has changed meanwhile.

    Raises:
        OSError: The disk refused.
    """
    new.close()
    for owner in reversed(_owners(new)):
        if owner.path.exists():
            remove(owner.path)


def finish_swap(new: LogSegment, replaced: Sequence[LogSegment]) -> None:
    """Rename the files of the replaced segments to ``.deleted``, and those of ``new`` to their own names.

    The replaced segments stay open for their readers. Producer snapshots at base offsets that no longer exist
    are removed, too.

    Raises:
        OSError: The disk refused.
    """
    for segment in replaced:
        suffixes = SEGMENT_SUFFIXES if segment is replaced[0] else (*SEGMENT_SUFFIXES, SNAPSHOT_SUFFIX)
        for suffix in suffixes:
            path = segment.path.with_suffix(suffix)
            if path.exists():
                rename(path, path.name + DELETED_SUFFIX)
    _change_suffix(new, SWAP_SUFFIX, "")
    sync_directory(new.path.parent)
    new.release_indexes()


def _owners(segment: LogSegment) -> tuple[TransactionIndex | SparseIndex | LogSegment, ...]:
    """Return the owners of the segment's files, the batches last."""
    return segment.transaction_index, segment.offset_index, segment.time_index, segment


def _change_suffix(segment: LogSegment, old: str, new: str) -> None:
    """Rename the files, the batches last."""
    for owner in _owners(segment):
        name = owner.path.name.removesuffix(old) + new
        owner.path = rename(owner.path, name) if owner.path.exists() else owner.path.with_name(name)
