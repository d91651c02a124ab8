"""The files behind a ``Log``: segments, leader epochs and producers, and the operations on them.

Nothing is validated here, and ``OSError`` is passed on: both are the task of ``Log``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from functools import partial
from pathlib import Path

import structlog

from barnabas.broker.core.offsets_before import MAX_TIMESTAMP
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.record_batch import HEADER_SIZE, MAGIC, Buffer, RecordBatch, parse_header
from barnabas.broker.core.records.transactions import AbortedTransaction, end_marker
from barnabas.broker.disk.checkpoints import write_epochs
from barnabas.broker.disk.errors import CorruptLogError
from barnabas.broker.disk.log.flushing import Flushing, sync_segments
from barnabas.broker.disk.log.producer_snapshots import ProducerSnapshots
from barnabas.broker.disk.log.recovery import LoadedLog, rebuild_producers
from barnabas.broker.disk.log.results import FoundBatch, FoundRecords
from barnabas.broker.disk.log.segments import LogPosition
from barnabas.broker.disk.log.topic_identity import LogIdentity
from barnabas.broker.disk.names import LEADER_EPOCH_CHECKPOINT
from barnabas.broker.disk.segment.file_records import FileRecords
from barnabas.broker.disk.segment.scrub import DamagedRange, SegmentSpan
from barnabas.broker.disk.segment.segment import LogSegment
from barnabas.broker.disk.segment.swap import begin_swap, finish_swap, take_back
from barnabas.cluster.model.ids import Offset

_log = structlog.get_logger("kafka.log.Log")


class LogFiles:
    """The files of one log and their state in memory.

    Attributes:
        directory: The log's directory.
        segments: The segments, one at least.
        epochs: The leader epoch cache, as in its checkpoint.
        producers: The state of the idempotent producers.
        identity: The topic of the log.
        flushing: The flushes that were submitted.
        log_start_offset: The first offset that may be read.
        log_end_offset: The offset that the next record gets.
        gaps_end: The offset below which compaction may have left gaps.
        generation: How often the log was truncated, repaired or compacted: sealed segments stay as they are
            until the next time.
    """

    def __init__(
        self, directory: Path, loaded: LoadedLog, executor: Executor, sync_names: Callable[[], None]
    ) -> None:
        self.directory = directory
        self.segments = loaded.segments
        self.epochs = loaded.epochs
        self.producers = loaded.producers
        self.identity = LogIdentity(directory, loaded.topic)
        self.flushing = Flushing(executor, loaded.recovery_point)
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.gaps_end = loaded.gaps_end
        self._sync_names = sync_names
        self._snapshots = ProducerSnapshots(directory)
        self._swapping: LogSegment | None = None
        self.generation = 0

    def append(self, buffers: Sequence[Buffer], batches: Sequence[RecordBatch], config: LogConfig) -> None:
        """Write stamped batches to the active segment, and add them to indexes, epochs and producers.

        Args:
            buffers: The bytes of the batches.
            batches: The same batches, with their final offsets and epochs.
            config: The log's settings.
        """
        if self.identity.is_pending:
            self.identity.store()  # first, so that no other topic adopts a log with records
        segment = self.segments.active
        size = sum(batch.header.size for batch in batches)
        position = segment.write(buffers, size)
        self.segments.remember(batches[0].header.base_offset, segment, position)
        new_epoch, end_offset = False, self.log_end_offset
        for batch in batches:
            header = batch.header
            if header.base_offset > end_offset:
                self.gaps_end = Offset(header.base_offset)
            end_offset = Offset(header.next_offset)
            segment.index(
                position,
                header.size,
                header.last_offset,
                header.newest_timestamp,
                config.index_interval_bytes,
            )
            position += header.size
            new_epoch |= self.epochs.assign_from(header)
            segment.update_producers(self.producers, header, end_marker(batch) if header.is_control else None)
        self.log_end_offset = end_offset
        if new_epoch:
            self.store_epochs()

    def group(self, batches: Sequence[RecordBatch], start: int, config: LogConfig) -> Sequence[RecordBatch]:
        """Return the batches from ``start`` on that one write appends, before the segment must roll."""
        end, size = start + 1, batches[start].header.size
        free = config.segment_bytes - self.segments.active.size
        while end < len(batches) and size + batches[end].header.size <= free:
            size += batches[end].header.size
            end += 1
        return batches[start:end]

    def roll(self, config: LogConfig, now_ms: int, base_offset: Offset | None = None) -> None:
        """Begin a new segment; the old one is sealed on the directory's thread.

        Args:
            config: The log's settings.
            now_ms: Wall time in milliseconds.
            base_offset: The base offset of the next batch, if it is not the log end offset: a compacted log's
                leader sends batches with gaps between them.
        """
        old, end_offset = self.segments.active, self.log_end_offset if base_offset is None else base_offset
        old.end()
        producers = self.producers.snapshot()
        doubtful = self.segments.from_offset(self.flushing.recovery_point())
        new = LogSegment(self.directory, end_offset, config, now_ms)
        new.activate()
        self.segments.add(new)

        def seal() -> None:
            self._snapshots.write(end_offset, producers.encode())
            old.store_indexes()
            old.unload_indexes()
            self._sync(doubtful)

        self.flushing.begin(seal, end_offset)

    def retire_first(self, count: int) -> list[LogSegment]:
        """Remove the oldest ``count`` segments; their files are renamed on the directory's thread.

        Returns:
            The segments, still open for their readers.
        """
        removed = self.segments.remove_first(count)

        def retire() -> None:
            for segment in removed:
                segment.retire()

        self.flushing.begin(retire, Offset(0))
        return removed

    def last_stable_offset(self, high_watermark: Offset) -> Offset:
        """Return the end of what a read_committed consumer may see."""
        unstable = self.producers.transactions.first_unstable_offset(high_watermark)
        if unstable is None or unstable >= high_watermark:
            return high_watermark
        return max(unstable, self.log_start_offset)

    def aborted_transactions(self, start_offset: Offset, end_offset: Offset) -> list[AbortedTransaction]:
        """Return the aborted transactions with records from ``start_offset`` to before ``end_offset``."""
        found = []
        for segment in self.segments.from_offset(start_offset):
            of_segment, is_complete = segment.transaction_index.collect(start_offset, end_offset)
            found += of_segment
            if is_complete:
                break
        return found

    def spans(self) -> list[SegmentSpan]:
        """Return the span of each segment, oldest first."""
        return [self._span(segment) for segment in self.segments]

    def damaged_spans(self) -> list[SegmentSpan]:
        """Return the spans of the segments with known damage, oldest first."""
        return [self._span(segment) for segment in self.segments if segment.damaged]

    def _span(self, segment: LogSegment) -> SegmentSpan:
        end_offset = self.segments.end_of(segment, self.log_end_offset)
        return SegmentSpan(
            segment.path,
            segment.base_offset,
            end_offset,
            segment.size,
            self.generation,
            self.epochs.latest_epoch,
        )

    def damage_in(self, span: SegmentSpan) -> tuple[DamagedRange, ...]:
        """Return the known damage of the segment of ``span``."""
        return next((each.damaged for each in self.segments if each.path == span.path), ())

    def note_damage(self, span: SegmentSpan, damaged: Sequence[DamagedRange]) -> bool:
        """Note damaged ranges, which are not read from now on.

        Returns:
            False if ``span`` is out of date, or the damage was known.
        """
        segment = next((each for each in self.segments if each.path == span.path), None)
        if segment is None or span.generation != self.generation or segment.damaged == tuple(damaged):
            return False
        segment.damaged = tuple(damaged)
        return True

    def replace_segment(self, span: SegmentSpan, new: LogSegment) -> LogSegment | None:
        """Replace the segment of ``span`` by ``new``, which a ``SegmentReplacement`` has written.

        Returns:
            The former segment, still open for its readers; None if it has changed since, or is active.
        """
        former = next((each for each in self.segments if each.path == span.path), None)
        if former is None or former is self.segments.active or span.generation != self.generation:
            return None
        self.generation += 1
        new.take_place_of(former)
        self.segments.exchange((former,), new)
        self.flushing.begin(lambda: self._sync([new]), Offset(0))
        return former

    def begin_swap(self, new: LogSegment) -> Future[None]:
        """Begin to put a compacted segment in the place of others; ``end_swap`` follows once this is done."""
        self._swapping = new
        return self.flushing.begin(partial(begin_swap, new), Offset(0))

    def end_swap(
        self, new: LogSegment, base_offsets: Sequence[Offset], generation: int
    ) -> tuple[LogSegment, ...]:
        """Put ``new`` in the place of the segments of these base offsets.

        Returns the former segments, still open for their readers; no segments if the log's generation has
        changed, or one of them is gone: then ``new`` is unlinked.
        """
        wanted = set(base_offsets)
        formers = tuple(each for each in self.segments if each.base_offset in wanted)
        is_taken_back = self._swapping is not new
        self._swapping = None
        if is_taken_back:
            return ()
        if generation != self.generation or len(formers) != len(wanted):
            self.flushing.begin(partial(take_back, new), Offset(0))
            return ()
        self.generation += 1
        self.gaps_end = max(self.gaps_end, self.segments.end_of(formers[-1], self.log_end_offset))
        self.segments.exchange(formers, new)
        self.flushing.begin(partial(finish_swap, new, formers), Offset(0))
        return formers

    def _take_back_swap(self) -> None:
        """Unlink a compacted segment that is about to be put in place: the log is truncated.

        A start of the broker would complete the swap, and bring back what was truncated.
        """
        if self._swapping is not None:
            take_back(self._swapping)
            self._swapping = None

    def begin_flush(self) -> None:
        """Submit a flush of all that is not known to be flushed to the directory's thread."""
        doubtful = self.segments.from_offset(self.flushing.recovery_point())
        self.flushing.begin(lambda: self._sync(doubtful), self.log_end_offset)

    def _sync(self, segments: Sequence[LogSegment]) -> None:
        sync_segments(segments, self.directory)
        self._sync_names()

    def seal(self) -> None:
        """Store the active segment's indexes and a producer snapshot; everything else is flushed."""
        active = self.segments.active
        active.end()
        active.store_indexes()
        self._snapshots.write(self.log_end_offset, self.producers.snapshot().encode())

    def store_epochs(self) -> None:
        """Replace the epoch checkpoint; the next flush makes it durable.

        A flush here would block the event loop at every election (Kafka removed it, too: KAFKA-15046). If
        power fails before the next flush, recovery reads the epochs from the batches.
        """
        write_epochs(self.directory / LEADER_EPOCH_CHECKPOINT, self.epochs.entries, durable=False)

    def read(
        self, offset: Offset, max_bytes: int, upper_bound: Offset, *, min_one_batch: bool
    ) -> FoundRecords:
        """Read whole batches of one segment, from the one that holds ``offset`` on, below ``upper_bound``.

        Raises:
            CorruptLogError: There is no batch where that one should begin.
        """
        self._refuse_damaged(offset)
        start = self.segments.locate(offset)
        end_offset, end = self._end_of_read(start, upper_bound)
        if end <= start.position:
            return FoundRecords(b"", offset)
        # Stop before the first range that is already known to be damaged ...
        for damaged in start.segment.damaged:
            if start.position < damaged.position < end:
                end_offset, end = damaged.first_offset, damaged.position
                break
        # ... and before damage that this read finds.
        try:
            found = self._read_up_to(end_offset, end, start, max_bytes, min_one_batch=min_one_batch)
        except CorruptLogError as error:
            if error.position <= start.position:
                raise
            end_offset, end = error.next_offset, error.position
            found = self._read_up_to(end_offset, end, start, max_bytes, min_one_batch=min_one_batch)
        _check_first_batch(found.records, start, offset)
        return found

    def _refuse_damaged(self, offset: Offset) -> None:
        """Check that ``offset`` does not lie in a range known to be damaged.

        Raises:
            CorruptLogError: It does.
        """
        segment = self.segments.from_offset(offset)[0]
        for damaged in segment.damaged:
            if damaged.first_offset <= offset < damaged.end_offset:
                raise CorruptLogError(segment.path, damaged.position, damaged.first_offset, str(damaged))

    def _end_of_read(self, start: LogPosition, upper_bound: Offset) -> tuple[Offset, int]:
        """Return the offset and position up to which the segment of ``start`` may be read."""
        segment = start.segment
        end_offset, end = self.segments.end_of(segment, self.log_end_offset), segment.size
        if upper_bound < end_offset:
            try:
                stop = self.segments.locate(upper_bound)
            except CorruptLogError as error:
                if error.path != segment.path:
                    return end_offset, end  # a gap leads to the next segment, which is damaged
                if error.position > start.position:
                    return error.next_offset, error.position
                return self._end_from(start, upper_bound)
            if stop.segment is segment:
                return stop.offset, stop.position
        return end_offset, end

    def _end_from(self, start: LogPosition, upper_bound: Offset) -> tuple[Offset, int]:
        """Return what ``_end_of_read`` does, by the headers from ``start`` on: there is damage before it.

        Raises:
            CorruptLogError: No valid batch begins at ``start``.
        """
        segment = start.segment
        try:
            for position, header in segment.headers(start.position):
                if header.last_offset >= upper_bound:
                    return Offset(header.base_offset), position
        except CorruptLogError as error:
            if error.position <= start.position:
                raise
            return error.next_offset, error.position
        return self.segments.end_of(segment, self.log_end_offset), segment.size

    def _read_up_to(
        self, end_offset: Offset, end: int, start: LogPosition, max_bytes: int, *, min_one_batch: bool
    ) -> FoundRecords:
        part = self.segments.read(start, end, max_bytes, min_one_batch=min_one_batch)
        return part or FoundRecords(start.segment.records(start.position, end - start.position), end_offset)

    def bytes_between(self, start_offset: Offset, end_offset: Offset) -> int:
        """Return the bytes of the batches from the one that holds ``start_offset`` up to ``end_offset``."""
        return self.segments.bytes_between(self._locate(start_offset), self._locate(end_offset))

    def batch_since(self, timestamp: int, offset: Offset) -> FoundBatch | None:
        """Return the first batch with ``offset`` or later and maximum timestamp ``timestamp`` or later.

        `MAX_TIMESTAMP` stands for the largest timestamp of all batches.
        """
        if timestamp == MAX_TIMESTAMP:
            timestamp = max(segment.max_timestamp for segment in self.segments)
        for segment in self.segments:
            if segment.max_timestamp < timestamp:
                continue
            for position, header in segment.batches_since(timestamp, offset):
                data = memoryview(segment.read(position, header.size))
                return FoundBatch(segment.path, position, RecordBatch(header, data))
        return None

    def truncate_to(self, offset: Offset, producers_idle_since_ms: int) -> bool:
        """Drop the batches that hold ``offset`` or lie after it; ``offset`` lies within the segments.

        If batches below ``offset`` are unreadable, they go, too: the log then ends before the first of them.
        The producer state is rebuilt, without producers of the snapshot that have been idle too long.

        Returns:
            Whether the recovery point was lowered.
        """
        # A. Stop what works on the files: flushes that run, and the swap of a compacted segment. The new
        # generation voids cleanings and checks that have begun.
        self.flushing.finish()
        self._take_back_swap()
        self.generation += 1
        # B. Find the cut. If no valid batch leads to the offset, cut before the damage instead.
        try:
            found = self.segments.locate(offset)
        except CorruptLogError as error:
            _log.warning(
                f"[Log partition={self.directory.name}, dir={self.directory.parent}] Found invalid messages "
                f"below offset {offset}, truncating to offset {error.next_offset}: {error}"
            )
            offset, segment = error.next_offset, self.segments.holding(error.path)
            offset = max(offset, segment.base_offset)
            found = LogPosition(segment, error.position, offset)
        # C. Delete the segments after the cut, the last one first: a crash in between leaves a log without
        # gaps. Then cut the segment that holds the offset, which becomes the active one.
        for segment in reversed(self.segments.remove_from(offset + 1)):
            segment.delete()
        active = self.segments.active
        position = found.position if found.segment is active else active.size
        active.truncate(position, offset)
        active.activate()
        # D. Bring everything that describes the dropped batches back to the new end: offsets, leader
        # epochs, snapshots and producers. If the cut lies inside a batch, the whole batch goes.
        self.log_end_offset = min(offset, found.offset)
        self.log_start_offset = min(self.log_start_offset, self.log_end_offset)
        self.gaps_end = min(self.gaps_end, self.log_end_offset)
        if self.epochs.truncate_from_end(self.log_end_offset):
            self.store_epochs()
        self._snapshots.remove_above(self.log_end_offset)
        self.producers = rebuild_producers(
            self.segments,
            self._snapshots,
            self.log_start_offset,
            self.log_end_offset,
            producers_idle_since_ms,
        )
        return self.flushing.lower_to(self.log_end_offset)

    def start_over_at(self, offset: Offset, config: LogConfig, now_ms: int) -> bool:
        """Drop all records and start at ``offset``; return whether the recovery point was lowered."""
        self.identity.store()  # an end offset above 0 belongs to this topic, as records do
        self.flushing.finish()
        self._take_back_swap()
        self.generation += 1
        for segment in reversed(self.segments.remove_from(0)):
            segment.delete()
        new = LogSegment(self.directory, offset, config, now_ms)
        new.activate()
        self.segments.add(new)
        self.log_start_offset = self.log_end_offset = offset
        self.gaps_end = min(self.gaps_end, offset)
        if self.epochs.clear():
            self.store_epochs()
        self._snapshots.remove_above(-1)
        self.producers.clear()
        return self.flushing.lower_to(offset)

    def moved_to(self, directory: Path) -> None:
        """Note the new name of the directory; no work on its thread may be pending."""
        self.directory = directory
        self.identity.directory = directory
        self._snapshots = ProducerSnapshots(directory)
        for segment in self.segments:
            segment.moved_to(directory)

    def close(self) -> None:
        """Close the files as they are."""
        self.flushing.drop()
        for segment in self.segments:
            segment.close()

    def _locate(self, offset: Offset) -> LogPosition:
        if offset >= self.log_end_offset:
            return LogPosition(self.segments.active, self.segments.active.size, offset)
        return self.segments.locate(offset)


def _check_first_batch(records: bytes | FileRecords, start: LogPosition, offset: Offset) -> None:
    """Check that a batch begins at the start of a read: a remembered boundary may have been damaged since.

    Raises:
        CorruptLogError: No batch of ``offset`` begins there.
    """
    if not records:
        return
    path, position = start.segment.path, start.position
    if len(records) < HEADER_SIZE:
        raise CorruptLogError(path, position, offset, f"{len(records)} bytes, expected a batch")
    header = parse_header(records if isinstance(records, bytes) else records.read(0, HEADER_SIZE))
    if header.magic != MAGIC or header.size < HEADER_SIZE or header.last_offset < offset:
        found = f"magic {header.magic}, {header.size} bytes, last offset {header.last_offset}"
        raise CorruptLogError(path, position, offset, f"{found}, expected the batch of offset {offset}")
