"""Reading a segment file batch by batch: headers alone, or whole batches with their checksums."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from barnabas.broker.core.record_batch import (
    FRAME_SIZE,
    HEADER_SIZE,
    MAGIC,
    BatchHeader,
    RecordBatch,
    parse_header,
    peek_frame,
)
from barnabas.broker.disk.errors import CorruptLogError
from barnabas.broker.disk.files import read_exactly
from barnabas.cluster.model.ids import Offset

HEADER_CHUNK = 16 * 1024
"""Bytes read at once when looking for headers: several times the usual distance between index entries."""

BATCH_CHUNK = 1024 * 1024
"""Bytes read at once when whole batches are needed."""

OFFSETS_PER_SEGMENT = 2**31
"""Offsets are kept in four bytes, from the segment's base on."""

_Found = tuple[int, RecordBatch]


def scan_headers(
    fd: int, path: Path, base_offset: Offset, start: int, end: int
) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of each batch from ``start`` to ``end``, at both of which one begins.

    Bodies are skipped, so damage there is not seen; readers check the checksum.

    Args:
        fd: The segment's file.
        path: Its path, for the error.
        base_offset: The segment's, within four bytes of which its offsets lie.
        start: Where to begin.
        end: Where to stop.

    Raises:
        CorruptLogError: No batch lies where one should, or its offsets cannot be there.
    """
    position, chunk, chunk_start = start, b"", start
    expected, limit, wanted = base_offset, base_offset + OFFSETS_PER_SEGMENT, HEADER_CHUNK
    while position < end:
        if position + HEADER_SIZE > chunk_start + len(chunk):
            chunk, chunk_start = read_exactly(fd, min(wanted, end - position), position), position
            if len(chunk) < HEADER_SIZE:
                raise CorruptLogError(path, position, expected, f"{len(chunk)} bytes, expected a batch")
        header = parse_header(chunk, position - chunk_start)
        size = header.size
        if header.magic != MAGIC or not HEADER_SIZE <= size <= end - position:
            found = f"magic {header.magic} and {size} bytes, expected {MAGIC} and up to {end - position}"
            raise CorruptLogError(path, position, expected, found)
        if not expected <= header.base_offset <= header.last_offset < limit:
            found = f"offsets {header.base_offset} to {header.last_offset}, expected {expected} or later"
            raise CorruptLogError(path, position, expected, found)
        yield position, header
        expected = Offset(header.next_offset)
        position += size
        # Of batches that are larger than a chunk, nothing but the header is worth reading.
        wanted = HEADER_CHUNK if size < HEADER_CHUNK else HEADER_SIZE


def scan_valid_batches(fd: int, end: int, base_offset: int) -> Iterator[_Found]:
    """Position and content of each batch in a file of ``end`` bytes, up to the first that is not right.

    Right is: whole, of this format, with its checksum, after the batch before it and within four bytes of the
    segment's base offset. What follows the last batch that comes out is not to be trusted.

    The checksum does not cover the base offset. A batch that leaves a gap before it, as compaction may, comes
    out only once the next batch begins after it: where that one begins earlier, this one's offset is wrong.
    """
    expected, held = base_offset, None
    for position, batch in whole_batches_of(fd, 0, end):
        header = batch.header
        if held is not None and header.base_offset < expected:
            return
        if held is not None:
            yield held
            held = None
        if not expected <= header.base_offset <= header.last_offset < base_offset + OFFSETS_PER_SEGMENT:
            return
        if header.base_offset == expected:
            yield position, batch
        else:
            held = position, batch
        expected = header.next_offset
    if held is not None:
        yield held


def whole_batches_of(fd: int, start: int, end: int) -> Iterator[_Found]:
    """Yield the batches that are whole, of this format and have their checksum, up to the first that is not.

    Args:
        fd: The segment's file.
        start: Where the first batch begins.
        end: Where the last one ends.
    """
    position, chunk, chunk_start = start, memoryview(b""), start
    while end - position >= HEADER_SIZE:
        local = position - chunk_start
        header = parse_header(chunk, local) if local + HEADER_SIZE <= len(chunk) else None
        if header is None or local + header.size > len(chunk):
            needed = header.size if header else _whole_size(fd, position)
            if not HEADER_SIZE <= needed <= end - position:
                return
            chunk = memoryview(read_exactly(fd, min(max(BATCH_CHUNK, needed), end - position), position))
            if len(chunk) < HEADER_SIZE:
                return  # the file is shorter than its owner knows
            chunk_start, local = position, 0
            header = parse_header(chunk)
        size = header.size
        if header.magic != MAGIC or not HEADER_SIZE <= size <= len(chunk) - local:
            return
        batch = RecordBatch(header, chunk[local : local + size])
        if not batch.has_valid_crc:
            return
        yield position, batch
        position += size


def _whole_size(fd: int, position: int) -> int:
    frame = read_exactly(fd, FRAME_SIZE, position)
    return peek_frame(frame)[1] if len(frame) == FRAME_SIZE else 0
