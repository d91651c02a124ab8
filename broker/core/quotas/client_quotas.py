"""The quota that applies to a client, and how much of it the client uses.

Source: ``ClientQuotaManager`` of Kafka 2.8 and its ``DefaultQuotaCallback`` (the order of quotas); KIP-55.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

from barnabas.broker.core.quotas.quota_rates import SampledRate, throttle_ms
from barnabas.cluster.model.client_quotas import DEFAULT, QuotaEntity

IDLE_MS = 3_600_000
"""The time in milliseconds for which an idle counter is kept."""

MAX_COUNTERS = 10_000
"""The most counters of each type of quota.

Beyond it the counter that is idle longest is dropped. Kafka has no bound.
"""


class Tags(NamedTuple):
    """The clients that share a counter, as the metrics name them: a user, a client id, or both.

    Attributes:
        user: The user, or an empty string if all users share it.
        client_id: The client id, or an empty string if all clients share it.
    """

    user: str
    client_id: str


class Limit(NamedTuple):
    """The quota of a client.

    Attributes:
        value: The most units per second.
        tags: The clients that share it.
    """

    value: float
    tags: Tags


def limit_of(
    quotas: Mapping[QuotaEntity, Mapping[str, float]],
    key: str,
    user: str,
    client_id: str,
    default: float | None = None,
) -> Limit | None:
    """Return the most specific quota of this user and client id, or None if they have no limit.

    The more specific one comes first; a user's comes before a client's. The ``default`` of the broker's
    settings, such as ``quota.producer.default``, is the last one and holds for each client id.
    """
    both, of_user, of_client = Tags(user, client_id), Tags(user, ""), Tags("", client_id)
    for entity, tags in (
        (QuotaEntity(user, client_id), both),
        (QuotaEntity(user, DEFAULT), both),
        (QuotaEntity(user), of_user),
        (QuotaEntity(DEFAULT, client_id), both),
        (QuotaEntity(DEFAULT, DEFAULT), both),
        (QuotaEntity(DEFAULT), of_user),
        (QuotaEntity(None, client_id), of_client),
        (QuotaEntity(None, DEFAULT), of_client),
    ):
        value = quotas.get(entity, {}).get(key)
        if value is not None:
            return Limit(value, tags)
    return None if default is None else Limit(default, of_client)


@dataclass(slots=True)
class Counter:
    """The use of a quota by the clients that share it.

    Attributes:
        rate: The rate of what they use.
        used_ms: The time of the last record.
        throttle_ms: The throttle time after the last record.
    """

    rate: SampledRate
    used_ms: int = 0
    throttle_ms: int = 0


class DelayQueue:
    """The responses whose clients wait because they have exceeded a quota.

    As in Kafka, whose clients wait in a queue of this name, a client that goes away is counted until its
    time is over.
    """

    __slots__ = ("_ends_ms",)

    def __init__(self) -> None:
        self._ends_ms: list[int] = []

    def add(self, wait_ms: int, now_ms: int) -> None:
        """Add a response whose client waits for ``wait_ms``, and drop those whose time is over."""
        while self._ends_ms and self._ends_ms[0] <= now_ms:
            heappop(self._ends_ms)
        heappush(self._ends_ms, now_ms + wait_ms)

    def size(self, now_ms: int) -> int:
        """Return how many wait at present; changes nothing, so any thread may call it."""
        return sum(end_ms > now_ms for end_ms in tuple(self._ends_ms))


@dataclass(slots=True)
class QuotaUse:
    """The use of one type of quota by all clients.

    Attributes:
        key: The setting that limits it, such as ``producer_byte_rate``.
        quotas: All quotas, of every type.
        windows: The number of windows over which a rate is measured (``quota.window.num``).
        window_ms: The length of a window.
        most_ms: The longest throttle time, or None for no bound.
        default: The quota of clients for which none is set, or None.
        counters: The counters of limited clients, the longest idle one first.
        delayed: The responses whose clients wait because of this type of quota more than of any other.
    """

    key: str
    quotas: Mapping[QuotaEntity, Mapping[str, float]]
    windows: int
    window_ms: int
    most_ms: int | None = None
    default: float | None = None
    counters: OrderedDict[Tags, Counter] = field(default_factory=OrderedDict)
    delayed: DelayQueue = field(default_factory=DelayQueue)

    def record(self, user: str, client_id: str, value: float, now_ms: int) -> int:
        """Record what a client has used; return its throttle time in milliseconds."""
        limit = self._limit(user, client_id)
        if limit is None:
            return 0
        counter = self._counter(limit.tags, now_ms)
        counter.rate.record(value, now_ms)
        wait_ms = throttle_ms(counter.rate.measure(now_ms), limit.value)
        counter.throttle_ms = wait_ms if self.most_ms is None else min(wait_ms, self.most_ms)
        return counter.throttle_ms

    def take_back(self, user: str, client_id: str, value: float, now_ms: int) -> None:
        """Subtract what was recorded but not given to the client."""
        limit = self._limit(user, client_id)
        if limit is not None:
            self._counter(limit.tags, now_ms).rate.record(-value, now_ms)

    def most_at_once(self, user: str, client_id: str) -> float | None:
        """Return the most units that a client may use at once without being throttled; None for no limit."""
        limit = self._limit(user, client_id)
        return None if limit is None else limit.value * (self.windows - 1) * self.window_ms / 1000

    def _limit(self, user: str, client_id: str) -> Limit | None:
        return limit_of(self.quotas, self.key, user, client_id, self.default)

    def _counter(self, tags: Tags, now_ms: int) -> Counter:
        counter = self.counters.get(tags)
        if counter is None:
            counter = self.counters[tags] = Counter(SampledRate(self.windows, self.window_ms))
        counter.used_ms = now_ms
        self.counters.move_to_end(tags)
        oldest, other = next(iter(self.counters.items()))
        if now_ms - other.used_ms > IDLE_MS or len(self.counters) > MAX_COUNTERS:
            del self.counters[oldest]
        return counter
