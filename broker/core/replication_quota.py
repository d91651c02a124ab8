"""The throttle of replication: how fast a leader sends, and a follower fetches, throttled replicas.

Sources: ``ReplicationQuotaManager`` of Kafka 2.8; KIP-73.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from barnabas.broker.core.quota_rates import SampledRate, throttle_ms
from barnabas.cluster.model.ids import BrokerId

WINDOWS, WINDOW_MS = 11, 1000
"""The defaults of ``replication.quota.window.num`` and ``replication.quota.window.size.seconds``."""

ALL_REPLICAS = "*"
"""The list that throttles every replica of a topic."""

SHORTEST_WAIT_MS, LONGEST_WAIT_MS = 50, 1000
"""The bounds of a follower's pause before it fetches a throttled partition again."""


@dataclass(slots=True)
class ReplicationQuota:
    """The rate of one direction of a broker's replication.

    Attributes:
        limit: The most bytes per second of throttled replicas, or None.
        rate: The rate of throttled replicas.
    """

    limit: float | None = None
    rate: SampledRate = field(default_factory=lambda: SampledRate(WINDOWS, WINDOW_MS, is_simple=True))

    def is_exceeded(self, now_ms: int) -> bool:
        """Return whether nothing more of throttled replicas may be sent or fetched now."""
        return self.limit is not None and self.rate.measure(now_ms).per_second > self.limit

    def wait_ms(self, now_ms: int) -> int:
        """Return the milliseconds after which it is worth looking again."""
        wait_ms = 0 if self.limit is None else throttle_ms(self.rate.measure(now_ms), self.limit)
        return max(SHORTEST_WAIT_MS, min(wait_ms, LONGEST_WAIT_MS))


@dataclass(slots=True)
class ReplicationThrottles:
    """The throttles of a broker.

    Attributes:
        leader: Of what it sends as leader.
        follower: Of what it fetches as follower.
        log_dirs: Of what it copies between its log directories (KIP-113).
    """

    leader: ReplicationQuota = field(default_factory=ReplicationQuota)
    follower: ReplicationQuota = field(default_factory=ReplicationQuota)
    log_dirs: ReplicationQuota = field(default_factory=ReplicationQuota)


def is_throttled(replicas: Collection[str], partition: int, broker_id: BrokerId) -> bool:
    """Return whether a topic's list of ``partition:broker`` has the replica of a broker."""
    return bool(replicas) and (ALL_REPLICAS in replicas or f"{partition}:{broker_id}" in replicas)
