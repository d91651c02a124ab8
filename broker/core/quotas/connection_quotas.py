"""The decision which client connections a broker accepts, and when.

The checks run in Kafka's order: the rates of the broker and the listener, and the number of connections,
make the acceptor wait; an address that exceeds its rate is not served until its connection is closed after
a delay; the number of connections of an address closes it.
Sources: ``SocketServer.ConnectionQuotas`` of release 2.8; KIP-402, KIP-612.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, unique
from typing import NamedTuple

from barnabas.broker.core.quotas.quota_rates import SampledRate, throttle_ms

UNLIMITED = 2**31 - 1
"""The number that Kafka uses for "no limit"."""

MAX_ADDRESSES = 10_000
"""The most addresses whose rates are kept.

Beyond it the address that is silent longest is dropped. Kafka has no bound.
"""


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    """The limits of a listener.

    Attributes:
        maximum: The most connections (``listener.name.<l>.max.connections``).
        rate: The most new connections per second (``listener.name.<l>.max.connection.creation.rate``).
    """

    maximum: int = UNLIMITED
    rate: int = UNLIMITED


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of a broker.

    Attributes:
        maximum: The most connections (``max.connections``).
        rate: The most new connections per second (``max.connection.creation.rate``).
        per_ip: The most connections of an address (``max.connections.per.ip``).
        per_ip_overrides: The most connections of some addresses (``max.connections.per.ip.overrides``).
        listeners: The limits of each listener that has some.
    """

    maximum: int = UNLIMITED
    rate: int = UNLIMITED
    per_ip: int = UNLIMITED
    per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    listeners: Mapping[str, ListenerLimits] = field(default_factory=dict)

    def of(self, listener: str) -> ListenerLimits:
        """Return the limits of a listener."""
        return self.listeners.get(listener, _NO_LIMITS)

    def of_address(self, host: str) -> int:
        """Return the most connections of an address."""
        return self.per_ip_overrides.get(host, self.per_ip)


_NO_LIMITS = ListenerLimits()


@unique
class Verdict(Enum):
    """The outcomes for an accepted connection."""

    SERVE = "SERVE"
    CLOSE_LATER = "CLOSE_LATER"
    CLOSE = "CLOSE"


class Admission(NamedTuple):
    """The decision on an accepted connection.

    Attributes:
        verdict: What happens to it.
        number: For ``CLOSE_LATER`` the milliseconds until then, for ``CLOSE`` the most connections of the
            address.
    """

    verdict: Verdict
    number: int = 0


class ConnectionCounter:
    """The connections of all client listeners, and the limits on them; times are those of one steady clock.

    Args:
        limits: Returns the limits in force.
        ip_rate: Returns the most new connections per second of an address; None for no limit.
        windows: The number of windows over which a rate is taken (``quota.window.num``).
        window_ms: The length of a window, which is also the longest wait (``quota.window.size.seconds``).

    Attributes:
        count: The number of connections.
    """

    def __init__(
        self,
        limits: Callable[[], ConnectionLimits],
        ip_rate: Callable[[str], float | None] = lambda _: None,
        windows: int = 11,
        window_ms: int = 1000,
    ) -> None:
        self._limits = limits
        self._ip_rate = ip_rate
        self._windows = windows
        self._window_ms = window_ms
        self._of_listener: Counter[str] = Counter()
        self._of_address: Counter[str] = Counter()
        self._rate = SampledRate(windows, window_ms)
        self._listener_rates: dict[str, SampledRate] = {}
        self._address_rates: OrderedDict[str, SampledRate] = OrderedDict()
        self.count = 0

    @property
    def excess(self) -> int:
        """Return how many connections exceed ``max.connections``, which may have been lowered."""
        return max(0, self.count - self._limits().maximum)

    def full(self, listener: str) -> str | None:
        """Return which limit forbids one more connection on a listener; None if there is room."""
        limits = self._limits()
        own = limits.of(listener).maximum
        if self._of_listener[listener] >= own:
            return f"listener.name.{listener.lower()}.max.connections allows no more than {own}; raise it"
        if self.count >= limits.maximum:
            return f"max.connections allows no more than {limits.maximum}; raise it"
        return None

    def wait_ms(self, listener: str, now_ms: int) -> int:
        """Count a new connection in the rates of broker and listener; return how long it must wait, in ms."""
        limits = self._limits()
        own = limits.of(listener).rate
        wait_ms = 0
        if limits.rate < UNLIMITED:
            wait_ms = self._recorded(self._rate, limits.rate, now_ms)
        if own < UNLIMITED:
            wait_ms = max(wait_ms, self._recorded(self._listener_rate(listener), own, now_ms))
        return wait_ms

    def admit(self, listener: str, host: str, now_ms: int) -> Admission:
        """Decide on a connection that has waited; a served one counts until ``closed`` is called."""
        quota = self._ip_rate(host)
        if quota is not None:
            rate = self._address_rate(host)
            wait_ms = self._recorded(rate, quota, now_ms)
            if wait_ms:
                # It counts in no rate, because it will not be served.
                rate.record(-1, now_ms)
                limits = self._limits()
                if limits.rate < UNLIMITED:
                    self._rate.record(-1, now_ms)
                if limits.of(listener).rate < UNLIMITED:
                    self._listener_rate(listener).record(-1, now_ms)
                return Admission(Verdict.CLOSE_LATER, wait_ms)
        maximum = self._limits().of_address(host)
        if self._of_address[host] >= maximum:
            return Admission(Verdict.CLOSE, maximum)
        self.count += 1
        self._of_listener[listener] += 1
        self._of_address[host] += 1
        return Admission(Verdict.SERVE)

    def closed(self, listener: str, host: str) -> None:
        """Stop counting a served connection, which has closed."""
        self.count -= 1
        self._of_listener[listener] -= 1
        self._of_address[host] -= 1
        if not self._of_address[host]:
            del self._of_address[host]

    def _recorded(self, rate: SampledRate, quota: float, now_ms: int) -> int:
        rate.record(1, now_ms)
        return min(throttle_ms(rate.measure(now_ms), quota), self._window_ms)

    def _listener_rate(self, listener: str) -> SampledRate:
        rate = self._listener_rates.get(listener)
        if rate is None:
            rate = self._listener_rates[listener] = SampledRate(self._windows, self._window_ms)
        return rate

    def _address_rate(self, host: str) -> SampledRate:
        rate = self._address_rates.get(host)
        if rate is None:
            rate = self._address_rates[host] = SampledRate(self._windows, self._window_ms)
        self._address_rates.move_to_end(host)
        if len(self._address_rates) > MAX_ADDRESSES:
            self._address_rates.popitem(last=False)
        return rate
