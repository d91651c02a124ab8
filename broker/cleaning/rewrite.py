"""The file work of one compaction: read a log's sealed segments, write those that replace them.

The log's own files do not change: the new ones end in ``.cleaned``, and the log's owner puts them in place
(``broker.disk.segment.swap``). So the work can run in another process, beside the log's traffic.

Source: ``LogCleaner.scala`` (``Cleaner.buildOffsetMap``, ``cleanSegments``, ``cleanInto``) of Kafka 2.8.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from mmap import mmap
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.cleaning.core.batches import CleanedBatch, cleaned, emptied, records_in
from barnabas.broker.cleaning.core.choice import SegmentSize, delete_horizon_ms, groups
from barnabas.broker.cleaning.core.offset_map import OffsetMap
from barnabas.broker.cleaning.core.transactions import CleanedTransactions
from barnabas.broker.cleaning.job import CleaningJob
from barnabas.broker.core.records.keyed_records import NO_KEY, keyed_records
from barnabas.broker.core.records.record_batch import Buffer, RecordBatch
from barnabas.broker.core.records.transactions import AbortedTransaction, end_marker
from barnabas.broker.disk.errors import CorruptLogError
from barnabas.broker.disk.files import (
    close_file,
    expect_sequential_reads,
    open_to_read,
    remove,
    touch,
)
from barnabas.broker.disk.names import (
    CLEANED_SUFFIX,
    LOG_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_file,
)
from barnabas.broker.disk.segment.scan import whole_batches_of
from barnabas.broker.disk.segment.segment import LogSegment
from barnabas.broker.disk.segment.transaction_index import TransactionIndex
from barnabas.cluster.model.ids import Offset


@dataclass(slots=True)
class CleaningStats:
    """The figures of a cleaning, as Kafka logs them (``CleanerStats``).

    Attributes:
        map_bytes_read: Bytes read for the offset map.
        bytes_read: Bytes read to be rewritten.
        bytes_written: Bytes of the new segments.
        messages_read: Records read to be rewritten.
        messages_written: Records of the new segments.
        invalid_messages: Records without a key, which were dropped.
        utilization: The share of the offset map that was in use.
        index_s: How long the offset map took, in seconds.
        elapsed_s: How long all of it took, in seconds.
    """

    map_bytes_read: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    messages_read: int = 0
    messages_written: int = 0
    invalid_messages: int = 0
    utilization: float = 0.0
    index_s: float = 0.0
    elapsed_s: float = 0.0


class Progress(NamedTuple):
    """A step in which bytes were read and written; the cleaning continues when it is resumed."""

    bytes_moved: int


class NewSegment(NamedTuple):
    """A step in which a new segment was completed; its files end in ``.cleaned``.

    Attributes:
        base_offset: Its base offset, which is that of the first segment it replaces.
        replaced: The base offsets of the segments that it replaces.
    """

    base_offset: Offset
    replaced: tuple[Offset, ...]


class Cleaned(NamedTuple):
    """The end of a cleaning.

    Attributes:
        next_dirty_offset: The offset at which the dirty section begins now.
        stats: The figures.
    """

    next_dirty_offset: Offset
    stats: CleaningStats


Step = Progress | NewSegment | Cleaned


def clean(job: CleaningJob) -> Iterator[Step]:
    """Compact the segments of ``job``, step by step; closing the generator removes unfinished files.

    The caller puts each yielded segment in place or removes it. `Cleaned` comes last.

    Raises:
        CorruptLogError: A batch is damaged, or its records cannot be read.
        MemoryError: There is none for the offset map.
        OSError: The disk refused, or a segment has gone meanwhile.
    """
    return _Cleaning(job).run()


def remove_cleaned(directory: Path) -> None:
    """Unlink all unfinished files of a cleaning.

    None may be left: a starting broker takes a ``.swap`` after a ``.cleaned`` for half of a split, and undoes
        it.
    """
    for path in directory.glob(f"*{CLEANED_SUFFIX}"):
        remove(path)


def _memory(size: int) -> mmap:
    """Return ``size`` bytes of zeros, which take no memory before they are written.

    Raises:
        MemoryError: The system has too little; it is no error of a file.
    """
    try:
        return mmap(-1, size)
    except OSError as error:
        raise MemoryError(f"no {size} bytes for the offset map: {error}") from error


@dataclass(slots=True)
class _Chunk:
    """The batches of one write."""

    batches: list[RecordBatch] = field(default_factory=list)
    read: int = 0

    @property
    def size(self) -> int:
        return sum(batch.header.size for batch in self.batches)


class _Cleaning:
    def __init__(self, job: CleaningJob) -> None:
        self._job = job
        self._directory = job.directory
        self._last_batches = {each.producer_id: each for each in job.producers}
        self._stats = CleaningStats()
        self._aborted = list(self._aborted_transactions())

    def run(self) -> Iterator[Step]:
        job, stats, started = self._job, self._stats, time.monotonic()
        remove_cleaned(self._directory)
        with _memory(job.memory.map_bytes) as memory:
            offsets = OffsetMap(memory, job.memory.load_factor)
            yield from self._build(offsets)
            stats.utilization = offsets.utilization
            stats.index_s = time.monotonic() - started
            next_dirty = Offset(offsets.latest_offset + 1)
            horizon = delete_horizon_ms(job.segments, job.first_dirty_offset, job.config.delete_retention_ms)
            transactions = CleanedTransactions(self._aborted)
            due = [segment for segment in job.segments if segment.base_offset < next_dirty]
            for group in groups(due, job.config.segment_bytes, job.config.segment_index_bytes):
                yield from self._rewrite(group, offsets, transactions, horizon)
        stats.elapsed_s = time.monotonic() - started
        yield Cleaned(next_dirty, stats)

    def _aborted_transactions(self) -> Iterator[AbortedTransaction]:
        for segment in self._job.segments:
            path = segment_file(self._directory, segment.base_offset, TRANSACTION_INDEX_SUFFIX)
            yield from TransactionIndex(path).entries
        yield from self._job.aborted_later

    def _build(self, offsets: OffsetMap) -> Iterator[Step]:
        """Put the keys of the dirty section into the map, until it is full."""
        job = self._job
        offsets.latest_offset = job.first_dirty_offset - 1
        transactions = CleanedTransactions(self._aborted)
        for segment in job.segments:
            if segment.end_offset <= job.first_dirty_offset:
                continue
            chunk = 0
            for batch in self._batches(segment):
                if not self._put_batch(batch, offsets, transactions):
                    self._stats.map_bytes_read += chunk
                    return
                chunk += batch.header.size
                if chunk >= job.memory.buffer_bytes:
                    self._stats.map_bytes_read += chunk
                    yield Progress(chunk)
                    chunk = 0
            self._stats.map_bytes_read += chunk
            yield Progress(chunk)
            # There are no records between the last batch and the next segment: an earlier cleaning has
            # dropped them.
            offsets.latest_offset = segment.end_offset - 1

    def _put_batch(self, batch: RecordBatch, offsets: OffsetMap, transactions: CleanedTransactions) -> bool:
        """Put the keys of a batch into the map; return whether it took all of them."""
        header, first_dirty = batch.header, self._job.first_dirty_offset
        if header.is_control:
            transactions.may_drop_marker(header, end_marker(batch))
        elif not transactions.is_aborted(header) and header.last_offset >= first_dirty:
            base_offset, put = header.base_offset, offsets.put
            records = records_in(batch)
            for _, _, _, offset_delta, key_begin, key_end, _ in keyed_records(header, records):
                if key_begin == NO_KEY or base_offset + offset_delta < first_dirty:
                    continue
                if len(offsets) >= offsets.capacity:
                    return False
                put(records[key_begin:key_end], base_offset + offset_delta)
        if header.last_offset >= first_dirty:
            offsets.latest_offset = header.last_offset
        return True

    def _batches(self, segment: SegmentSize) -> Iterator[RecordBatch]:
        """Yield the batches of a segment, each with its checksum verified.

        Raises:
            CorruptLogError: One is damaged, or the caller has found that its records cannot be read.
        """
        path = segment_file(self._directory, segment.base_offset, LOG_SUFFIX)
        end, next_offset = 0, segment.base_offset
        fd = open_to_read(path)
        try:
            expect_sequential_reads(fd)
            for position, batch in whole_batches_of(fd, 0, segment.size, self._job.memory.buffer_bytes):
                header = batch.header
                if not next_offset <= header.base_offset <= header.last_offset < segment.end_offset:
                    break
                next_offset = Offset(header.next_offset)
                yield batch
                end = position + header.size
        finally:
            close_file(fd)
        if end != segment.size:
            raise CorruptLogError(path, end, next_offset, "expected a batch with its checksum")

    def _rewrite(
        self,
        group: Sequence[SegmentSize],
        offsets: OffsetMap,
        transactions: CleanedTransactions,
        horizon_ms: int,
    ) -> Iterator[Step]:
        """Write one segment that replaces a group."""
        base_offset, stats = group[0].base_offset, self._stats
        new = LogSegment(self._directory, base_offset, self._job.config, 0, CLEANED_SUFFIX)
        is_finished = False
        try:
            for source in group:
                retains_deletes = source.modified_ms > horizon_ms
                chunk = _Chunk()
                for batch in self._batches(source):
                    kept = self._cleaned(batch, offsets, transactions, retains_deletes=retains_deletes)
                    stats.messages_read += batch.header.record_count
                    stats.messages_written += kept.kept
                    stats.invalid_messages += kept.without_key
                    chunk.read += batch.header.size
                    if kept.batch is not None:
                        chunk.batches.append(kept.batch)
                    if chunk.read >= self._job.memory.buffer_bytes:
                        yield self._write(new, chunk, transactions)
                        chunk = _Chunk()
                yield self._write(new, chunk, transactions)
            new.end()
            new.store_indexes()
            new.sync()
            touch(new.path, group[-1].modified_ms)
            is_finished = True
        finally:
            new.close()
            if not is_finished:
                remove_cleaned(self._directory)
        yield NewSegment(base_offset, tuple(source.base_offset for source in group))

    def _cleaned(
        self,
        batch: RecordBatch,
        offsets: OffsetMap,
        transactions: CleanedTransactions,
        *,
        retains_deletes: bool,
    ) -> CleanedBatch:
        header = batch.header
        last = self._last_batches.get(header.producer_id)
        keeps_sequence = last is not None and last.is_last(header)
        if header.is_control:
            marker = end_marker(batch)
            is_known = marker is not None or not header.record_count
            is_dropped = transactions.may_drop_marker(header, marker) and is_known and not retains_deletes
        else:
            is_dropped = transactions.is_aborted(header)
        if is_dropped or not header.record_count:
            return CleanedBatch(emptied(batch) if keeps_sequence else None, 0, 0)
        if header.is_control:
            return CleanedBatch(batch, header.record_count, 0)
        return cleaned(batch, offsets, retains_deletes=retains_deletes, keeps_sequence=keeps_sequence)

    def _write(self, new: LogSegment, chunk: _Chunk, transactions: CleanedTransactions) -> Progress:
        """Append the batches to the new segment, and take them into its indexes."""
        size, buffers = chunk.size, [batch.data for batch in chunk.batches]
        if buffers:
            position = new.write(list[Buffer](buffers), size)
            for header, _ in chunk.batches:
                new.index(
                    position,
                    header.size,
                    header.last_offset,
                    header.newest_timestamp,
                    self._job.config.index_interval_bytes,
                )
                position += header.size
        for aborted in transactions.kept:
            new.transaction_index.append(aborted)
        transactions.kept.clear()
        self._stats.bytes_read += chunk.read
        self._stats.bytes_written += size
        return Progress(chunk.read + size)
