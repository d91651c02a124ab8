"""The splitting of segments that hold more offsets than four bytes can count.

An index stores offsets relative to its segment's base, in four bytes. Old log cleaners of Kafka merged
segments beyond that (KAFKA-5413, KAFKA-6264). Kafka splits such a segment when it meets one; here the start
of the broker does, because nothing makes one later. Without the split, recovery would truncate the batches
that lie too far from the base.

Source: ``Log.splitOverflowedSegment`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import structlog

from barnabas.broker.disk.files import (
    close_file,
    open_file,
    open_to_read,
    read_exactly,
    rename,
    set_size,
    size_of,
    sync,
    sync_directory,
    touch,
    touched_ms,
    write_all,
)
from barnabas.broker.disk.names import (
    CLEANED_SUFFIX,
    LOG_SUFFIX,
    SWAP_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    files_with,
    offset_of,
    segment_file,
)
from barnabas.broker.disk.segment.index import MAX_RELATIVE_OFFSET
from barnabas.broker.disk.segment.leftovers import settle_leftovers
from barnabas.broker.disk.segment.scan import BATCH_CHUNK, OFFSETS_PER_SEGMENT, whole_batches_of
from barnabas.broker.disk.segment.transaction_index import TransactionIndex
from barnabas.cluster.model.ids import Offset

_log = structlog.get_logger("kafka.log.Log")


class Part(NamedTuple):
    """A part of a segment that becomes a segment.

    Attributes:
        base_offset: Its base offset.
        start: The position of its first batch.
        end: The position after its last batch.
        next_offset: The offset after its last batch.
    """

    base_offset: Offset
    start: int
    end: int
    next_offset: Offset


def split_overflowed_segments(directory: Path) -> None:
    """Split each segment with an offset that lies too far from its base offset.

    Only one whose successor begins that far away can have such an offset, so no other is read. The last one
    has none, because appends begin a new segment in time. A crash leaves the segment or its parts.

    Raises:
        OSError: The disk refused.
    """
    for path, following in pairwise(files_with(directory, LOG_SUFFIX)):
        if offset_of(following) - offset_of(path) > OFFSETS_PER_SEGMENT:
            parts, is_whole = _parts_of(path)
            if not is_whole:
                _log.error(f"{path} may need to be split, but has a damaged batch; it is left as it is")
            elif len(parts) > 1:
                _split(path, parts)
                settle_leftovers(directory)


def _parts_of(path: Path) -> tuple[list[Part], bool]:
    """Return the parts of a segment, and whether all of its batches are valid."""
    fd = open_to_read(path)
    try:
        parts, end = list(_parts(fd, offset_of(path))), size_of(fd)
    finally:
        close_file(fd)
    return parts, end == (parts[-1].end if parts else 0)


def _parts(fd: int, base_offset: Offset) -> Iterator[Part]:
    part = Part(base_offset, 0, 0, base_offset)
    for position, batch in whole_batches_of(fd, 0, size_of(fd)):
        header = batch.header
        if header.last_offset - part.base_offset > MAX_RELATIVE_OFFSET and part.end > part.start:
            yield part
            part = Part(Offset(header.base_offset), position, position, Offset(header.base_offset))
        part = part._replace(end=position + header.size, next_offset=Offset(header.next_offset))
    if part.end:
        yield part


def _split(path: Path, parts: list[Part]) -> None:
    """Write the parts, and name them ``.swap`` from the last one on: `settle_leftovers` completes that."""
    directory, aborted = path.parent, TransactionIndex(path.with_suffix(TRANSACTION_INDEX_SUFFIX))
    _log.info(
        f"Splitting overflowed segment {path} into {len(parts)} segments with base offsets "
        f"{', '.join(str(part.base_offset) for part in parts)}"
    )
    modified_ms = touched_ms(path)
    fd = open_to_read(path)
    try:
        for part in parts:
            new = segment_file(directory, part.base_offset, LOG_SUFFIX + CLEANED_SUFFIX)
            _copy(fd, part, new)
            touch(new, modified_ms)  # cleaning judges the age of tombstones by this time
            index = segment_file(directory, part.base_offset, TRANSACTION_INDEX_SUFFIX + CLEANED_SUFFIX)
            of_part = TransactionIndex(index)
            of_part.clear()
            for each in aborted.entries:
                if part.base_offset <= each.last_offset < part.next_offset:
                    of_part.append(each)
            of_part.sync()
    finally:
        close_file(fd)
    for part in reversed(parts):
        for suffix in (TRANSACTION_INDEX_SUFFIX, LOG_SUFFIX):
            new = segment_file(directory, part.base_offset, suffix + CLEANED_SUFFIX)
            if new.exists():
                rename(new, new.name.removesuffix(CLEANED_SUFFIX) + SWAP_SUFFIX)
    sync_directory(directory)


def _copy(fd: int, part: Part, path: Path) -> None:
    target = open_file(path)
    try:
        set_size(target, 0)
        for position in range(part.start, part.end, BATCH_CHUNK):
            data = read_exactly(fd, min(BATCH_CHUNK, part.end - position), position)
            write_all(target, [data], len(data), position - part.start)
        sync(target)
    finally:
        close_file(target)
