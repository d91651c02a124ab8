"""Reading a segment file batch by batch: headers alone, or whole batches with their checksums."""

from __future__ import annotations

from collections.abc import Iterator

from broker.core.record_batch import (
    FRAME_SIZE,
    HEADER_SIZE,
    MAGIC,
    BatchHeader,
    RecordBatch,
    parse_header,
    peek_frame,
)
from broker.disk.files import read_exactly

HEADER_CHUNK = 16 * 1024
"""Bytes read at once when looking for headers: several times the usual distance between index entries."""

BATCH_CHUNK = 1024 * 1024
"""Bytes read at once when whole batches are needed."""


def scan_headers(fd: int, start: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of each batch from ``start``, where one begins, to ``end``; bodies are skipped."""
    position, chunk, chunk_start = start, b"", start
    while end - position >= HEADER_SIZE:
        if position + HEADER_SIZE > chunk_start + len(chunk):
            chunk, chunk_start = read_exactly(fd, min(HEADER_CHUNK, end - position), position), position
            if len(chunk) < HEADER_SIZE:
                return
        header = parse_header(chunk, position - chunk_start)
        if header.size < HEADER_SIZE:
            return
        yield position, header
        position += header.size


def scan_valid_batches(fd: int, end: int, base_offset: int) -> Iterator[tuple[int, RecordBatch]]:
    """Position and content of each batch in a file of ``end`` bytes, up to the first that is not right.

    Right is: whole, of this format, with its checksum, after the batch before it and within four bytes of the
    segment's base offset. What follows the last batch that comes out is not to be trusted.
    """
    position, chunk, chunk_start, expected = 0, b"", 0, base_offset
    while end - position >= HEADER_SIZE:
        local = position - chunk_start
        if local + FRAME_SIZE > len(chunk) or local + peek_frame(chunk, local)[1] > len(chunk):
            needed = _whole_size(fd, position)
            if not HEADER_SIZE <= needed <= end - position:
                return
            chunk = read_exactly(fd, min(max(BATCH_CHUNK, needed), end - position), position)
            chunk_start, local = position, 0
        size = peek_frame(chunk, local)[1]
        if not HEADER_SIZE <= size <= len(chunk) - local:
            return
        batch = RecordBatch(parse_header(chunk, local), memoryview(chunk)[local : local + size])
        header = batch.header
        fits = expected <= header.base_offset <= header.last_offset < base_offset + 2**31
        if header.magic != MAGIC or not fits or not batch.has_valid_crc:
            return
        yield position, batch
        expected = header.next_offset
        position += size


def _whole_size(fd: int, position: int) -> int:
    frame = read_exactly(fd, FRAME_SIZE, position)
    return peek_frame(frame)[1] if len(frame) == FRAME_SIZE else 0
