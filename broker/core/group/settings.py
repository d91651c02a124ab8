"""The settings of the group coordinator that decisions need (``GroupConfig`` of Kafka 2.8)."""

from __future__ import annotations

from dataclasses import dataclass

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""The time that a member may wait in its first join round (``GroupCoordinator.NewMemberJoinTimeoutMs``)."""


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """The settings ``group.*``.

    Attributes:
        min_session_timeout_ms: ``group.min.session.timeout.ms``.
        max_session_timeout_ms: ``group.max.session.timeout.ms``.
        max_size: ``group.max.size``, the most members that a group may have.
        initial_rebalance_delay_ms: ``group.initial.rebalance.delay.ms``.
    """

    min_session_timeout_ms: int
    max_session_timeout_ms: int
    max_size: int
    initial_rebalance_delay_ms: int
