"""The throttle of replication: how fast a leader sends, and a follower fetches, throttled replicas.

Sources: ``ReplicationQuotaManager`` of Kafka 2.8; KIP-73.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from barnabas.broker.core.quotas.quota_rates import SampledRate, throttle_ms
from barnabas.cluster.model.configs.settings import setting
from barnabas.cluster.model.ids import BrokerId

DEFAULT_WINDOWS, DEFAULT_WINDOW_S = 11, 1
"""The defaults of ``replication.quota.window.num`` and ``replication.quota.window.size.seconds``."""

ALL_REPLICAS = "*"
"""The list that throttles every replica of a topic."""

SHORTEST_WAIT_MS, LONGEST_WAIT_MS = 50, 1000
"""The bounds of a follower's pause before it fetches a throttled partition again."""


def _rate(windows: int, window_s: int) -> SampledRate:
    return SampledRate(windows, window_s * 1000, is_simple=True)


@dataclass(slots=True)
class ReplicationQuota:
    """The rate of one direction of a broker's replication.

    Attributes:
        limit: The most bytes per second of throttled replicas, or None.
        rate: The rate of throttled replicas.
    """

    limit: float | None = None
    rate: SampledRate = field(default_factory=lambda: _rate(DEFAULT_WINDOWS, DEFAULT_WINDOW_S))

    def is_exceeded(self, now_ms: int) -> bool:
        """Return whether nothing more of throttled replicas may be sent or fetched now."""
        return self.limit is not None and self.rate.measure(now_ms).per_second > self.limit

    def wait_ms(self, now_ms: int) -> int:
        """Return the milliseconds after which it is worth looking again."""
        wait_ms = 0 if self.limit is None else throttle_ms(self.rate.measure(now_ms), self.limit)
        return max(SHORTEST_WAIT_MS, min(wait_ms, LONGEST_WAIT_MS))


@dataclass(frozen=True, slots=True)
class QuotaWindows:
    """The windows over which rates of replication are measured; lengths in seconds."""

    replication: int = setting("replication.quota.window.num")
    replication_s: int = setting("replication.quota.window.size.seconds")
    log_dirs: int = setting("alter.log.dirs.replication.quota.window.num")
    log_dirs_s: int = setting("alter.log.dirs.replication.quota.window.size.seconds")


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

    def measure_over(self, windows: QuotaWindows) -> None:
        """Begin to measure the rates over these windows."""
        self.leader.rate = _rate(windows.replication, windows.replication_s)
        self.follower.rate = _rate(windows.replication, windows.replication_s)
        self.log_dirs.rate = _rate(windows.log_dirs, windows.log_dirs_s)


def is_throttled(replicas: Collection[str], partition: int, broker_id: BrokerId) -> bool:
    """Return whether a topic's list of ``partition:broker`` has the replica of a broker."""
    return bool(replicas) and (ALL_REPLICAS in replicas or f"{partition}:{broker_id}" in replicas)
