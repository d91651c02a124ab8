"""What lies behind a ``Log``: its segments, epochs and producers, and the file operations on them.

Nothing is judged here, and ``OSError`` comes out as it is: ``Log`` does both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path

from broker.core.log_config import LogConfig
from broker.core.producer_state import encode_snapshot
from broker.core.record_batch import Buffer, RecordBatch
from broker.core.records import CorruptRecordsError, RecordTime, record_times
from broker.disk.checkpoints import write_epochs
from broker.disk.errors import CorruptLogError
from broker.disk.flushing import Flushing, sync_segments
from broker.disk.names import LEADER_EPOCH_CHECKPOINT
from broker.disk.producer_snapshots import ProducerSnapshots
from broker.disk.recovery import LoadedLog, follow, rebuild_producers
from broker.disk.results import FetchDataInfo, TimestampAndOffset
from broker.disk.segment import LogSegment
from broker.disk.segments import LogPosition
from cluster.model.epochs import LeaderEpoch
from cluster.model.ids import Offset


class LogFiles:
    """The files of one log and what is kept in memory of them.

    Attributes:
        directory: Where they lie.
        segments: At least one.
        epochs: The leader epoch cache, as in its checkpoint.
        producers: What the idempotent producers have written.
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
        self.flushing = Flushing(executor, loaded.recovery_point)
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self._sync_names = sync_names
        self._snapshots = ProducerSnapshots(directory)
        self._retiring: list[LogSegment] = []

    def append(self, buffers: Sequence[Buffer], batches: Sequence[RecordBatch], config: LogConfig) -> None:
        """Write stamped batches to the active segment in one call, and take them into everything kept of it.

        Args:
            buffers: Their bytes.
            batches: The same, with the offsets and epochs under which they are written.
            config: The log's settings.
        """
        segment = self.segments.active
        size = sum(batch.header.size for batch in batches)
        position = segment.write(buffers, size)
        self.segments.remember(batches[0].header.base_offset, segment, position)
        new_epoch = False
        for header, _ in batches:
            segment.note(
                position, header.size, header.last_offset, header.max_timestamp, config.index_interval_bytes
            )
            position += header.size
            new_epoch |= follow(header, self.epochs)
            self.producers.update(header)
        self.log_end_offset = Offset(batches[-1].header.next_offset)
        if new_epoch:
            self.store_epochs()

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
    ) -> FetchDataInfo:
        """Whole batches from the one that holds ``offset`` on, below ``upper_bound``, of one segment.

        Raises:
            CorruptLogError: There is no batch where that one should begin.
        """
        start = self.segments.locate(offset)
        end_offset, end = self._end_of_read(start, upper_bound)
        if end <= start.position:
            return FetchDataInfo(b"", offset)
        try:
            return self._read_up_to(end_offset, end, start, max_bytes, min_one_batch=min_one_batch)
        except CorruptLogError as error:
            if error.position <= start.position:
                raise
            end_offset, end = error.next_offset, error.position
            return self._read_up_to(end_offset, end, start, max_bytes, min_one_batch=min_one_batch)

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
    ) -> FetchDataInfo:
        part = self.segments.read(start, end, max_bytes, min_one_batch=min_one_batch)
        return part or FetchDataInfo(start.segment.read(start.position, end - start.position), end_offset)

    def bytes_between(self, start_offset: Offset, end_offset: Offset) -> int:
        """Bytes of the batches from the one that holds ``start_offset`` up to ``end_offset``."""
        return self.segments.bytes_between(self._locate(start_offset), self._locate(end_offset))

    def offset_at(self, timestamp: int) -> TimestampAndOffset | None:
        """The first record at or after the log start whose timestamp is ``timestamp`` or later."""
        for segment in self.segments:
            if segment.max_timestamp < timestamp:
                continue
            for position, header in segment.batches_since(timestamp, self.log_start_offset):
                batch = RecordBatch(header, memoryview(segment.read(position, header.size)))
                found = self._first_record_since(timestamp, segment, position, batch)
                if found is not None:
                    epoch = LeaderEpoch(header.partition_leader_epoch)
                    return TimestampAndOffset(found.timestamp, found.offset, epoch)
        return None

    def _first_record_since(
        self, timestamp: int, segment: LogSegment, position: int, batch: RecordBatch
    ) -> RecordTime | None:
        try:
            return next(
                (
                    found
                    for found in record_times(batch)
                    if found.timestamp >= timestamp and found.offset >= self.log_start_offset
                ),
                None,
            )
        except CorruptRecordsError as error:
            base_offset = Offset(batch.header.base_offset)
            raise CorruptLogError(segment.path, position, base_offset, str(error)) from error

    def truncate_to(self, offset: Offset, producers_idle_since_ms: int) -> bool:
        """Drop the batches that hold ``offset`` or lie after it; ``offset`` lies within the segments.

        Where batches below ``offset`` cannot be read, they go, too: the log ends before the first of them.
        Producers are known again as they were, save those of the snapshot that have been idle since then.
        Returns whether the recovery point was lowered.
        """
        self.flushing.finish()
        try:
            found = self.segments.locate(offset)
        except CorruptLogError as error:
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
        self.flushing.finish()
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
