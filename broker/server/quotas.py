"""The quotas of clients: what each of them uses, and how long its connection is muted.

Sources: ``ClientQuotaManager`` and ``ClientRequestQuotaManager`` of Kafka 2.8; KIP-13, KIP-124, KIP-219.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from barnabas.broker.core.quotas.client_quotas import QuotaUse
from barnabas.broker.core.quotas.quota_rates import SampledRate
from barnabas.broker.replicas.hosted import monotonic_ms
from barnabas.cluster.model.client_quotas import (
    CONSUMER_BYTE_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    QuotaEntity,
)

T = TypeVar("T")


@dataclass(slots=True)
class TimeSpent:
    """The time that the broker spent on a request.

    Attributes:
        seconds: The sum of the steps that have ended.
        began: The start of the step that runs now, or None.
        taken: The seconds that `take` has returned.
        is_decided: Whether the handler has recorded its time and decided the throttle time.
        is_exempt: Whether the request never throttles its client.
    """

    seconds: float = 0.0
    began: float | None = None
    taken: float = 0.0
    is_decided: bool = False
    is_exempt: bool = False

    def call(self, work: Callable[[], T]) -> T:
        """Do ``work`` and count its time."""
        self.began = perf_counter()
        try:
            return work()
        finally:
            self.seconds += perf_counter() - self.began
            self.began = None

    def take(self) -> float:
        """Return the seconds spent until now that no earlier call has returned."""
        running = 0.0 if self.began is None else perf_counter() - self.began
        more = self.seconds + running - self.taken
        self.taken += more
        return more

    def decide(self) -> float:
        """Return the seconds spent until now, for the handler to record; later ones throttle nobody."""
        self.is_decided = True
        return self.take()

    def exempt(self) -> None:
        """Count the request as one that never throttles its client, such as a follower's Fetch."""
        self.is_exempt = True


class Timed:
    """An awaitable that counts the time of each step of another one, without the waits in between."""

    def __init__(self, awaitable: Any, spent: TimeSpent) -> None:
        self._steps = awaitable.__await__()
        self._spent = spent

    def __await__(self) -> Generator[Any, Any, Any]:
        """Run the steps of the other awaitable."""
        steps = self._steps
        step: Callable[[], Any] = partial(next, steps)
        while True:
            try:
                waited_for = self._spent.call(step)
            except StopIteration as end:
                return end.value
            try:
                step = partial(steps.send, (yield waited_for))
            except BaseException as raised:  # noqa: BLE001  (a cancellation belongs to the other awaitable)
                step = partial(steps.throw, raised)


class DefaultRates(NamedTuple):
    """The byte rates of clients for which no quota is set; None for no limit.

    Attributes:
        produce: ``quota.producer.default``.
        fetch: ``quota.consumer.default``.
    """

    produce: float | None = None
    fetch: float | None = None


