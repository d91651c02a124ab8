"""The start offset of each leader epoch in a log, by which followers truncate after a change of leader.

Source: KIP-101, KIP-279; ``core/server/epoch/LeaderEpochFileCache.scala`` of Kafka 2.8.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from barnabas.broker.core.records.record_batch import BatchHeader
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, LeaderEpoch
from barnabas.cluster.model.ids import Offset

UNDEFINED_OFFSET = Offset(-1)
"""The offset in the answer about an epoch that the log does not have."""


class EpochEntry(NamedTuple):
    """An epoch and the offset of the first record written in it: a row of ``leader-epoch-checkpoint``."""

    epoch: LeaderEpoch
    start_offset: Offset


class EpochEndOffset(NamedTuple):
    """The answer to OffsetForLeaderEpoch.

    Attributes:
        epoch: The largest epoch known that is not above the one asked for, or -1.
        end_offset: The offset that follows the last record of that epoch, or -1.
    """

    epoch: LeaderEpoch
    end_offset: Offset


UNDEFINED_EPOCH_END = EpochEndOffset(UNKNOWN_LEADER_EPOCH, UNDEFINED_OFFSET)
"""The answer for an epoch about which the log knows nothing."""


class LeaderEpochCache:
    """The epochs of one log, oldest first; epochs and start offsets both rise strictly.

    Methods that change something return whether they did, so that the caller writes the checkpoint only then.
    """

    def __init__(self, entries: Iterable[EpochEntry] = ()) -> None:
        self._epochs: list[LeaderEpoch] = []
        self._starts: list[Offset] = []
        for entry in entries:
            self.assign(entry.epoch, entry.start_offset)

    @property
    def entries(self) -> tuple[EpochEntry, ...]:
        """All epochs known, oldest first: the rows of the checkpoint."""
        return tuple(map(EpochEntry, self._epochs, self._starts))

    @property
    def oldest(self) -> EpochEntry | None:
        """The oldest epoch and where it began, or None for a log that has none."""
        return EpochEntry(self._epochs[0], self._starts[0]) if self._epochs else None

    @property
    def latest_epoch(self) -> LeaderEpoch | None:
        """The newest epoch, or None for a log that has none."""
        return self._epochs[-1] if self._epochs else None

    def assign(self, epoch: LeaderEpoch, start_offset: Offset) -> bool:
        """Note that the record at ``start_offset`` was, or will be, the first of ``epoch``.

        Nothing changes if the latest epoch is assigned again at its start or later. Otherwise the entries
        that contradict the new one are dropped: those of that epoch or a later one, and those that start at
        that offset or later.
        """
        if self._epochs and epoch == self._epochs[-1] and start_offset >= self._starts[-1]:
            return False
        keep = min(bisect_left(self._epochs, epoch), bisect_left(self._starts, start_offset))
        del self._epochs[keep:], self._starts[keep:]
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        return True

    def assign_from(self, header: BatchHeader) -> bool:
        """Assign the epoch of a batch that is appended, if the batch has one that is not known yet.

        Source: ``Log.maybeAssignEpochStartOffset``.
        """
        epoch = header.partition_leader_epoch
        if epoch < 0 or (self._epochs and epoch <= self._epochs[-1]):
            return False
        return self.assign(LeaderEpoch(epoch), Offset(header.base_offset))

    def truncate_from_end(self, end_offset: int) -> bool:
        """Forget the epochs that start at ``end_offset`` or later: the log now ends there."""
        keep = bisect_left(self._starts, end_offset)
        changed = keep < len(self._starts)
        del self._epochs[keep:], self._starts[keep:]
        return changed

    def truncate_from_start(self, start_offset: Offset) -> bool:
        """Forget the epochs that ended before ``start_offset``: the log now starts there.

        The epoch that holds ``start_offset`` stays, with ``start_offset`` as its start.
        """
        covered = bisect_right(self._starts, start_offset)
        if covered == 0 or (covered == 1 and self._starts[0] == start_offset):
            return False
        del self._epochs[: covered - 1], self._starts[: covered - 1]
        self._starts[0] = start_offset
        return True

    def clear(self) -> bool:
        """Forget all epochs: the log was emptied."""
        changed = bool(self._epochs)
        self._epochs.clear()
        self._starts.clear()
        return changed

    def end_offset_for(self, epoch: LeaderEpoch, log_end_offset: Offset) -> EpochEndOffset:
        """Return the end of ``epoch``, or of the largest epoch below it that this log has.

        Args:
            epoch: The requested epoch; the answer about -1 is undefined.
            log_end_offset: The end, for now, of the latest epoch.

        Returns:
            Undefined for an epoch above all known ones. For one below all known ones, that epoch itself and
            the start of the first known one.
        """
        if epoch == UNKNOWN_LEADER_EPOCH or not self._epochs or epoch > self._epochs[-1]:
            return UNDEFINED_EPOCH_END
        if epoch == self._epochs[-1]:
            return EpochEndOffset(epoch, log_end_offset)
        above = bisect_right(self._epochs, epoch)
        if above == 0:
            return EpochEndOffset(epoch, self._starts[0])
        return EpochEndOffset(self._epochs[above - 1], self._starts[above])
