"""One partition's log: an ordered run of segments, its epochs and its producers."""

from __future__ import annotations

from pathlib import Path

from broker.core.leader_epochs import EpochEndOffset
from broker.core.log_config import LogConfig
from broker.core.record_batch import Buffer
from broker.core.refusals import Refusal
from broker.disk.results import (
    AppendOrigin,
    FetchDataInfo,
    LogAppendInfo,
    OffsetOutOfRange,
    TimestampAndOffset,
)
from cluster.model.epochs import LeaderEpoch
from cluster.model.ids import Offset, TopicPartition


class Log:
    """A partition's log in one directory; one owner, on one thread.

    Appends and reads are plain system calls on the caller's thread; flushing runs on the directory's own
    thread. A disk that fails raises ``KafkaStorageError`` from any of the methods, and from then on from
    all.

    Attributes:
        topic_partition: Whose log it is.
        directory: Where it lies.
        config: Its settings; may be replaced while it is open.
        log_start_offset: The first offset that may be read.
        log_end_offset: The offset that the next record gets.
    """

    topic_partition: TopicPartition
    directory: Path
    config: LogConfig
    log_start_offset: Offset
    log_end_offset: Offset

    @property
    def recovery_point(self) -> Offset:
        """The first offset that is not known to be on the disk itself."""
        raise NotImplementedError

    @property
    def latest_epoch(self) -> LeaderEpoch | None:
        """The leader epoch of the newest entry in the epoch cache, or None."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Bytes of all segments' batches."""
        raise NotImplementedError

    def append_as_leader(
        self, records: Buffer | None, leader_epoch: LeaderEpoch, origin: AppendOrigin = AppendOrigin.CLIENT
    ) -> LogAppendInfo | Refusal:
        """Check a client's record field (exactly one batch), give it offsets and write it.

        Does rules 2 to 11 of what a leader checks; whether this broker leads, and min.insync.replicas, is the
        caller's to know.
        """
        raise NotImplementedError

    def append_as_follower(self, records: Buffer) -> LogAppendInfo | Refusal:
        """Write the whole batches of ``records`` as they come from the leader; a partial tail is dropped.

        All are checked (checksum; offsets that rise from the log end offset on) before one is written.
        """
        raise NotImplementedError

    def read(
        self, offset: int, max_bytes: int, upper_bound: int, *, min_one_batch: bool = True
    ) -> FetchDataInfo | OffsetOutOfRange:
        """Whole batches from the one that holds ``offset`` on, none of them at or beyond ``upper_bound``.

        Args:
            offset: The first record wanted; the log end offset gives nothing.
            max_bytes: How much at most; a first batch that is larger comes anyway where ``min_one_batch``
                is set.
            upper_bound: The high watermark for consumers, the log end offset for followers.
            min_one_batch: Whether progress matters more than ``max_bytes``.
        """
        raise NotImplementedError

    def bytes_between(self, start_offset: int, end_offset: int) -> int:
        """Bytes of the batches from the one that holds ``start_offset`` up to ``end_offset``.

        What a fetch that waits for ``min_bytes`` compares.
        """
        raise NotImplementedError

    def assign_epoch_start(self, epoch: LeaderEpoch) -> None:
        """Note that this broker now leads in ``epoch``: its first record will be at the log end offset."""
        raise NotImplementedError

    def end_offset_for(self, epoch: LeaderEpoch) -> EpochEndOffset:
        """The answer to OffsetForLeaderEpoch (see ``LeaderEpochCache.end_offset_for``)."""
        raise NotImplementedError

    def offset_at(self, timestamp: int) -> TimestampAndOffset | None:
        """The first record whose timestamp is ``timestamp`` (milliseconds) or later, or None.

        May lie at or above the high watermark: the caller compares.
        """
        raise NotImplementedError

    def truncate_to(self, offset: int) -> bool:
        """Drop every batch that holds ``offset`` or lies after it; True where anything was dropped.

        The log end offset may come to lie below ``offset`` where that was inside a batch.
        """
        raise NotImplementedError

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop everything; the log is empty and starts at ``offset``."""
        raise NotImplementedError

    def raise_log_start(self, offset: int) -> bool:
        """Let the log start at ``offset`` (at most its end); never lowers it. True where it rose."""
        raise NotImplementedError

    def flush(self) -> None:
        """Put everything on the disk itself; the recovery point is then the log end offset."""
        raise NotImplementedError

    def close(self) -> None:
        """Flush, take a producer snapshot at the log end offset, trim the indexes and close the files."""
        raise NotImplementedError
