"""A partition's log: an ordered list of segments, its leader epochs and its producers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from barnabas.broker.core.records import batch_validation, record_batch
from barnabas.broker.core.records.batch_validation import AppendOrigin
from barnabas.broker.core.records.log_config import UNLIMITED, LogConfig
from barnabas.broker.core.records.producer_state import CachedBatch, ProducerState
from barnabas.broker.core.records.recompression import (
    Recompression,
    long_recompression,
    must_open,
    recompress,
)
from barnabas.broker.core.records.record_batch import Buffer, RecordBatch, TimestampType
from barnabas.broker.core.records.refusals import Refusal
from barnabas.broker.core.records.transactions import AbortedTransaction
from barnabas.broker.core.replication.leader_epochs import EpochEndOffset
from barnabas.broker.core.retention import Deletion
from barnabas.broker.disk.errors import CorruptLogError, KafkaStorageError
from barnabas.broker.disk.failure_guard import FailureGuard
from barnabas.broker.disk.log.compaction import LogCompaction
from barnabas.broker.disk.log.log_context import LogContext
from barnabas.broker.disk.log.log_files import LogFiles
from barnabas.broker.disk.log.recovery import LoadedLog
from barnabas.broker.disk.log.relocation import LogRelocation
from barnabas.broker.disk.log.results import (
    FetchDataInfo,
    FoundBatch,
    FoundRecords,
    LogAppendInfo,
    OffsetOutOfRange,
)
from barnabas.broker.disk.log.retention import retire_old_segments
from barnabas.broker.disk.segment.scrub import DamagedRange, SegmentSpan
from barnabas.broker.disk.segment.segment import LogSegment
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, LeaderEpoch
from barnabas.cluster.model.ids import Offset, TopicIdentity, TopicPartition

T = TypeVar("T")

READ_AT_ONCE_BYTES = 16_384
"""Records below this size are read at once: a second call would cost as much."""

NO_TIME = -1
NO_OFFSET = Offset(-1)


class Log:
    """A partition's log in one directory; used by one owner on one thread.

    Appends and reads are plain system calls on the caller's thread; flushes run on the directory's thread. If
    the disk fails, the method raises ``KafkaStorageError``, and from then on every method does.

    Attributes:
        topic_partition: The partition.
        config: Its settings; may be replaced while it is open.
        compaction: The operations of the log cleaner.
        relocation: The operations of a move to another log directory.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        directory: Path,
        config: LogConfig,
        loaded: LoadedLog,
        context: LogContext,
    ) -> None:
        self.topic_partition = topic_partition
        self.config = config
        self._files = LogFiles(directory, loaded, context.executor, context.sync_names)
        self._context = context
        self._guard = FailureGuard(context.log_dir, topic_partition, context.on_failure)
        self.compaction = LogCompaction(topic_partition, self._files, self._guard, context)
        self.relocation = LogRelocation(topic_partition, self._files, self._guard)
        self._last_flush_ms = context.clock()

    @property
    def directory(self) -> Path:
        """The log's directory."""
        return self._files.directory

    @property
    def log_start_offset(self) -> Offset:
        """The first offset that may be read."""
        return self._files.log_start_offset

    @property
    def log_end_offset(self) -> Offset:
        """The offset that the next record gets."""
        return self._files.log_end_offset

    @property
    def recovery_point(self) -> Offset:
        """The first offset that is not known to be flushed."""
        return self._guard.run("flushing", self._files.flushing.recovery_point)

    @property
    def latest_epoch(self) -> LeaderEpoch | None:
        """The leader epoch of the newest entry in the epoch cache, or None."""
        return self._files.epochs.latest_epoch

    @property
    def epoch_at_start(self) -> LeaderEpoch:
        """The leader epoch of the record at the log start offset, -1 if unknown."""
        oldest = self._files.epochs.oldest
        if oldest is None or oldest.start_offset > self.log_start_offset:
            return UNKNOWN_LEADER_EPOCH
        return oldest.epoch

    @property
    def producers(self) -> ProducerState:
        """The producers that have written to it, which the caller must not change."""
        return self._files.producers

    @property
    def topic(self) -> TopicIdentity | None:
        """Return the topic that the log is of, or None if that is not known."""
        return self._files.identity.topic

    @property
    def size(self) -> int:
        """Bytes of all segments' batches."""
        return self._files.segments.size

    @property
    def segment_count(self) -> int:
        """The number of segments."""
        return len(self._files.segments)

    @property
    def first_segment_offset(self) -> Offset:
        """The base offset of the oldest segment, at or below the log start."""
        return next(iter(self._files.segments)).base_offset

    @property
    def is_flush_due(self) -> bool:
        """Return whether ``flush.ms`` has passed since the last flush, and there is something to flush."""
        age = self._context.clock() - self._last_flush_ms
        return age >= self.config.flush_ms and self.recovery_point < self.log_end_offset

    def identify(self, topic: TopicIdentity) -> None:
        """Record the topic that the log is of; an empty log writes it down with the first record."""
        self._guard.check()
        self._files.identity.assign(topic)
        if self.log_end_offset > 0:
            self._guard.run("identifying", self._files.identity.store)

    def recompression(self, records: Buffer | None) -> Recompression | None:
        """Return the recompression that must precede the append of a client's record field, or None."""
        return long_recompression(records, self.config, self._context.clock(), str(self.topic_partition))

    def append_as_leader(
        self,
        records: Buffer | RecordBatch | Refusal | None,
        leader_epoch: LeaderEpoch,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> LogAppendInfo | Refusal:
        """Check a client's record field (exactly one batch), assign its offsets and write it.

        The caller has checked that this broker leads and that enough replicas are in sync. The result of
        ``recompression`` is not checked again.
        """
        self._guard.check()
        now_ms = self._context.clock()
        is_prepared = isinstance(records, RecordBatch | Refusal)
        batch = (
            records
            if isinstance(records, RecordBatch | Refusal)
            else batch_validation.check_leader_append(records, self.config, now_ms, origin)
        )
        if isinstance(batch, Refusal):
            return batch
        verdict = self._files.producers.check(batch.header, origin)
        if isinstance(verdict, Refusal):
            return verdict
        if verdict is not None:
            return self._answer_duplicate(verdict)
        if not is_prepared and must_open(self.config):
            batch = recompress(batch, self.config, now_ms, str(self.topic_partition))
            if isinstance(batch, Refusal):
                return batch
        offset = self._files.log_end_offset
        header = batch.header._replace(base_offset=offset, partition_leader_epoch=leader_epoch)
        is_stamped = self.config.message_timestamp_type is TimestampType.LOG_APPEND_TIME
        if is_stamped:
            header = header._replace(max_timestamp=now_ms)
            buffers = record_batch.stamp_with_append_time(batch, offset, leader_epoch, now_ms)
        else:
            buffers = record_batch.stamp(batch, offset, leader_epoch)
        self._append(buffers, [RecordBatch(header, batch.data)], now_ms)
        time = now_ms if is_stamped else NO_TIME
        return LogAppendInfo(
            offset, Offset(header.last_offset), time, self.log_start_offset, size=header.size
        )

    def append_as_follower(self, records: Buffer, gaps_end: Offset | None = None) -> LogAppendInfo | Refusal:
        """Write the whole batches of ``records`` as the leader sent them, without a partial last one.

        All are checked before the first is written: checksums, and offsets that ascend from the log end
        offset. Gaps are accepted below ``gaps_end``, the leader's; if it sends none, in compacted topics.
        """
        self._guard.check()
        self._adopt_earlier_start(records)
        limit, former = batch_validation.gaps_limit(gaps_end, self.config), self._files.gaps_end
        batches = batch_validation.check_fetched(records, self.log_end_offset, gaps_end=limit)
        if isinstance(batches, Refusal):
            return batches
        if not batches:
            return LogAppendInfo(NO_OFFSET, NO_OFFSET, NO_TIME, self.log_start_offset)
        now_ms, view, position, done = self._context.clock(), memoryview(records), 0, 0
        # One write per segment: a batch that does not fit into the active segment begins a new one.
        while done < len(batches):
            group = self._files.group(batches, done, self.config)
            size = sum(batch.header.size for batch in group)
            self._append([view[position : position + size]], group, now_ms)
            position += size
            done += len(group)
        if self._files.gaps_end > former:
            self._context.on_gaps(self.topic_partition)
        first = Offset(batches[0].header.base_offset)
        last = Offset(self.log_end_offset - 1)
        return LogAppendInfo(first, last, NO_TIME, self.log_start_offset, size=position)

    def read(
        self, offset: Offset, max_bytes: int, upper_bound: Offset, *, min_one_batch: bool = True
    ) -> FetchDataInfo | OffsetOutOfRange:
        """Read whole batches from the one with ``offset`` on, all below ``upper_bound``.

        The bytes are read now; ``find`` leaves them in their file.

        Args:
            offset: The first record wanted; nothing is read at the log end offset.
            max_bytes: The most bytes; a larger first batch is returned only with ``min_one_batch``.
            upper_bound: The high watermark for consumers, the log end offset for followers.
            min_one_batch: Whether progress matters more than ``max_bytes``.

        Raises:
            CorruptLogError: There is no valid batch where one should begin.
        """
        found = self.find(offset, max_bytes, upper_bound, min_one_batch=min_one_batch)
        if isinstance(found, OffsetOutOfRange):
            return found
        return FetchDataInfo(self._guard.run("reading", lambda: bytes(found.records)), found.next_offset)

    def find(
        self, offset: Offset, max_bytes: int, upper_bound: Offset, *, min_one_batch: bool = True
    ) -> FoundRecords | OffsetOutOfRange:
        """Find records as ``read`` does, but leave ``READ_AT_ONCE_BYTES`` or more in their file.

        Those are read as they are sent. If they cannot be read then, the log fails as it would now.
        """
        self._guard.check()
        if not self.log_start_offset <= offset <= self.log_end_offset:
            return OffsetOutOfRange(offset, self.log_start_offset, self.log_end_offset)
        if offset >= upper_bound:
            return FoundRecords(b"", offset)
        found = self._guard.run(
            "reading", lambda: self._files.read(offset, max_bytes, upper_bound, min_one_batch=min_one_batch)
        )
        records = found.records
        if isinstance(records, bytes):
            return found
        if len(records) < READ_AT_ONCE_BYTES:
            return FoundRecords(self._guard.run("reading", lambda: bytes(records)), found.next_offset)
        records.on_failure = lambda error: self._guard.fail("reading", error)
        return found

    def bytes_between(self, start_offset: Offset, end_offset: Offset) -> int:
        """Return the bytes of the batches from the one with ``start_offset`` up to ``end_offset``.

        A delayed fetch compares them with its ``min_bytes``. If a batch is corrupt, the number exceeds any
        ``min_bytes``: the fetch completes, and its read reports the error.
        """
        self._guard.check()
        start = max(start_offset, self.log_start_offset)
        end = min(end_offset, self.log_end_offset)
        if start >= end:
            return 0
        try:
            return self._guard.run("reading", lambda: self._files.bytes_between(start, end))
        except CorruptLogError:
            return UNLIMITED

    def last_stable_offset(self, high_watermark: Offset) -> Offset:
        """Return the end of what a read_committed consumer may see: no transaction below it is open.

        A transaction whose marker lies at the high watermark or above counts as open, because its outcome may
        be lost.
        """
        return self._files.last_stable_offset(high_watermark)

    def aborted_transactions(self, start_offset: Offset, end_offset: Offset) -> list[AbortedTransaction]:
        """Return the aborted transactions with records from ``start_offset`` to before ``end_offset``."""
        self._guard.check()
        return self._guard.run(
            "reading aborted transactions", lambda: self._files.aborted_transactions(start_offset, end_offset)
        )

    def forget_replicated(self, high_watermark: Offset) -> None:
        """Note a follower's new high watermark: the outcome of transactions that ended below it is final."""
        self._files.producers.transactions.replicated(high_watermark)

    def in_one_segment(self, first: Offset, last: Offset) -> bool:
        """Return whether both offsets lie in one segment, in which case one read can return both."""
        return self._files.segments.are_in_one(first, last)

    def assign_epoch_start(self, epoch: LeaderEpoch) -> None:
        """Note that this broker now leads in ``epoch``: its first record will be at the log end offset."""
        self._guard.check()
        if self._files.epochs.assign(epoch, self.log_end_offset):
            self._guard.run("writing leader epochs", self._files.store_epochs)

    def end_offset_for(self, epoch: LeaderEpoch) -> EpochEndOffset:
        """Answer OffsetForLeaderEpoch (see ``LeaderEpochCache.end_offset_for``)."""
        return self._files.epochs.end_offset_for(epoch, self.log_end_offset)

    def batch_since(self, timestamp: int, offset: Offset) -> FoundBatch | None:
        """Return the first batch with ``offset`` or later and maximum timestamp (ms) ``timestamp`` or later.

        Raises:
            CorruptLogError: There is no valid batch where one should begin.
        """
        self._guard.check()
        return self._guard.run("reading", lambda: self._files.batch_since(timestamp, offset))

    def truncate_to(self, offset: Offset) -> bool:
        """Drop every batch that holds ``offset`` or lies after it; return whether any was dropped.

        If ``offset`` lies inside a batch, the log ends below it.
        """
        self._guard.check()
        if offset >= self.log_end_offset:
            if self._files.epochs.truncate_from_end(offset):
                self._guard.run("writing leader epochs", self._files.store_epochs)
            return False
        if offset < self.first_segment_offset:
            self.truncate_fully_and_start_at(offset)
            return True
        if self._guard.run("truncating", lambda: self._files.truncate_to(offset, self._idle_since_ms)):
            self._context.on_recovery_point_lowered()
        self._context.on_truncated(self.topic_partition, self._files.segments.active.base_offset)
        return True

    def truncate_fully_and_start_at(self, offset: Offset) -> None:
        """Drop all records; the empty log starts at ``offset``."""
        self._guard.check()
        now_ms = self._context.clock()
        if self._guard.run("truncating", lambda: self._files.start_over_at(offset, self.config, now_ms)):
            self._context.on_recovery_point_lowered()
        self._context.on_truncated(self.topic_partition, offset)

    def raise_log_start(self, offset: Offset) -> bool:
        """Raise the log start offset to ``offset``, at most to the log's end; return whether it rose."""
        self._guard.check()
        offset = min(offset, self.log_end_offset)
        if offset <= self.log_start_offset:
            return False
        self._files.log_start_offset = offset
        if self._files.epochs.truncate_from_start(offset):
            self._guard.run("writing leader epochs", self._files.store_epochs)
        return True

    def delete_old_segments(self, high_watermark: Offset) -> tuple[Deletion, ...]:
        """Remove the segments that the settings no longer keep, and return them.

        The log then starts at the first one left. The files are unlinked ``file.delete.delay.ms`` later.
        """
        self._guard.check()
        now_ms = self._context.clock()
        gone, removed = self._guard.run(
            "deleting segments",
            lambda: retire_old_segments(self._files, self.config, high_watermark, now_ms),
        )
        if gone:
            self._context.on_removed(removed, now_ms + self.config.file_delete_delay_ms)
            self.raise_log_start(self.first_segment_offset)
        return gone

    def spans(self) -> list[SegmentSpan]:
        """Return the span of each segment, oldest first; empty for a closed log."""
        return [] if self._guard.failure else self._files.spans()

    def damaged_spans(self) -> list[SegmentSpan]:
        """Return the spans of the segments with known damage, oldest first."""
        return self._files.damaged_spans()

    def damage_in(self, span: SegmentSpan) -> tuple[DamagedRange, ...]:
        """Return the known damage of a segment."""
        return self._files.damage_in(span)

    def note_damage(self, span: SegmentSpan, damaged: Sequence[DamagedRange]) -> bool:
        """Note damaged ranges of a segment, which are not read any more.

        Returns:
            False if ``span`` is out of date, the damage was known, or the log is closed.
        """
        return self._guard.failure is None and self._files.note_damage(span, damaged)

    def seal_active(self) -> None:
        """Roll the active segment, unless it is empty."""
        self._guard.check()
        if self._files.segments.active.size:
            self._guard.run("rolling", lambda: self._files.roll(self.config, self._context.clock()))

    def replace_segment(self, span: SegmentSpan, new: LogSegment) -> bool:
        """Replace the segment of ``span`` by one that was fetched again (``SegmentReplacement``).

        Returns:
            False if the segment has changed since, or the log is closed; ``new`` is then useless.
        """
        if self._guard.failure is not None:
            return False
        former = self._guard.run("replacing a segment", lambda: self._files.replace_segment(span, new))
        if former is not None:
            self._context.on_removed([former], self._context.clock() + self.config.file_delete_delay_ms)
        return former is not None

    def on_disk_thread(self, work: Callable[[], T]) -> Future[T]:
        """Submit work that waits for the disk to the directory's thread."""
        return self._context.executor.submit(work)

    def storage_error(self, doing: str, error: OSError) -> KafkaStorageError:
        """Return the error to raise after work on the directory's thread failed.

        The log and its directory fail with it, unless the log was closed before: its files may be gone.
        """
        return self._guard.failure or self._guard.fail(doing, error)

    def flush(self) -> None:
        """Flush all records; the recovery point is then the log end offset."""
        self.begin_flush()
        self._guard.run("flushing", self._files.flushing.finish)

    def begin_flush(self) -> None:
        """Submit a flush to the directory's thread, without waiting for it."""
        self._guard.check()
        self._last_flush_ms = self._context.clock()
        self._guard.run("flushing", self._files.begin_flush)

    def close(self) -> None:
        """Flush, store a producer snapshot at the log end offset, store the indexes and close the files."""
        self.flush()
        self._guard.run("closing", self._files.seal)
        self.abandon()

    def abandon(self, why: KafkaStorageError | None = None) -> None:
        """Close the files as they are: the log is deleted, or its directory offline.

        Args:
            why: The error that every later call raises; None for one that says the log is closed.
        """
        self._guard.close(why)
        self._files.close()

    def expire_producers(self) -> Iterator[None]:
        """Forget the producers that have been idle too long, by the timestamps of their batches.

        Other work may run between two steps.
        """
        yield from self._files.producers.expire(self._idle_since_ms)

    @property
    def _idle_since_ms(self) -> int:
        return self._context.clock() - self._context.producer_expiration_ms

    def _answer_duplicate(self, batch: CachedBatch) -> LogAppendInfo:
        # Kafka returns the timestamp in the log, whatever its timestamp type is.
        return LogAppendInfo(
            batch.first_offset, batch.last_offset, batch.timestamp, self.log_start_offset, duplicate=True
        )

    def _adopt_earlier_start(self, records: Buffer) -> None:
        """Restart an empty log at the first batch of ``records`` if the log starts inside that batch."""
        if self.log_start_offset == self.log_end_offset and len(records) >= record_batch.FRAME_SIZE:
            base_offset = Offset(record_batch.peek_frame(records)[0])
            if 0 <= base_offset < self.log_end_offset:
                self.truncate_fully_and_start_at(base_offset)

    def _append(self, buffers: Sequence[Buffer], batches: Sequence[RecordBatch], now_ms: int) -> None:
        """Write the batches, to a new segment if the first of them requires it."""
        try:
            header, last_offset = batches[0].header, batches[-1].header.last_offset
            active = self._files.segments.active
            if active.must_roll(header.size, header.max_timestamp, last_offset, self.config, now_ms):
                self._files.roll(self.config, now_ms, Offset(header.base_offset))
            self._files.append(buffers, batches, self.config)
        except OSError as error:
            raise self._guard.fail("appending", error) from error
        most = self.config.flush_messages
        if most < UNLIMITED and self.log_end_offset - self.recovery_point >= most:
            self.flush()
