"""The comparison of a reader's position with its leader's log.

Source: KIP-595 (truncation on fetch); the order of checks is that of ``Partition.readRecords`` of release
2.8.
"""

from __future__ import annotations

from enum import Enum

from barnabas.broker.core.replication.leader_epochs import UNDEFINED_EPOCH_END, EpochEndOffset
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, LeaderEpoch
from barnabas.cluster.model.ids import Offset


class Agreement(Enum):
    """The relation of a reader's log, below the offset that it fetches, to the leader's."""

    AGREES = "the same, or not to be compared"
    DIVERGES = "the reader must cut its log and ask again"
    OUT_OF_RANGE = "the leader has nothing there, or knows nothing of the reader's epoch: OFFSET_OUT_OF_RANGE"


def agreement(
    leader_end: EpochEndOffset,
    last_fetched_epoch: LeaderEpoch,
    fetch_offset: Offset,
    log_start_offset: Offset,
    log_end_offset: Offset,
) -> Agreement:
    """Compare a reader's fetch offset with the end of the epoch of its last record in the leader's log.

    The cases, in the order of the checks:

    A. The fetch offset lies below the leader's log start, or the leader knows nothing about the epoch:
       nothing can be compared, so the offset is out of range.
    B. The epoch ended earlier in the leader's log, or the leader lacks it and answers with a lower one: the
       logs diverge, and the reader must truncate, even if its offset lies beyond the leader's end.
    C. The logs agree if the fetch offset lies in the leader's log; else it is out of range.

    Args:
        leader_end: The leader's answer about ``last_fetched_epoch``.
        last_fetched_epoch: The epoch of the reader's last record; -1 is not compared.
        fetch_offset: The offset that follows the reader's last record.
        log_start_offset: The leader's.
        log_end_offset: The leader's.
    """
    compares = last_fetched_epoch != UNKNOWN_LEADER_EPOCH
    if fetch_offset < log_start_offset or (compares and leader_end == UNDEFINED_EPOCH_END):
        return Agreement.OUT_OF_RANGE
    if compares and (leader_end.epoch < last_fetched_epoch or leader_end.end_offset < fetch_offset):
        return Agreement.DIVERGES
    return Agreement.AGREES if fetch_offset <= log_end_offset else Agreement.OUT_OF_RANGE
