"""The quota that holds for a client, and how much of it the client uses.

Source: ``ClientQuotaManager`` of Kafka 2.8 and its ``DefaultQuotaCallback`` (the order of quotas); KIP-55.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.broker.core.quota_rates import SampledRate, throttle_ms
from barnabas.cluster.model.client_quotas import DEFAULT, QuotaEntity

IDLE_MS = 3_600_000
"""How long a counter is kept that nothing is recorded in."""

MAX_COUNTERS = 10_000
"""How many counters each type of quota has; beyond it the longest idle one goes. Kafka has no bound."""


class Tags(NamedTuple):
    """Who shares a counter, as the metrics name it: a user, a client id, or both.

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
        tags: Who shares it.
    """

    value: float
    tags: Tags


def limit_of(
    quotas: Mapping[QuotaEntity, Mapping[str, float]], key: str, user: str, client_id: str
) -> Limit | None:
    """Return the first quota that there is for this user and client id, or None if they have no limit.

    The more specific one comes first; a user's comes before a client's.
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
    return None


@dataclass(slots=True)
class Counter:
    """What a client uses.

    Attributes:
        rate: Its rate.
        used_ms: When it was last recorded.
        throttle_ms: How long it had to wait when it was last recorded.
    """

    rate: SampledRate
    used_ms: int = 0
    throttle_ms: int = 0


@dataclass(slots=True)
class QuotaUse:
    """The use of one type of quota by all clients.

    Attributes:
        key: The setting that limits it.
        quotas: All quotas, of every type.
        windows: How many windows a rate is taken over (``quota.window.num``).
        window_ms: The length of a window.
        most_ms: The longest that anybody waits, or None.
        counters: The counters of those who are limited, the longest idle one first.
    """

    key: str
    quotas: Mapping[QuotaEntity, Mapping[str, float]]
    windows: int
    window_ms: int
    most_ms: int | None = None
    counters: OrderedDict[Tags, Counter] = field(default_factory=OrderedDict)

    def record(self, user: str, client_id: str, value: float, now_ms: int) -> int:
        """Add what a client has used; return how long it must wait, in milliseconds."""
        limit = limit_of(self.quotas, self.key, user, client_id)
        if limit is None:
            return 0
        counter = self._counter(limit.tags, now_ms)
        counter.rate.record(value, now_ms)
        wait_ms = throttle_ms(counter.rate.measure(now_ms), limit.value)
        counter.throttle_ms = wait_ms if self.most_ms is None else min(wait_ms, self.most_ms)
        return counter.throttle_ms

    def take_back(self, user: str, client_id: str, value: float, now_ms: int) -> None:
        """Take back what was recorded: the client did not get it."""
        limit = limit_of(self.quotas, self.key, user, client_id)
        if limit is not None:
            self._counter(limit.tags, now_ms).rate.record(-value, now_ms)

    def most_at_once(self, user: str, client_id: str) -> float | None:
        """Return the most units that a client may use at once without waiting, or None if it has no limit."""
        limit = limit_of(self.quotas, self.key, user, client_id)
        return None if limit is None else limit.value * (self.windows - 1) * self.window_ms / 1000

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
