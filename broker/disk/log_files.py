"""What lies behind a ``Log``: its segments, epochs and producers, and the file operations on them.

Nothing is judged here, and ``OSError`` comes out as it is: ``Log`` does both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path

import structlog

from barnabas.broker.core.log_config import LogConfig
from barnabas.broker.core.producer_state import encode_snapshot
from barnabas.broker.core.record_batch import HEADER_SIZE, MAGIC, Buffer, RecordBatch, parse_header
from barnabas.broker.core.transactions import AbortedTransaction, end_marker
from barnabas.broker.disk.checkpoints import write_epochs
from barnabas.broker.disk.errors import CorruptLogError
from barnabas.broker.disk.file_records import FileRecords
from barnabas.broker.disk.flushing import Flushing, sync_segments
from barnabas.broker.disk.names import LEADER_EPOCH_CHECKPOINT
from barnabas.broker.disk.producer_snapshots import ProducerSnapshots
from barnabas.broker.disk.recovery import LoadedLog, rebuild_producers
from barnabas.broker.disk.results import FoundBatch, FoundRecords
from barnabas.broker.disk.scrub import DamagedRange, SegmentSpan
from barnabas.broker.disk.segment import LogSegment
from barnabas.broker.disk.segments import LogPosition
from barnabas.broker.disk.topic_identity import LogIdentity
from barnabas.cluster.model.ids import Offset

_log = structlog.get_logger("kafka.log.Log")


class LogFiles:
    """The files of one log and what is kept in memory of them.

    Attributes:
        directory: Where they lie.
        segments: At least one.
        epochs: The leader epoch cache, as in its checkpoint.
        producers: What the idempotent producers have written.
        identity: The topic of the log.
        flushing: What is under way to the disk.
        log_start_offset: The first offset that may be read.
        log_end_offset: The offset that the next record gets.
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
        self._sync_names = sync_names
        self._snapshots = ProducerSnapshots(directory)
        self._retiring: list[LogSegment] = []
        self._generation = 0

    def append(self, buffers: Sequence[Buffer], batches: Sequence[RecordBatch], config: LogConfig) -> None:
        """Write stamped batches to the active segment in one call, and take them into everything kept of it.

        Args:
            buffers: Their bytes.
            batches: The same, with the offsets and epochs under which they are written.
            config: The log's settings.
        """
        if self.identity.is_pending:
            self.identity.store()  # first: a log with records must not be adopted by another topic
        segment = self.segments.active
        size = sum(batch.header.size for batch in batches)
        position = segment.write(buffers, size)
        self.segments.remember(batches[0].header.base_offset, segment, position)
        new_epoch = False
        for batch in batches:
            header = batch.header
            segment.note(
                position, header.size, header.last_offset, header.max_timestamp, config.index_interval_bytes
            )
            position += header.size
            new_epoch |= self.epochs.assign_from(header)
            segment.update_producers(self.producers, header, end_marker(batch) if header.is_control else None)
        self.log_end_offset = Offset(batches[-1].header.next_offset)
        if new_epoch:
            self.store_epochs()

    def group(self, batches: Sequence[RecordBatch], start: int, config: LogConfig) -> Sequence[RecordBatch]:
        """The batches from ``start`` on that go into one segment with one write: all, unless it must roll."""
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
            base_offset: Of the batch that comes next, where that is not the log end offset: a leader whose
                log was compacted sends its followers batches with gaps between them.
        """
        old, end_offset = self.segments.active, self.log_end_offset if base_offset is None else base_offset
        old.end()
        snapshot = encode_snapshot(self.producers)
        doubtful = self.segments.from_offset(self.flushing.recovery_point())
        new = LogSegment(self.directory, end_offset, config, now_ms)
        new.activate()
        self.segments.add(new)

        def seal() -> None:
            self._snapshots.write(end_offset, snapshot)
            old.store_indexes()
            old.unload_indexes()
            self._sync(doubtful)

        self.flushing.begin(seal, end_offset)

    def retire_first(self, count: int) -> list[Path]:
        """Take out the oldest ``count`` segments; their files are renamed on the directory's thread.

        Returns what they are called then, to be unlinked later.
        """
        removed = self.segments.remove_first(count)
        self._retiring = [segment for segment in self._retiring if not segment.is_closed] + removed

        def retire() -> None:
            for segment in removed:
                segment.retire()

        self.flushing.begin(retire, Offset(0))
        return [path for segment in removed for path in segment.retired_paths]

    def last_stable_offset(self, high_watermark: Offset) -> Offset:
        """Return the end of what a read_committed consumer may see."""
        unstable = self.producers.transactions.first_unstable_offset(high_watermark)
        if unstable is None or unstable >= high_watermark:
            return high_watermark
        return max(unstable, self.log_start_offset)

    def aborted_transactions(self, start_offset: Offset, end_offset: Offset) -> list[AbortedTransaction]:
        """The aborted transactions with records from ``start_offset`` up to ``end_offset``, exclusive."""
        found = []
        for segment in self.segments.from_offset(start_offset):
            of_segment, is_complete = segment.transaction_index.collect(start_offset, end_offset)
            found += of_segment
            if is_complete:
                break
        return found

    def spans(self) -> list[SegmentSpan]:
        """What each segment covers, oldest first."""
        return [self._span(segment) for segment in self.segments]

    def damaged_spans(self) -> list[SegmentSpan]:
        """What the segments cover of which a range is known to be damaged, oldest first."""
        return [self._span(segment) for segment in self.segments if segment.damaged]

    def _span(self, segment: LogSegment) -> SegmentSpan:
        end_offset = self.segments.end_of(segment, self.log_end_offset)
        return SegmentSpan(
            segment.path,
            segment.base_offset,
            end_offset,
            segment.size,
            self._generation,
            self.epochs.latest_epoch,
        )

    def damage_in(self, span: SegmentSpan) -> tuple[DamagedRange, ...]:
        """What is known to be damaged in the segment of ``span``."""
        return next((each.damaged for each in self.segments if each.path == span.path), ())

    def note_damage(self, span: SegmentSpan, damaged: Sequence[DamagedRange]) -> bool:
        """Read no batch of these ranges from now on.

        Returns False if ``span`` is out of date, or nothing of it was unknown.
        """
        segment = next((each for each in self.segments if each.path == span.path), None)
        if segment is None or span.generation != self._generation or segment.damaged == tuple(damaged):
            return False
        segment.damaged = tuple(damaged)
        return True

    def replace_segment(self, span: SegmentSpan, new: LogSegment) -> bool:
        """Put ``new``, whose files end in ``.cleaned``, in the place of the segment of ``span``.

        Returns False if that segment has changed since, or is active.
        """
        former = next((each for each in self.segments if each.path == span.path), None)
        if former is None or former is self.segments.active or span.generation != self._generation:
            return False
        self._generation += 1
        new.take_place_of(former)
        self.segments.exchange(former, new)
        self._retiring = [segment for segment in self._retiring if not segment.is_closed] + [former]

        def settle() -> None:
            former.close()  # only now: a flush that began before may be at it
            self._sync([new])

        self.flushing.begin(settle, Offset(0))
        return True

    def begin_flush(self) -> None:
        """Have all that is not known to be on the disk put there, on the directory's thread."""
        doubtful = self.segments.from_offset(self.flushing.recovery_point())
        self.flushing.begin(lambda: self._sync(doubtful), self.log_end_offset)

    def _sync(self, segments: Sequence[LogSegment]) -> None:
        sync_segments(segments, self.directory)
        self._sync_names()

    def seal(self) -> None:
        """Store the active segment's indexes and a producer snapshot; all else is flushed."""
        active = self.segments.active
        active.end()
        active.store_indexes()
        self._snapshots.write(self.log_end_offset, encode_snapshot(self.producers))

    def store_epochs(self) -> None:
        """Replace the epoch checkpoint; the next flush makes it durable.

        Waiting for the disk here would hold up the loop at every election (KAFKA-15046 took it out of Kafka
        too). Should power fail before, the epochs are in the batches that recovery reads.
        """
        write_epochs(self.directory / LEADER_EPOCH_CHECKPOINT, self.epochs.entries, durable=False)

    def read(
        self, offset: Offset, max_bytes: int, upper_bound: Offset, *, min_one_batch: bool
    ) -> FoundRecords:
        """Whole batches from the one that holds ``offset`` on, below ``upper_bound``, of one segment.

        Raises:
            CorruptLogError: There is no batch where that one should begin.
        """
        self._refuse_damaged(offset)
        start = self.segments.locate(offset)
        end_offset, end = self._end_of_read(start, upper_bound)
        if end <= start.position:
            return FoundRecords(b"", offset)
        for damaged in start.segment.damaged:
            if start.position < damaged.position < end:
                end_offset, end = damaged.first_offset, damaged.position
                break
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
        """Do not even look for a batch that is known to be damaged: no index leads there."""
        segment = self.segments.from_offset(offset)[0]
        for damaged in segment.damaged:
            if damaged.first_offset <= offset < damaged.end_offset:
                raise CorruptLogError(segment.path, damaged.position, damaged.first_offset, str(damaged))

    def _end_of_read(self, start: LogPosition, upper_bound: Offset) -> tuple[Offset, int]:
        """Up to where the segment of ``start`` may be read: offset and position."""
        segment = start.segment
        end_offset, end = self.segments.end_of(segment, self.log_end_offset), segment.size
        if upper_bound < end_offset:
            try:
                stop = self.segments.locate(upper_bound)
            except CorruptLogError as error:
                if error.path == segment.path:
                    return error.next_offset, error.position
                raise
            if stop.segment is segment:
                return stop.offset, stop.position
        return end_offset, end

    def _read_up_to(
        self, end_offset: Offset, end: int, start: LogPosition, max_bytes: int, *, min_one_batch: bool
    ) -> FoundRecords:
        part = self.segments.read(start, end, max_bytes, min_one_batch=min_one_batch)
        return part or FoundRecords(start.segment.records(start.position, end - start.position), end_offset)

    def bytes_between(self, start_offset: Offset, end_offset: Offset) -> int:
        """Bytes of the batches from the one that holds ``start_offset`` up to ``end_offset``."""
        return self.segments.bytes_between(self._locate(start_offset), self._locate(end_offset))

    def batch_since(self, timestamp: int, offset: Offset) -> FoundBatch | None:
        """The first batch with ``offset`` or later whose maximum timestamp is ``timestamp`` or later."""
        for segment in self.segments:
            if segment.max_timestamp < timestamp:
                continue
            for position, header in segment.batches_since(timestamp, offset):
                data = memoryview(segment.read(position, header.size))
                return FoundBatch(segment.path, position, RecordBatch(header, data))
        return None

    def truncate_to(self, offset: Offset, producers_idle_since_ms: int) -> bool:
        """Drop the batches that hold ``offset`` or lie after it; ``offset`` lies within the segments.

        Where batches below ``offset`` cannot be read, they go, too: the log ends before the first of them.
        Producers are known again as they were, save those of the snapshot that have been idle since then.
        Returns whether the recovery point was lowered.
        """
        self.flushing.finish()
        self._generation += 1
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
        for segment in reversed(self.segments.remove_from(offset + 1)):
            segment.delete()
        active = self.segments.active
        position = found.position if found.segment is active else active.size
        active.truncate(position, offset)
        active.activate()
        self.log_end_offset = min(offset, found.offset)
        self.log_start_offset = min(self.log_start_offset, self.log_end_offset)
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

    def start_anew_at(self, offset: Offset, config: LogConfig, now_ms: int) -> bool:
        """Drop everything; returns whether the recovery point was lowered."""
        self.identity.store()  # an end offset above 0 is this topic's, as records are
        self.flushing.finish()
        self._generation += 1
        for segment in reversed(self.segments.remove_from(0)):
            segment.delete()
        new = LogSegment(self.directory, offset, config, now_ms)
        new.activate()
        self.segments.add(new)
        self.log_start_offset = self.log_end_offset = offset
        if self.epochs.clear():
            self.store_epochs()
        self._snapshots.remove_above(-1)
        self.producers.clear()
        return self.flushing.lower_to(offset)

    def close(self) -> None:
        """Close the files as they are."""
        self.flushing.drop()
        for segment in (*self.segments, *self._retiring):
            segment.close()

    def _locate(self, offset: Offset) -> LogPosition:
        if offset >= self.log_end_offset:
            return LogPosition(self.segments.active, self.segments.active.size, offset)
        return self.segments.locate(offset)


def _check_first_batch(records: bytes | FileRecords, start: LogPosition, offset: Offset) -> None:
    """See that a batch begins where a read does: a remembered boundary may have been damaged since.

    Raises:
        CorruptLogError: None does.
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
