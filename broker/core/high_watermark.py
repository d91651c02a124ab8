"""The high watermark's arithmetic: the first offset not known to be on every in-sync replica.

Source: Kafka's ``Partition.maybeIncrementLeaderHW`` and ``Log.updateHighWatermark`` of release 2.8; KIP-101.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from barnabas.cluster.model.ids import Offset


class Follower(NamedTuple):
    """What the high watermark needs to know of one remote replica.

    Attributes:
        log_end_offset: The offset of its last successful fetch in this leader epoch, -1 before the first.
        in_maximal_isr: Whether it is in the committed ISR or in a pending expansion of it.
        since_caught_up_ms: How long ago it last had all that the leader had, in milliseconds.
    """

    log_end_offset: Offset
    in_maximal_isr: bool
    since_caught_up_ms: int


def candidate(leader_end_offset: Offset, followers: Iterable[Follower], lag_time_max_ms: int) -> Offset:
    """The offset below which all replicas that count have everything.

    Those in the maximal ISR count, and those that were caught up within ``lag_time_max_ms``: a replica about
    to rejoin must hold the high watermark back, or it could never reach it. The answer may lie below the
    current high watermark (-1 where one that counts has not fetched yet): see ``raised``.
    """
    lowest = leader_end_offset
    for log_end_offset, in_maximal_isr, since_caught_up_ms in followers:
        if log_end_offset < lowest and (in_maximal_isr or since_caught_up_ms <= lag_time_max_ms):
            lowest = log_end_offset
    return lowest


def bounded(offset: Offset, log_start_offset: Offset, log_end_offset: Offset) -> Offset:
    """``offset`` forced into the log: a follower's high watermark from its leader's or a checkpoint's."""
    return max(log_start_offset, min(offset, log_end_offset))
