"""What a follower makes of its leader's answer: where to cut its log, where to fetch next, when to wait.

Source: KIP-101, KIP-279 and KIP-595 (truncation on fetch); Kafka's ``AbstractFetcherThread`` of release 2.8,
``getOffsetTruncationState``, ``fetchOffsetAndTruncate`` and ``onPartitionFenced``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from barnabas.broker.core.leader_epochs import UNDEFINED_OFFSET, EpochEndOffset
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset


def cut_on_becoming_follower(
    latest_epoch: LeaderEpoch | None, log_end_offset: Offset, high_watermark: Offset
) -> Offset | None:
    """Where to truncate before the first fetch, or None to leave it to the fetch.

    Only a log that knows no epoch is cut at the high watermark: what lies above it cannot be compared.
    """
    if latest_epoch is None and high_watermark < log_end_offset:
        return high_watermark
    return None


def cut_on_divergence(
    leader_end: EpochEndOffset, own_end: EpochEndOffset, log_end_offset: Offset, high_watermark: Offset
) -> Offset:
    """Where to truncate when the leader says that the logs diverge; the next fetch finds what is left of it.

    Args:
        leader_end: The largest epoch the leader knows that is not above the follower's last, and where it
            ends.
        own_end: The same question about ``leader_end.epoch``, asked of the follower's own log.
        log_end_offset: The follower's.
        high_watermark: The follower's; the cut where the leader knows nothing at all.
    """
    if leader_end.end_offset == UNDEFINED_OFFSET:
        return min(high_watermark, log_end_offset)
    if leader_end.epoch == UNKNOWN_LEADER_EPOCH or own_end.end_offset == UNDEFINED_OFFSET:
        return Offset(min(leader_end.end_offset, log_end_offset))
    if own_end.epoch != leader_end.epoch:
        return Offset(min(own_end.end_offset, log_end_offset))
    return Offset(min(own_end.end_offset, leader_end.end_offset, log_end_offset))


@dataclass(frozen=True, slots=True)
class Truncate:
    """Cut the log at ``offset`` and fetch from there: the leader's log is shorter (an unclean election)."""

    offset: Offset


@dataclass(frozen=True, slots=True)
class StartOver:
    """Drop the whole log and start at ``offset``: the leader no longer has what would follow ours."""

    offset: Offset


@dataclass(frozen=True, slots=True)
class FetchOn:
    """The log may stay as it is: fetch again from its end."""


OutOfRange = Truncate | StartOver | FetchOn


def on_offset_out_of_range(
    log_end_offset: Offset, leader_start_offset: Offset, leader_end_offset: Offset
) -> OutOfRange:
    """What to do about OFFSET_OUT_OF_RANGE, by where the leader's log begins and ends."""
    if leader_end_offset < log_end_offset:
        return Truncate(leader_end_offset)
    if leader_start_offset > log_end_offset:
        return StartOver(leader_start_offset)
    return FetchOn()


class Reaction(Enum):
    """What a follower does about a partition's error."""

    FIND_RANGE = "compare the ends of both logs"
    BACK_OFF = "wait for replica.fetch.backoff.ms"


def reaction(error: ErrorCode) -> Reaction:
    """What to do about ``error``, asked for in the follower's current leader epoch.

    A follower that is fenced waits and tries again, where Kafka's marks the partition as failed until the
    next LeaderAndIsr. The leader may be that of a former topic of the same name, and about to learn of the
    new one; then no further LeaderAndIsr comes.
    """
    return Reaction.FIND_RANGE if error == ErrorCode.OFFSET_OUT_OF_RANGE else Reaction.BACK_OFF
