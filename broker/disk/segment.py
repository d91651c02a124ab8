"""One segment of a log: a file of batches back to back, and its two indexes.

Source: ``core/log/LogSegment.scala`` of Kafka 2.8.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from broker.core.log_config import LogConfig
from broker.core.record_batch import HEADER_SIZE, NO_TIMESTAMP, BatchHeader, Buffer, parse_header
from broker.disk.files import read_exactly, write_all
from broker.disk.index import MAX_RELATIVE_OFFSET, OffsetIndex, TimeIndex
from broker.disk.names import (
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    segment_file,
)
from broker.disk.scan import scan_headers
from cluster.model.ids import Offset

CLOSED = -1
"""No file descriptor: what is done with it fails, and touches nobody else's file."""


class BatchPosition(NamedTuple):
    """Where a batch lies in its segment's file."""

    position: int
    header: BatchHeader


class LogSegment:
    """A segment, the active one or an older one; its file is open until ``close``.

    Attributes:
        base_offset: The first offset that may lie in it; its files are named by it.
        size: Bytes of batches.
        max_timestamp: The largest timestamp seen, -1 where there is none.
    """

    def __init__(self, directory: Path, base_offset: Offset, config: LogConfig, now_ms: int) -> None:
        self.base_offset = base_offset
        self.path = segment_file(directory, base_offset, LOG_SUFFIX)
        self.max_timestamp = NO_TIMESTAMP
        self._offset_of_max_timestamp = base_offset
        self._bytes_since_index_entry = 0
        self._first_timestamp: int | None = None
        self._created_ms = now_ms
        self._jitter_ms = random.randint(0, min(config.segment_jitter_ms, config.segment_ms))
        max_bytes = config.segment_index_bytes
        self.offset_index = OffsetIndex(
            segment_file(directory, base_offset, INDEX_SUFFIX), base_offset, max_bytes
        )
        self.time_index = TimeIndex(
            segment_file(directory, base_offset, TIME_INDEX_SUFFIX), base_offset, max_bytes
        )
        self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        self.size = os.fstat(self.fd).st_size
        self._preallocated_size = config.segment_bytes if config.preallocate else 0

    @property
    def largest_timestamp(self) -> int:
        """Milliseconds since 1970 of the newest record; of the file's last change where there is none."""
        if self.max_timestamp >= 0:
            return self.max_timestamp
        return os.fstat(self.fd).st_mtime_ns // 1_000_000

    @property
    def retired_paths(self) -> list[Path]:
        """What ``retire`` calls the files, whether or not each is there."""
        suffixes = (*SEGMENT_SUFFIXES, SNAPSHOT_SUFFIX)
        names = [self.path.with_suffix(suffix).name for suffix in suffixes]
        return [self.path.with_name(name + DELETED_SUFFIX) for name in names]

    def must_roll(
        self, size: int, max_timestamp: int, last_offset: int, config: LogConfig, now_ms: int
    ) -> bool:
        """Whether a batch of that size, timestamp and last offset must go to a new segment."""
        if self.size + size > config.segment_bytes:
            return self.size > 0
        if self.size == 0:
            return False
        return (
            self._age(max_timestamp, now_ms) > config.segment_ms - self._jitter_ms
            or self.offset_index.is_full
            or self.time_index.is_full
            or last_offset - self.base_offset > MAX_RELATIVE_OFFSET
        )

    def write(self, buffers: Sequence[Buffer], size: int) -> int:
        """Append ``size`` bytes of whole batches, to ``note`` each; returns the position of the first."""
        position = self.size
        write_all(self.fd, buffers, size, position)
        self.size = position + size
        return position

    def note(self, position: int, size: int, last_offset: int, max_timestamp: int, interval: int) -> None:
        """Take a batch that was written into the indexes.

        Args:
            position: Where it lies.
            size: Its bytes.
            last_offset: The offset of its last record.
            max_timestamp: Its maximum timestamp.
            interval: ``index.interval.bytes``.
        """
        if self._first_timestamp is None:
            self._first_timestamp = max_timestamp if position == 0 else self._read_first_timestamp()
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self._offset_of_max_timestamp = Offset(last_offset)
        if self._bytes_since_index_entry > interval and not self.offset_index.is_full:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(self.max_timestamp, self._offset_of_max_timestamp)
            self._bytes_since_index_entry = 0
        self._bytes_since_index_entry += size

    def locate(self, offset: int) -> BatchPosition | None:
        """The first batch whose last offset is ``offset`` or above, or None where there is none."""
        start = self.offset_index.lookup(offset).position
        for position, header in scan_headers(self.fd, start, self.size):
            if header.last_offset >= offset:
                return BatchPosition(position, header)
        return None

    def batches_since(self, timestamp: int, first_offset: int) -> Iterator[BatchPosition]:
        """The batches at ``first_offset`` or later whose maximum timestamp is ``timestamp`` or later."""
        start_offset = max(self.time_index.lookup(timestamp).offset, first_offset)
        start = self.offset_index.lookup(start_offset).position
        for position, header in scan_headers(self.fd, start, self.size):
            if header.max_timestamp >= timestamp and header.last_offset >= first_offset:
                yield BatchPosition(position, header)

    def read(self, position: int, size: int) -> bytes:
        """At most ``size`` bytes from ``position`` on."""
        return read_exactly(self.fd, min(size, self.size - position), position)

    def read_header(self, position: int) -> BatchHeader:
        """The header of the batch at ``position``."""
        return parse_header(read_exactly(self.fd, HEADER_SIZE, position))

    def headers_from(self, offset: int) -> Iterator[BatchHeader]:
        """The headers of the batches whose last offset is ``offset`` or above."""
        start = self.offset_index.lookup(offset).position
        return (
            header for _, header in scan_headers(self.fd, start, self.size) if header.last_offset >= offset
        )

    def activate(self) -> None:
        """Become the active segment: indexes in memory, files preallocated."""
        if self.size < self._preallocated_size:
            os.ftruncate(self.fd, self._preallocated_size)
        self.offset_index.preallocate()
        self.time_index.preallocate()

    def load_indexes(self) -> bool:
        """Take the index files as they are; False where they cannot be right."""
        if not (self.offset_index.load() and self.time_index.load()):
            return False
        self.max_timestamp, self._offset_of_max_timestamp = self.time_index.last_entry
        return True

    def load_end(self) -> Offset | None:
        """Find the largest timestamp and the segment's end from the headers behind the last index entries.

        Returns the offset after the last batch, or None where the batches do not fill the file.
        """
        self.max_timestamp, self._offset_of_max_timestamp = self.time_index.last_entry
        start = self.offset_index.lookup(self._offset_of_max_timestamp).position
        next_offset, end = self.base_offset, start
        for position, header in scan_headers(self.fd, start, self.size):
            next_offset, end = Offset(header.next_offset), position + header.size
            if header.max_timestamp > self.max_timestamp:
                self.max_timestamp = header.max_timestamp
                self._offset_of_max_timestamp = Offset(header.last_offset)
        return next_offset if end == self.size else None

    def truncate(self, position: int, offset: int) -> None:
        """Cut the file at ``position`` and forget what the indexes say of ``offset`` and later."""
        os.ftruncate(self.fd, position)
        self.size = position
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self._bytes_since_index_entry = 0
        self._first_timestamp = None
        self.load_end()

    def reset_indexes(self) -> None:
        """Empty the indexes, to ``note`` every batch anew."""
        self.offset_index.clear()
        self.time_index.clear()
        self.max_timestamp = NO_TIMESTAMP
        self._offset_of_max_timestamp = self.base_offset
        self._bytes_since_index_entry = 0
        self._first_timestamp = None

    def end(self) -> None:
        """Cut off what was preallocated and add the last time entry: the segment gets no more batches."""
        if self.size < self._preallocated_size:
            os.ftruncate(self.fd, self.size)
        self.time_index.maybe_append(self.max_timestamp, self._offset_of_max_timestamp)

    def sync(self) -> None:
        """Put the batches on the disk itself."""
        os.fsync(self.fd)

    def store_indexes(self) -> None:
        """Write the indexes at their true size and sync them: on a roll, on a clean close."""
        self.offset_index.store()
        self.time_index.store()

    def unload_indexes(self) -> None:
        """Free the memory of indexes that are stored; the next lookup reads them again."""
        self.offset_index.unload()
        self.time_index.unload()

    @property
    def is_closed(self) -> bool:
        """Whether the file is closed."""
        return self.fd == CLOSED

    def close(self) -> None:
        """Close the file, unless it is closed."""
        if not self.is_closed:
            os.close(self.fd)
            self.fd = CLOSED

    def delete(self) -> None:
        """Close the segment and unlink its files, by way of ``.deleted``: all go, if only at load."""
        self.close()
        renamed = []
        for suffix in SEGMENT_SUFFIXES:
            path = self.path.with_suffix(suffix)
            if path.exists():
                renamed.append(path.rename(path.with_name(path.name + DELETED_SUFFIX)))
        for path in renamed:
            path.unlink()

    def retire(self) -> None:
        """Close the segment and rename its files and its producer snapshot, for somebody to unlink later.

        The batches go first: indexes without them are unlinked at load.
        """
        self.close()
        for retired in self.retired_paths:
            path = retired.with_suffix("")
            if path.exists():
                path.rename(retired)

    def _age(self, max_timestamp: int, now_ms: int) -> int:
        if self._first_timestamp is None:
            self._first_timestamp = self._read_first_timestamp()
        if self._first_timestamp >= 0:
            return max_timestamp - self._first_timestamp
        return now_ms - self._created_ms

    def _read_first_timestamp(self) -> int:
        return self.read_header(0).max_timestamp if self.size >= HEADER_SIZE else NO_TIMESTAMP