class ClientQuotas:
    """The use of all quotas by the clients of this broker.

    Args:
        quotas: The quotas by entity; changed by others while the broker runs.
        windows: The number of windows over which a rate is taken.
        window_s: The length of a window, seconds.
        defaults: The byte rates of clients for which no quota is set.
    """

    def __init__(
        self,
        quotas: Mapping[QuotaEntity, Mapping[str, float]],
        windows: int,
        window_s: int,
        defaults: DefaultRates = DefaultRates(),  # noqa: B008  (immutable)
    ) -> None:
        self._quotas, self._defaults = quotas, defaults
        window_ms = window_s * 1000
        self.produce = QuotaUse(PRODUCER_BYTE_RATE, quotas, windows, window_ms, default=defaults.produce)
        self.fetch = QuotaUse(CONSUMER_BYTE_RATE, quotas, windows, window_ms, default=defaults.fetch)
        self.request = QuotaUse(REQUEST_PERCENTAGE, quotas, windows, window_ms, window_ms)
        self.exempt = SampledRate(windows, window_s * 1000)
        """The percentage of time that goes to requests that no quota throttles."""

    @property
    def are_set(self) -> bool:
        """Return whether anybody has a quota."""
        return bool(self._quotas) or self._defaults != DefaultRates()

    def produced(self, user: str, client_id: str | None, size: int) -> int:
        """Count a Produce request of ``size`` bytes; return the milliseconds that its client must wait."""
        return self.produce.record(user, client_id or "", size, monotonic_ms())

    def fetched(self, user: str, client_id: str | None, size: int, seconds: float = 0.0) -> int:
        """Count a Fetch answer of ``size`` bytes; return the milliseconds that its client must wait.

        A client that must wait gets no records, so they are not counted then, whether their bytes or the
        ``seconds`` spent are too much (``KafkaApis.handleFetchRequest``).
        """
        now_ms = monotonic_ms()
        busy_ms = self.handled(user, client_id, seconds)
        wait_ms = self.fetch.record(user, client_id or "", size, now_ms)
        if max(wait_ms, busy_ms) > 0:
            self.fetch.take_back(user, client_id or "", size, now_ms)
        return self._delay(self.fetch, wait_ms, busy_ms)

    def most_fetched(self, user: str, client_id: str | None, max_bytes: int) -> int:
        """Return the most bytes of an answer that a client could get without waiting for ever."""
        most = self.fetch.most_at_once(user, client_id or "")
        return max_bytes if most is None else min(max_bytes, int(most))

    def handled(self, user: str, client_id: str | None, seconds: float) -> int:
        """Count the time spent on a request; return the milliseconds that its client must wait."""
        return self.request.record(user, client_id or "", 100 * seconds, monotonic_ms())

    def delay(self, produced_ms: int, busy_ms: int) -> int:
        """Return the longer of the throttle times of ``produced`` and ``handled``, which the client waits."""
        return self._delay(self.produce, produced_ms, busy_ms)

    def _delay(self, use: QuotaUse, wait_ms: int, busy_ms: int) -> int:
        if max(wait_ms, busy_ms) > 0:
            longer = use if wait_ms > busy_ms else self.request
            longer.delayed.add(max(wait_ms, busy_ms), monotonic_ms())
        return max(wait_ms, busy_ms)

    def exempted(self, seconds: float) -> None:
        """Count the time spent on a request that never throttles its client."""
        self.exempt.record(100 * seconds, monotonic_ms())


class QuotaMetrics(Collector):
    """A collector with the rates of clients that have quotas, as Kafka names them."""

    def __init__(self, quotas: ClientQuotas) -> None:
        self._quotas = quotas

    def collect(self) -> list[GaugeMetricFamily]:
        """Return the metrics with current values; called on the page's thread."""
        now_ms = monotonic_ms()
        families = []
        for kind, rate, use in (
            ("Produce", "byte_rate", self._quotas.produce),
            ("Fetch", "byte_rate", self._quotas.fetch),
            ("Request", "request_time", self._quotas.request),
        ):
            labels = ("user", "client_id")
            name = f"kafka_server_{kind}"
            used = GaugeMetricFamily(f"{name}_{rate}", f"{kind}: use of the quota", labels=labels)
            waited = GaugeMetricFamily(
                f"{name}_throttle_time", f"{kind}: last throttle time, ms", labels=labels
            )
            for tags, counter in tuple(use.counters.items()):
                used.add_metric(tags, counter.rate.measure(now_ms).per_second)
                waited.add_metric(tags, counter.throttle_ms)
            size = GaugeMetricFamily(
                f"{name}_queue_size", f"{kind}: responses whose clients wait because of this quota"
            )
            size.add_metric((), use.delayed.size(now_ms))
            families += [used, waited, size]
        exempt = GaugeMetricFamily(
            "kafka_server_Request_exempt_request_time", "Request: percentage of time that no quota counts"
        )
        exempt.add_metric((), self._quotas.exempt.measure(now_ms).per_second)
        return [*families, exempt]
