"""One segment of a log: a file of consecutive batches, and its two indexes.

Source: ``core/log/LogSegment.scala`` of Kafka 2.8.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, starmap
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.producer_state import ProducerState
from barnabas.broker.core.records.record_batch import (
    HEADER_SIZE,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
    parse_header,
)
from barnabas.broker.core.records.transactions import AbortedTransaction, EndTransactionMarker
from barnabas.broker.disk import names
from barnabas.broker.disk.errors import CorruptLogError
from barnabas.broker.disk.files import (
    CLOSED,
    last_change_ms,
    open_segment,
    read_exactly,
    remove,
    remove_whatever,
    rename,
    set_size,
    size_of,
    sync,
    write_all,
)
from barnabas.broker.disk.segment.file_records import FileRecords
from barnabas.broker.disk.segment.index import (
    MAX_RELATIVE_OFFSET,
    OffsetIndex,
    OffsetPosition,
    TimeIndex,
    TimestampOffset,
)
from barnabas.broker.disk.segment.scan import scan_headers
from barnabas.broker.disk.segment.scrub import DamagedRange, end_of_damage
from barnabas.broker.disk.segment.transaction_index import TransactionIndex
from barnabas.cluster.model.ids import Offset


class BatchPosition(NamedTuple):
    """The position of a batch in its segment's file, and its header."""

    position: int
    header: BatchHeader


