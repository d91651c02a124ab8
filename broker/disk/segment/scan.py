"""The reading of a segment's file batch by batch: headers only, or whole batches with their checksums."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from barnabas.broker.core.records.record_batch import (
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
"""Bytes per read of headers: several times the usual distance between index entries."""

BATCH_CHUNK = 1024 * 1024
"""Bytes per read of whole batches."""

OFFSETS_PER_SEGMENT = 2**31
"""The number of offsets that a segment can hold: they are stored in four bytes, relative to its base."""

_Found = tuple[int, RecordBatch]


def scan_headers(
    fd: int, path: Path, base_offset: Offset, start: int, end: int
) -> Iterator[tuple[int, BatchHeader]]:
    """Yield position and header of each batch from ``start`` to ``end``, which are batch boundaries.

    Bodies are skipped, so damage there goes unnoticed; readers check the checksum.

    Args:
        fd: The segment's file.
        path: Its path, for the error.
        base_offset: The segment's base offset.
        start: The position to begin at.
        end: The position to stop at.

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
        # If batches are larger than a chunk, only the header is worth reading.
        wanted = HEADER_CHUNK if size < HEADER_CHUNK else HEADER_SIZE


def scan_valid_batches(fd: int, end: int, base_offset: int) -> Iterator[_Found]:
    """Yield position and content of each batch in a file of ``end`` bytes, up to the first invalid one.

    A batch is valid if it is whole, of this format, with its checksum, after the batch before it and within
    four bytes of the segment's base offset. Nothing after the last batch yielded can be trusted.

    The checksum does not cover the base offset. A batch after a gap, which compaction may leave, is therefore
    held back until the next batch begins after it: if that one begins earlier, the held batch has a wrong
    offset.
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


def whole_batches_of(fd: int, start: int, end: int, chunk_bytes: int = BATCH_CHUNK) -> Iterator[_Found]:
    """Yield the batches that are whole, of this format and with a valid checksum, up to the first other one.

    Args:
        fd: The segment's file.
        start: The position of the first batch.
        end: The position after the last one.
        chunk_bytes: The size of a read, unless a batch is larger.
    """
    position, chunk, chunk_start = start, memoryview(b""), start
    while end - position >= HEADER_SIZE:
        local = position - chunk_start
        header = parse_header(chunk, local) if local + HEADER_SIZE <= len(chunk) else None
        # Read the next chunk, or all of the next batch if that is longer.
        if header is None or local + header.size > len(chunk):
            needed = header.size if header else _whole_size(fd, position)
            if not HEADER_SIZE <= needed <= end - position:
                return
            chunk = memoryview(read_exactly(fd, min(max(chunk_bytes, needed), end - position), position))
            if len(chunk) < HEADER_SIZE:
                return  # the file is shorter than the log's state says
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
