"""Loading a log after a clean or an unclean shutdown.

After an unclean shutdown every batch from the recovery point's segment on is read and its checksum verified.
The log is truncated before the first invalid batch. Segments below the recovery point were flushed and are
not read again. Unlike Kafka, loading rebuilds a leader epoch checkpoint that contradicts the batches.

Source: ``core/log/Log.scala`` (``loadSegments``, ``recoverLog``, ``recoverSegment``) of Kafka 2.8.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import structlog

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.producer_state import EXPIRATION_MS, ProducerState
from barnabas.broker.core.records.record_batch import BatchHeader, RecordBatch
from barnabas.broker.core.records.transactions import EndTransactionMarker, end_marker
from barnabas.broker.core.replication.leader_epochs import LeaderEpochCache
from barnabas.broker.disk.checkpoints import read_epochs, write_epochs
from barnabas.broker.disk.errors import CorruptCheckpointError, CorruptLogError
from barnabas.broker.disk.files import expect_sequential_reads
from barnabas.broker.disk.log.producer_snapshots import ProducerSnapshots
from barnabas.broker.disk.log.segments import LogSegments
from barnabas.broker.disk.log.topic_identity import read_identity
from barnabas.broker.disk.names import (
    LEADER_EPOCH_CHECKPOINT,
    LOG_SUFFIX,
    files_with,
    offset_of,
)
from barnabas.broker.disk.segment.leftovers import settle_leftovers
from barnabas.broker.disk.segment.overflow import split_overflowed_segments
from barnabas.broker.disk.segment.scan import BATCH_CHUNK, scan_valid_batches
from barnabas.broker.disk.segment.segment import BatchPosition, LogSegment
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import Offset, TopicIdentity
from barnabas.cluster.model.steps import at_once

FIRST_OFFSET = Offset(0)

_log = structlog.get_logger("kafka.log.Log")


@dataclass(frozen=True, slots=True)
class LogState:
    """The state of a log in the checkpoints, before its files are opened.

    Attributes:
        clean: Whether it was closed by a clean shutdown.
        recovery_point: From the checkpoint; all records below it are flushed.
        log_start_offset: From the checkpoint; 0 if it has no entry.
        was_compacted: Whether ``cleaner-offset-checkpoint`` has a row of it, whatever its policy is now.
    """

    clean: bool = False
    recovery_point: Offset = FIRST_OFFSET
    log_start_offset: Offset = FIRST_OFFSET
    was_compacted: bool = False


@dataclass(slots=True)
class LoadedLog:
    """A log's content after loading.

    Attributes:
        topic: The topic that the file in the log's directory names, or None: Kafka has written the log, a
            release without such files, or nobody yet.
        dropped_bytes: Bytes that were truncated as invalid, without preallocated ones.
        gaps_end: The offset below which compaction may have left gaps.
    """

    segments: LogSegments
    epochs: LeaderEpochCache
    producers: ProducerState
    log_start_offset: Offset
    log_end_offset: Offset
    recovery_point: Offset
    topic: TopicIdentity | None = None
    dropped_bytes: int = 0
    gaps_end: Offset = FIRST_OFFSET


def load_log(
    directory: Path,
    config: LogConfig,
    state: LogState,
    now_ms: int,
    producer_expiration_ms: int = EXPIRATION_MS,
) -> LoadedLog:
    """Load the log in the existing ``directory`` and repair its files where they are invalid.

    Raises:
        OSError: The disk refused.
    """
    return _Loading(directory, config, state, now_ms, now_ms - producer_expiration_ms).load()


def new_log(directory: Path, config: LogConfig, now_ms: int) -> LoadedLog:
    """Create the first segment of a log in the new ``directory``.

    Raises:
        OSError: The disk refused.
    """
    segment = LogSegment(directory, FIRST_OFFSET, config, now_ms)
    segment.activate()
    start = FIRST_OFFSET
    return LoadedLog(LogSegments([segment]), LeaderEpochCache(), ProducerState(), start, start, start)


def epochs_match(
    segments: LogSegments,
    epochs: LeaderEpochCache,
    start_offset: Offset,
    end_offset: Offset,
    *,
    may_have_gaps: bool,
) -> bool:
    """Return whether the leader epochs agree with the log's first and last batch.

    A replica with an epoch that none of its batches has would request that epoch's end from every leader and
    never agree with one. A replica that lacks epochs would truncate too little.

    Args:
        segments: The log.
        epochs: The epochs of the checkpoint.
        start_offset: The first offset that may be read.
        end_offset: The offset after the last batch.
        may_have_gaps: Whether compaction may have dropped the last batches, and with them whole epochs.
    """
    last = _last_batch(segments, start_offset, end_offset, may_have_gaps=may_have_gaps)
    if last is None or not epochs.entries:
        return (last is None or last.partition_leader_epoch < 0) and not epochs.entries
    begins = epochs.entries[0].start_offset
    if begins > start_offset:
        first = _batch_at(segments, start_offset)
        if first is None or begins > first.base_offset:
            return False
    of_last = [entry.epoch for entry in epochs.entries if entry.start_offset < last.next_offset]
    return of_last[-1:] == [last.partition_leader_epoch]


def _last_batch(
    segments: LogSegments, start_offset: Offset, end_offset: Offset, *, may_have_gaps: bool
) -> BatchHeader | None:
    """Return the last batch of the log, which ends at ``end_offset`` unless it may have gaps; else None."""
    last = _batch_at(segments, end_offset - 1) if start_offset < end_offset else None
    if last is not None or not may_have_gaps:
        return last
    for segment in reversed(segments.from_offset(start_offset)):
        tail = [header for _, header in _readable(segment, segment.offset_index.last_entry.offset)]
        if tail:
            return tail[-1]
    return None


def _batch_at(segments: LogSegments, offset: int) -> BatchHeader | None:
    """Return the first batch whose last offset is at least ``offset``, or None."""
    for segment in segments.from_offset(offset):
        for _, header in _readable(segment, offset):
            return header
    return None


def _readable(segment: LogSegment, offset: int) -> Iterator[BatchPosition]:
    """Yield the segment's batches from the one with ``offset`` on, up to the first that is not readable.

    A log that is damaged below its recovery point is loaded all the same; reading the damaged range fails.
    """
    with contextlib.suppress(CorruptLogError):
        yield from segment.batches_from(offset)


def rebuild_epochs(segments: LogSegments, start_offset: Offset) -> LeaderEpochCache:
    """Rebuild the leader epochs of the log from ``start_offset`` on from the headers of its batches."""
    epochs = LeaderEpochCache()
    for segment in segments.from_offset(start_offset):
        for _, header in _readable(segment, start_offset):
            epochs.assign_from(header)
    epochs.truncate_from_start(start_offset)
    return epochs


def rebuild_producers(
    segments: LogSegments,
    snapshots: ProducerSnapshots,
    log_start_offset: Offset,
    end_offset: Offset,
    idle_since_ms: int,
) -> ProducerState:
    """Rebuild the producer state below ``end_offset`` from the newest snapshot and the headers after it.

    Producers of the snapshot whose newest batch is not newer than ``idle_since_ms`` are left out.
    """
    start, state = snapshots.newest(at_most=end_offset, at_least=log_start_offset)
    at_once(state.expire(idle_since_ms))
    if start < end_offset:
        for segment in segments.from_offset(start):
            for position, header in _readable(segment, start):
                if header.base_offset >= end_offset:
                    return state
                state.update(header, _marker(segment, position, header))
    return state


def _pieces(segment: LogSegment, start: int) -> Iterator[bool]:
    """Yield for each chunk of the segment from ``start`` on whether it has a byte other than zero."""
    for position in range(start, segment.size, BATCH_CHUNK):
        data = segment.read(position, BATCH_CHUNK)
        yield data.count(0) != len(data)


def _marker(segment: LogSegment, position: int, header: BatchHeader) -> EndTransactionMarker | None:
    if not header.is_control:
        return None
    return end_marker(RecordBatch(header, memoryview(segment.read(position, header.size))))


class _Loading:
    """One run of ``load_log``."""

    def __init__(
        self, directory: Path, config: LogConfig, state: LogState, now_ms: int, producers_idle_since_ms: int
    ) -> None:
        self._producers_idle_since_ms = producers_idle_since_ms
        self._directory = directory
        self._config = config
        self._state = state
        self._now_ms = now_ms
        self._snapshots = ProducerSnapshots(directory)
        self._dropped = 0
        self._claimed_epochs: dict[LeaderEpoch, Offset] = {}

    def load(self) -> LoadedLog:
        settle_leftovers(self._directory)
        split_overflowed_segments(self._directory)
        epochs = self._load_epochs()
        stored_epochs = epochs.entries
        self._claimed_epochs = dict(stored_epochs)
        segments = LogSegments(self._open(path) for path in files_with(self._directory, LOG_SUFFIX))
        end_offset = self._load_clean(segments) if self._state.clean else None
        if end_offset is None:
            end_offset = self._recover(segments, epochs)
        start_offset = self._state.log_start_offset
        if end_offset < start_offset or not len(segments):
            if len(segments):
                _log.error(
                    f"{self._prefix} Deleting all segments because logEndOffset ({end_offset}) is smaller "
                    f"than logStartOffset ({start_offset}). This could happen if segment files were deleted "
                    "from the file system."
                )
            end_offset = start_offset
            for segment in segments.remove_from(0):
                self._log_deletion(segment)
                segment.delete()
            segments.add(LogSegment(self._directory, start_offset, self._config, self._now_ms))
        start_offset = max(start_offset, next(iter(segments)).base_offset)
        segments.active.activate()
        epochs.truncate_from_start(start_offset)
        epochs.truncate_from_end(end_offset)
        # Where the gaps end is not written down, and a Kafka broker that ran here may have added some. A log
        # that Kafka wrote may have been compacted whatever its policy is now: a follower has no row.
        topic = read_identity(self._directory)
        gaps = self._config.is_compacted or self._state.was_compacted or topic is None
        if not epochs_match(segments, epochs, start_offset, end_offset, may_have_gaps=gaps):
            epochs = rebuild_epochs(segments, start_offset)
        if epochs.entries != stored_epochs:
            write_epochs(self._directory / LEADER_EPOCH_CHECKPOINT, epochs.entries, durable=False)
        for segment in segments:
            if not segment.transaction_index.is_sane:
                self._rebuild_transactions(segments, segment)
        self._snapshots.remove_above(end_offset)
        self._snapshots.remove_strays([segment.base_offset for segment in segments])
        producers = rebuild_producers(
            segments, self._snapshots, start_offset, end_offset, self._producers_idle_since_ms
        )
        recovery_point = min(self._state.recovery_point, end_offset)
        return LoadedLog(
            segments,
            epochs,
            producers,
            start_offset,
            end_offset,
            recovery_point,
            topic,
            self._dropped,
            end_offset if gaps else FIRST_OFFSET,
        )

    def _load_epochs(self) -> LeaderEpochCache:
        try:
            return LeaderEpochCache(read_epochs(self._directory / LEADER_EPOCH_CHECKPOINT))
        except CorruptCheckpointError:
            return LeaderEpochCache()  # the epochs are rebuilt from the batches

    def _open(self, path: Path) -> LogSegment:
        return LogSegment(self._directory, offset_of(path), self._config, self._now_ms)

    def _load_clean(self, segments: LogSegments) -> Offset | None:
        """Return the log end offset, or None if the files are not as a clean shutdown leaves them."""
        if not len(segments):
            return None
        for segment in segments:
            if not segment.load_indexes():
                if segment is segments.active:
                    return None
                self._rebuild(segment)
        try:
            segments.active.check_time_index()
            return segments.active.load_end()
        except CorruptLogError:
            return None

    def _recover(self, segments: LogSegments, epochs: LeaderEpochCache) -> Offset:
        """Read the segments from the recovery point on; return the log end offset."""
        end_offset = self._recover_from(self._state.recovery_point, segments, epochs)
        if end_offset < self._state.recovery_point and len(segments):
            # Flushed records cannot be missing, so the checkpoint is wrong: trust no segment.
            end_offset = self._recover_from(FIRST_OFFSET, segments, epochs)
        return end_offset

    def _recover_from(self, offset: Offset, segments: LogSegments, epochs: LeaderEpochCache) -> Offset:
        """Read the segments from the one with ``offset`` on; return the log end offset.

        Their leader epochs and producer state are rebuilt, too. A producer snapshot is stored after each
        segment, so that its headers are not read a second time.
        """
        # A. Segments below the recovery point are flushed, so their batches are not read. Only invalid
        # indexes are rebuilt.
        doubtful = segments.from_offset(offset)
        for segment in segments:
            if segment not in doubtful and not segment.load_indexes():
                self._rebuild(segment)
        if not doubtful:
            return FIRST_OFFSET
        # B. Epochs and snapshots of the doubtful segments may describe batches that are lost. They are
        # dropped here and rebuilt from the batches in C; the producers begin with the newest snapshot
        # below.
        start_offset = end_offset = doubtful[0].base_offset
        epochs.truncate_from_end(start_offset)
        self._snapshots.remove_above(start_offset)
        first_offset = min(start_offset, self._state.log_start_offset)
        producers = rebuild_producers(
            segments, self._snapshots, first_offset, start_offset, self._producers_idle_since_ms
        )
        # C. Read each doubtful segment up to its first invalid batch, in order, because the producers and
        # epochs of one continue in the next.
        for segment in doubtful:
            found = segment.size
            end_offset = self._recover_segment(segment, epochs, producers)
            self._snapshots.write(end_offset, producers.snapshot().encode())
            if segment.size < found:
                # C.1 The segment was truncated: the log ends here. A later segment would leave a gap, so it
                # is deleted, however valid its batches are.
                for later in segments.remove_from(segment.base_offset + 1):
                    self._dropped += later.size
                    self._log_deletion(later)
                    later.delete()
                break
            # C.2 The segment is whole. The indexes of older segments are stored; those of the active one
            # stay in memory.
            if segment is not segments.active:
                self._store_indexes(segment)
        return end_offset

    def _recover_segment(
        self, segment: LogSegment, epochs: LeaderEpochCache, producers: ProducerState
    ) -> Offset:
        """Truncate before the first invalid batch; return the offset after the last valid one."""
        segment.reset_indexes()
        segment.transaction_index.clear()
        expect_sequential_reads(segment.fd)
        # The scan ends before the first batch that is torn or damaged. Each batch before is entered into
        # the indexes, epochs and producers, exactly as its append did.
        end, next_offset = 0, segment.base_offset
        for position, batch in scan_valid_batches(segment.fd, segment.size, segment.base_offset):
            self._note(segment, position, batch.header)
            self._restore_epochs(epochs, next_offset, batch.header)
            epochs.assign_from(batch.header)
            marker = end_marker(batch) if batch.header.is_control else None
            segment.update_producers(producers, batch.header, marker)
            end, next_offset = position + batch.header.size, Offset(batch.header.next_offset)
        # Nothing after the first invalid batch can be trusted, not even batches with a valid checksum:
        # records between would be missing.
        if end < segment.size:
            self._log_truncation(segment, end, next_offset)
            segment.truncate(end, next_offset)
        return next_offset

    def _log_truncation(self, segment: LogSegment, end: int, next_offset: Offset) -> None:
        """Log what is about to be truncated, unless it is the unused rest of a preallocated file."""
        is_unused = not any(_pieces(segment, end))
        if not is_unused:
            self._dropped += segment.size - end
        if not (is_unused and self._config.preallocate):
            _log.warning(
                f"{self._prefix} Found invalid messages in log segment {segment.path} at byte offset {end}. "
                f"Corruption found in segment {segment.base_offset}, truncating to offset {next_offset}: "
                f"{segment.size - end} bytes are cut off"
            )

    def _log_deletion(self, segment: LogSegment) -> None:
        _log.warning(
            f"{self._prefix} Deleting segment {segment.path} with base offset {segment.base_offset}, "
            f"{segment.size} bytes, after the last valid batch"
        )

    @property
    def _prefix(self) -> str:
        return f"[Log partition={self._directory.name}, dir={self._directory.parent}]"

    def _restore_epochs(self, epochs: LeaderEpochCache, gap_start: Offset, header: BatchHeader) -> None:
        """Restore from the checkpoint the epochs that begin in a gap that compaction has left.

        Args:
            epochs: Those of the batches before the gap.
            gap_start: The offset after these.
            header: The batch behind the gap.
        """
        for epoch, start in self._claimed_epochs.items():
            is_between = (epochs.latest_epoch or 0) <= epoch <= header.partition_leader_epoch
            if gap_start <= start < header.base_offset and is_between and epoch != epochs.latest_epoch:
                epochs.assign(epoch, start)

    def _rebuild(self, segment: LogSegment) -> None:
        """Rebuild the indexes of a segment whose batches are valid."""
        segment.reset_indexes()
        # What follows a damaged batch is not readable, with or without an index.
        with contextlib.suppress(CorruptLogError):
            segment.index_all()
        self._store_indexes(segment)

    def _rebuild_transactions(self, segments: LogSegments, segment: LogSegment) -> None:
        """Rebuild the transaction index of a segment from its markers."""
        segment.transaction_index.clear()
        start = min(segment.base_offset, self._state.log_start_offset)
        idle_since_ms = self._producers_idle_since_ms
        producers = rebuild_producers(segments, self._snapshots, start, segment.base_offset, idle_since_ms)
        for position, header in _readable(segment, segment.base_offset):
            segment.update_producers(producers, header, _marker(segment, position, header))

    def _note(self, segment: LogSegment, position: int, header: BatchHeader) -> None:
        interval = self._config.index_interval_bytes
        segment.index(position, header.size, header.last_offset, header.newest_timestamp, interval)

    def _store_indexes(self, segment: LogSegment) -> None:
        segment.end()
        segment.store_indexes()
        segment.unload_indexes()
