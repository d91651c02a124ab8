"""The arithmetic of the high watermark, the first offset not known to be on every in-sync replica.

Source: Kafka's ``Partition.maybeIncrementLeaderHW`` and ``Log.updateHighWatermark`` of release 2.8; KIP-101.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from barnabas.cluster.model.ids import Offset


class Follower(NamedTuple):
    """A remote replica, as far as it matters to the high watermark.

    Attributes:
        log_end_offset: The offset of its last successful fetch in this leader epoch, -1 before the first.
        in_maximal_isr: Whether it is in the committed ISR or in a pending expansion of it.
        since_caught_up_ms: Milliseconds since it last had all that the leader had.
    """

    log_end_offset: Offset
    in_maximal_isr: bool
    since_caught_up_ms: int


def candidate(leader_end_offset: Offset, followers: Iterable[Follower], lag_time_max_ms: int) -> Offset:
    """Return the offset up to which every replica that counts has all records.

    The replicas of the maximal ISR count, and those that were caught up within ``lag_time_max_ms``: a replica
    that is about to rejoin must hold the high watermark back, or it could never reach it. The result may lie
    below the current high watermark; it is -1 if a replica that counts has not fetched yet.
    """
    # The leader has all of its own records, so the search starts at its end. A follower lowers the result
    # in two cases:
    # A. It is in the maximal ISR: acks=all promises that it has the records.
    # B. It was caught up until a moment ago: it is about to rejoin.
    # Any other follower may lag as far as it likes, or the partition would stand still with it.
    lowest = leader_end_offset
    for log_end_offset, in_maximal_isr, since_caught_up_ms in followers:
        if log_end_offset < lowest and (in_maximal_isr or since_caught_up_ms <= lag_time_max_ms):
            lowest = log_end_offset
    return lowest


def bounded(offset: Offset, log_start_offset: Offset, log_end_offset: Offset) -> Offset:
    """Return ``offset`` limited to the log's range: it comes from the leader or from a checkpoint."""
    return max(log_start_offset, min(offset, log_end_offset))