class LogSegment:
    """A segment, the active one or an older one; its file is open until ``close``.

    Attributes:
        base_offset: The first offset that may lie in it; its files are named by it.
        size: Bytes of batches.
        damaged: The ranges known to hold no valid batch, by position.
    """

    def __init__(
        self, directory: Path, base_offset: Offset, config: LogConfig, now_ms: int, suffix: str = ""
    ) -> None:
        """Open a segment; ``suffix`` ends the file names of one that is not part of the log yet."""
        self.base_offset = base_offset
        self.damaged: tuple[DamagedRange, ...] = ()
        self.path = names.segment_file(directory, base_offset, names.LOG_SUFFIX + suffix)
        self._max_timestamp = NO_TIMESTAMP
        self._offset_of_max_timestamp = base_offset
        self._is_max_timestamp_checked = True
        self._bytes_since_index_entry = 0
        self._first_timestamp: int | None = None
        self._created_ms = now_ms
        self._jitter_ms = random.randint(0, min(config.segment_jitter_ms, config.max_segment_ms))
        max_bytes = config.segment_index_bytes
        offsets = names.segment_file(directory, base_offset, names.INDEX_SUFFIX + suffix)
        times = names.segment_file(directory, base_offset, names.TIME_INDEX_SUFFIX + suffix)
        self.offset_index = OffsetIndex(offsets, base_offset, max_bytes)
        self.time_index = TimeIndex(times, base_offset, max_bytes)
        self.transaction_index = TransactionIndex(
            names.segment_file(directory, base_offset, names.TRANSACTION_INDEX_SUFFIX + suffix)
        )
        self.fd: int = open_segment(self.path)
        self.size = size_of(self.fd)
        self._preallocated_size = config.segment_bytes if config.preallocate else 0
        self._index_interval = config.index_interval_bytes

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp of its batches in milliseconds, -1 without timestamps."""
        if not self._is_max_timestamp_checked:
            self._is_max_timestamp_checked = True
            with contextlib.suppress(CorruptLogError):  # the index's last entry must suffice
                self.check_time_index()
        return self._max_timestamp

    @property
    def largest_timestamp(self) -> int:
        """Milliseconds since 1970 of the newest record, or of the file's last change without timestamps."""
        if self.max_timestamp >= 0:
            return self.max_timestamp
        return self.modified_ms

    @property
    def first_timestamp(self) -> int:
        """The maximum timestamp of its first batch in milliseconds since 1970, -1 where there is none."""
        if self._first_timestamp is None:
            self._first_timestamp = self._read_first_timestamp()
        return self._first_timestamp

    @property
    def modified_ms(self) -> int:
        """Return the time of the file's last write, in milliseconds since 1970."""
        return last_change_ms(self.fd)

    @property
    def retired_paths(self) -> list[Path]:
        """The paths that ``retire`` gives the files, whether or not each exists."""
        suffixes = (*names.SEGMENT_SUFFIXES, names.SNAPSHOT_SUFFIX)
        live = [self.path.with_suffix(suffix).name for suffix in suffixes]
        return [self.path.with_name(name + names.DELETED_SUFFIX) for name in live]

    def must_roll(
        self, size: int, max_timestamp: int, last_offset: int, config: LogConfig, now_ms: int
    ) -> bool:
        """Return whether a batch of that size, timestamp and last offset must go to a new segment."""
        if self.size + size > config.segment_bytes:
            return self.size > 0
        if self.size == 0:
            return False
        return (
            self._age(max_timestamp, now_ms) > config.max_segment_ms - self._jitter_ms
            or self.offset_index.is_full
            or self.time_index.is_full
            or last_offset - self.base_offset > MAX_RELATIVE_OFFSET
        )

    def write(self, buffers: Sequence[Buffer], size: int) -> int:
        """Append ``size`` bytes of whole batches, and return the position of the first.

        The caller adds each batch to the indexes (``index``).
        """
        position = self.size
        if position == 0:
            self._preallocate_indexes()
        write_all(self.fd, buffers, size, position)
        self.size = position + size
        return position

    def index(self, position: int, size: int, last_offset: int, max_timestamp: int, interval: int) -> None:
        """Add a batch that was written to the indexes.

        Args:
            position: Its position.
            size: Its bytes.
            last_offset: The offset of its last record.
            max_timestamp: The largest timestamp of its records.
            interval: ``index.interval.bytes``.
        """
        if self._first_timestamp is None:
            self._first_timestamp = max_timestamp if position == 0 else self._read_first_timestamp()
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self._offset_of_max_timestamp = Offset(last_offset)
        if self._bytes_since_index_entry > interval and not self.offset_index.is_full:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(self._max_timestamp, self._offset_of_max_timestamp)
            self._bytes_since_index_entry = 0
        self._bytes_since_index_entry += size

    def update_producers(
        self, producers: ProducerState, header: BatchHeader, marker: EndTransactionMarker | None
    ) -> None:
        """Update ``producers`` with a batch of this segment; an aborted transaction is indexed, too.

        Source: ``LogSegment.updateProducerState``.

        Args:
            producers: The producer state of the log up to the batch.
            header: The batch's header.
            marker: The transaction marker of a control batch, else None.

        Raises:
            OSError: The disk refused.
        """
        ended = producers.update(header, marker)
        if ended is not None and ended.is_aborted:
            stable = producers.transactions.last_stable_offset_after(ended)
            producer_id, first_offset, last_offset, _ = ended
            self.transaction_index.append(AbortedTransaction(producer_id, first_offset, last_offset, stable))

    def headers(self, start: int = 0) -> Iterator[BatchPosition]:
        """Return the batches from position ``start``, where one begins, to the segment's end.

        Raises:
            CorruptLogError: No valid batch begins where one should.
        """
        return starmap(BatchPosition, scan_headers(self.fd, self.path, self.base_offset, start, self.size))

    def locate(self, offset: int) -> BatchPosition | None:
        """Return the first batch whose last offset is ``offset`` or above, or None if there is none.

        Raises:
            CorruptLogError: As ``headers``.
        """
        found = self._from_entry(OffsetIndex.lookup, offset)
        for batch in found:
            if batch.header.last_offset >= offset:
                if batch.header.base_offset > offset:
                    next(found, None)  # A batch after a gap is confirmed only by the batch that follows it.
                return batch
        return None

    def headers_near(self, limit: int, start: int) -> Iterator[BatchPosition]:
        """Return the batches from the one at ``start``, or from a later one before position ``limit``."""
        if self.offset_index.lookup_position(limit).position <= start:
            return self.headers(start)
        return self._from_entry(OffsetIndex.lookup_position, limit)

    def batches_since(self, timestamp: int, first_offset: int) -> Iterator[BatchPosition]:
        """Yield the batches from ``first_offset`` on whose maximum timestamp is ``timestamp`` or later."""
        entry = self.time_index.lookup(timestamp)
        if not self._matches_batch(entry):
            self.rebuild_indexes()
            entry = self.time_index.lookup(timestamp)
        start_offset = max(entry.offset, first_offset)
        for batch in self._from_entry(OffsetIndex.lookup, start_offset):
            if batch.header.newest_timestamp >= timestamp and batch.header.last_offset >= first_offset:
                yield batch

    def read(self, position: int, size: int) -> bytes:
        """Read at most ``size`` bytes from ``position`` on."""
        return read_exactly(self.fd, min(size, self.size - position), position)

    def records(self, position: int, size: int) -> FileRecords:
        """Return at most ``size`` bytes from ``position`` on, to be read when they are needed."""
        return FileRecords(lambda: self.fd, position, min(size, self.size - position))

    def read_header(self, position: int) -> BatchHeader:
        """Return the header of the batch at ``position``."""
        return parse_header(read_exactly(self.fd, HEADER_SIZE, position))

    def batches_from(self, offset: int) -> Iterator[BatchPosition]:
        """Return the batches whose last offset is ``offset`` or above."""
        found = self._from_entry(OffsetIndex.lookup, offset)
        return (batch for batch in found if batch.header.last_offset >= offset)

    def activate(self) -> None:
        """Become the active segment: preallocate its file, and those of the indexes if it has batches."""
        if self.size < self._preallocated_size:
            set_size(self.fd, self._preallocated_size)
        if self.size:
            self._preallocate_indexes()

    def _preallocate_indexes(self) -> None:
        self.offset_index.preallocate()
        self.time_index.preallocate()

    def load_indexes(self) -> bool:
        """Load the index files; return False if they are invalid."""
        if not (self.offset_index.load() and self.time_index.load()):
            return False
        self._max_timestamp, self._offset_of_max_timestamp = self.time_index.last_entry
        self._is_max_timestamp_checked = False
        return True

    def load_end(self) -> Offset:
        """Find the largest timestamp and the segment's end from the headers after the last index entries.

        Returns:
            The offset after the last batch.

        Raises:
            CorruptLogError: The batches do not fill the file.
        """
        self._max_timestamp, self._offset_of_max_timestamp = self.time_index.last_entry
        self._is_max_timestamp_checked = True
        next_offset = self.base_offset
        for _, header in self._from_entry(OffsetIndex.lookup, self._offset_of_max_timestamp):
            next_offset = Offset(header.next_offset)
            if header.newest_timestamp > self._max_timestamp:
                self._max_timestamp = header.newest_timestamp
                self._offset_of_max_timestamp = Offset(header.last_offset)
        return next_offset

    def check_time_index(self) -> None:
        """Check that a sealed segment's time index ends with its largest timestamp; rebuild the index if not.

        The last entry must have the largest timestamp, so no batch after the offset index's last entry has a
        larger one.

        Raises:
            CorruptLogError: No valid batch begins where one should.
        """
        last = self.time_index.last_entry
        tail = self._from_entry(OffsetIndex.lookup, self.offset_index.last_entry.offset)
        if not self._matches_batch(last) or any(
            batch.header.newest_timestamp > last.timestamp for batch in tail
        ):
            self.rebuild_indexes()

    def rebuild_indexes(self) -> None:
        """Rebuild the indexes from the batches; those of an older segment are stored, too.

        Raises:
            CorruptLogError: Not all batches are readable; the indexes stay as they were.
        """
        before = self.offset_index, self.time_index, self._max_timestamp, self._offset_of_max_timestamp
        self.offset_index, self.time_index = self.offset_index.emptied(), self.time_index.emptied()
        self.reset_indexes()
        try:
            self.index_all()
        except CorruptLogError:
            self.offset_index, self.time_index, self._max_timestamp, self._offset_of_max_timestamp = before
            raise
        if before[0].is_stored:
            self.end()
            self.store_indexes()

    def index_all(self) -> None:
        """Add all batches to the empty indexes, except those in ranges known to be damaged.

        The first batch after such a range gets an entry, because no header leads from before it there.

        Raises:
            CorruptLogError: No valid batch begins where one should; the batches before are added.
        """
        starts = (0, *(each.end_position for each in self.damaged))
        ends = (*(each.position for each in self.damaged), self.size)
        interval = self._index_interval
        for start, end in zip(starts, ends, strict=True):
            if start:
                self._bytes_since_index_entry = interval + 1
            for position, header in scan_headers(self.fd, self.path, self.base_offset, start, end):
                self.index(position, header.size, header.last_offset, header.newest_timestamp, interval)

    def truncate(self, position: int, offset: int) -> None:
        """Truncate the file to ``position``, and drop the index entries of ``offset`` and later."""
        set_size(self.fd, position)
        self.size = position
        self.damaged = tuple(each for each in self.damaged if each.position < position)
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        self._bytes_since_index_entry = 0
        self._first_timestamp = None
        with contextlib.suppress(CorruptLogError):  # unreadable batches have no timestamp
            self.load_end()

    def reset_indexes(self) -> None:
        """Empty the indexes, so that every batch can be added again."""
        self.offset_index.clear()
        self.time_index.clear()
        self._max_timestamp = NO_TIMESTAMP
        self._offset_of_max_timestamp = self.base_offset
        self._is_max_timestamp_checked = True
        self._bytes_since_index_entry = 0
        self._first_timestamp = None

    def end(self) -> None:
        """Remove the preallocated rest and add the last time entry: no more batches are appended."""
        if self.size < self._preallocated_size:
            set_size(self.fd, self.size)
        self.time_index.maybe_append(self._max_timestamp, self._offset_of_max_timestamp)

    def sync(self) -> None:
        """Flush the batches and the index of aborted transactions."""
        sync(self.fd)
        self.transaction_index.sync()

    def store_indexes(self) -> None:
        """Write the indexes at their true size and flush them: on a roll and on a clean shutdown."""
        self.offset_index.store()
        self.time_index.store()

    def hold_indexes(self) -> None:
        """Keep the indexes in memory until ``release_indexes``: their files are about to be renamed."""
        self.offset_index.hold()
        self.time_index.hold()
        self.transaction_index.load()

    def release_indexes(self) -> None:
        """End ``hold_indexes``: the indexes may be unloaded and read from their files again."""
        self.offset_index.release()
        self.time_index.release()

    def unload_indexes(self) -> None:
        """Free the memory of stored indexes; the next lookup reads them again."""
        if not self.offset_index.is_stored:
            return
        self.offset_index.unload()
        self.time_index.unload()
        self.transaction_index.unload()

    def moved_to(self, directory: Path) -> None:
        """Note the new name of the directory in which the files lie."""
        for owner in (self, self.offset_index, self.time_index, self.transaction_index):
            owner.path = directory / owner.path.name

    @property
    def is_closed(self) -> bool:
        """Return whether the file is closed."""
        return self.fd == CLOSED

    def close(self) -> None:
        """Close the file, as soon as no call uses it any more."""
        self.fd = CLOSED

    def take_place_of(self, former: LogSegment) -> None:
        """Give this segment's files the names of those of ``former``, which has the same base offset.

        The batches are replaced in one step, so a crash leaves either the former ones or these. The former
        indexes are removed first, because missing ones are rebuilt by the load. The index of aborted
        transactions stays valid. The caller closes ``former``.
        """
        for index in (former.offset_index, former.time_index):
            if index.path.exists():
                remove(index.path)
        self.path = rename(self.path, former.path.name)
        self.offset_index.path = rename(self.offset_index.path, former.offset_index.path.name)
        self.time_index.path = rename(self.time_index.path, former.time_index.path.name)
        self.transaction_index = former.transaction_index

    def delete(self) -> None:
        """Close the segment and unlink its files.

        They are renamed first, so that the load completes an interrupted deletion. The directory's thread may
        unlink them: a former segment of the same base offset, which has these names, may be due.
        """
        self.close()
        renamed = []
        for suffix in names.SEGMENT_SUFFIXES:
            path = self.path.with_suffix(suffix)
            if path.exists():
                renamed.append(rename(path, path.name + names.DELETED_SUFFIX))
        for path in renamed:
            remove_whatever(path)

    def _from_entry(
        self, look_up: Callable[[OffsetIndex, int], OffsetPosition], key: int
    ) -> Iterator[BatchPosition]:
        """Return the batches from the position of the index entry that ``look_up`` finds.

        The entry is valid if a batch begins there, with a base offset up to the entry's; otherwise the index
        is rebuilt. No header leads over known damage, so batches behind it are returned from its end on.
        """
        entry = look_up(self.offset_index, key)
        past = end_of_damage(self.damaged, entry, key, is_offset=look_up is OffsetIndex.lookup)
        found, first = self.headers(past or max(entry.position, 0)), None
        if past or not entry.position:
            return found
        with contextlib.suppress(CorruptLogError):
            first = next(found, None)
        if first and first.position == entry.position and first.header.base_offset <= entry.offset:
            return chain((first,), found)
        self.rebuild_indexes()
        return self.headers(look_up(self.offset_index, key).position)

    def _matches_batch(self, entry: TimestampOffset) -> bool:
        """Return whether a time index's entry has the timestamp of the batch that holds its offset."""
        if entry.timestamp == NO_TIMESTAMP:
            return entry.offset == self.base_offset
        found = self.locate(entry.offset)
        return (
            found is not None
            and found.header.base_offset <= entry.offset
            and found.header.max_timestamp == entry.timestamp
        )

    def retire(self) -> None:
        """Rename the files and the producer snapshot; the caller closes and unlinks them later.

        The batches are renamed first: the load unlinks indexes without them.
        """
        for retired in self.retired_paths:
            path = retired.with_suffix("")
            if path.exists():
                rename(path, retired.name)

    def _age(self, max_timestamp: int, now_ms: int) -> int:
        if self.first_timestamp >= 0:
            return max_timestamp - self.first_timestamp
        return now_ms - self._created_ms

    def _read_first_timestamp(self) -> int:
        return self.read_header(0).max_timestamp if self.size >= HEADER_SIZE else NO_TIMESTAMP
