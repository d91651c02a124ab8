"""A follower's decisions: where to truncate, where to fetch next, when to back off.

Source: KIP-101, KIP-279 and KIP-595 (truncation on fetch); ``getOffsetTruncationState``,
``fetchOffsetAndTruncate`` and ``onPartitionFenced`` in Kafka's ``AbstractFetcherThread`` of release 2.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from barnabas.broker.core.replication.leader_epochs import UNDEFINED_OFFSET, EpochEndOffset
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset


def cut_on_becoming_follower(
    latest_epoch: LeaderEpoch | None, log_end_offset: Offset, high_watermark: Offset
) -> Offset | None:
    """Return the offset to truncate to before the first fetch; None if the fetch decides about truncation.

    Only a log without any epoch is truncated at the high watermark: what lies above it cannot be compared.
    """
    if latest_epoch is None and high_watermark < log_end_offset:
        return high_watermark
    return None


def cut_on_divergence(
    leader_end: EpochEndOffset, own_end: EpochEndOffset, log_end_offset: Offset, high_watermark: Offset
) -> Offset:
    """Return the offset to truncate to after the leader reported a divergence.

    The next fetch may report another divergence, at a lower epoch.

    Args:
        leader_end: The leader's largest epoch that is not above the follower's last one, and its end offset.
        own_end: The end offset of ``leader_end.epoch`` in the follower's own log.
        log_end_offset: The follower's.
        high_watermark: The follower's; the place to cut if the leader knows no such epoch.
    """
    # A. The leader knows no epoch up to ours: nothing can be compared, so only committed records stay.
    if leader_end.end_offset == UNDEFINED_OFFSET:
        return min(high_watermark, log_end_offset)
    # B. The answer has no epoch, or our log has none up to it: only the leader's offset helps.
    if leader_end.epoch == UNKNOWN_LEADER_EPOCH or own_end.end_offset == UNDEFINED_OFFSET:
        return Offset(min(leader_end.end_offset, log_end_offset))
    # C. Our log lacks the leader's epoch: cut where our next lower epoch ends, and compare that one at the
    # next fetch.
    if own_end.epoch != leader_end.epoch:
        return Offset(min(own_end.end_offset, log_end_offset))
    # D. Both logs have the epoch: they agree up to the end of the shorter one.
    return Offset(min(own_end.end_offset, leader_end.end_offset, log_end_offset))


@dataclass(frozen=True, slots=True)
class Truncate:
    """Truncate to ``offset`` and go on from there: the log that is followed was truncated."""

    offset: Offset


@dataclass(frozen=True, slots=True)
class StartOver:
    """Drop the whole log and start at ``offset``: the log that is followed has nothing that continues it."""

    offset: Offset


@dataclass(frozen=True, slots=True)
class FetchOn:
    """Keep the log and fetch again from its end."""


OutOfRange = Truncate | StartOver | FetchOn


def on_offset_out_of_range(
    log_end_offset: Offset, leader_start_offset: Offset, leader_end_offset: Offset
) -> OutOfRange:
    """Decide what to do about OFFSET_OUT_OF_RANGE, from the start and end of the leader's log."""
    if leader_end_offset < log_end_offset:
        return Truncate(leader_end_offset)
    if leader_start_offset > log_end_offset:
        return StartOver(leader_start_offset)
    return FetchOn()


class Reaction(Enum):
    """A follower's reaction to the error of a partition."""

    FIND_RANGE = "compare the ends of both logs"
    BACK_OFF = "wait for replica.fetch.backoff.ms"


def reaction(error: ErrorCode) -> Reaction:
    """Return the reaction to ``error``, the answer to a fetch in the follower's current leader epoch.

    A follower that is fenced backs off and tries again, while Kafka's marks the partition as failed until the
    next LeaderAndIsr. The leader may still have the replica of a deleted topic of the same name; once it
    learns of the new topic, no further LeaderAndIsr is sent.
    """
    return Reaction.FIND_RANGE if error == ErrorCode.OFFSET_OUT_OF_RANGE else Reaction.BACK_OFF
