"""The purgatory: requests wait until something holds or their time is up, and are answered exactly once.

Source: Kafka's ``DelayedOperationPurgatory`` of release 2.8. An operation is watched under keys such as a
(topic, partition); whoever changes what it waits for calls ``check_and_complete`` with the key. Everything
runs on one thread, so no event can come between the check and the watch, and one check before watching is
enough.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)

DEFAULT_PURGE_INTERVAL = 1000
"""How many completed operations may linger in watcher lists (``*.purgatory.purge.interval.requests``)."""


class TimerEntry(Protocol):
    """An expiry that has been asked for."""

    def cancel(self) -> None:
        """Do not expire; nothing happens where it has expired or been cancelled before."""
        ...


class Timer(Protocol):
    """Whatever calls back when a time is up: the event loop's timers, a timing wheel, or a test's clock."""

    def add(self, delay_ms: int, expire: Callable[[], None]) -> TimerEntry:
        """Call ``expire`` once, ``delay_ms`` milliseconds from now, unless the entry is cancelled before."""
        ...

    @property
    def size(self) -> int:
        """Entries that have neither expired nor been cancelled."""
        ...


class DelayedOperation(ABC):
    """A request that waits; completed exactly once, by an event or by its timer."""

    __slots__ = ("_completed", "_timer_entry")

    def __init__(self) -> None:
        self._completed = False
        self._timer_entry: TimerEntry | None = None

    @abstractmethod
    def is_satisfied(self) -> bool:
        """Whether what it waits for holds now. Has no effect that anyone could see."""

    @abstractmethod
    def on_complete(self) -> None:
        """Answer; called once."""

    @abstractmethod
    def on_expiration(self) -> None:
        """Called after ``on_complete`` where the time was up first; for counting."""

    @property
    def is_completed(self) -> bool:
        """Whether it has been answered."""
        return self._completed

    def try_complete(self) -> bool:
        """Complete it if it is satisfied; True where this call did."""
        return not self._completed and self.is_satisfied() and self.force_complete()

    def force_complete(self) -> bool:
        """Complete it, satisfied or not; True where this call did, False where it was completed before."""
        if self._completed:
            return False
        self._completed = True
        if self._timer_entry is not None:
            self._timer_entry.cancel()
            self._timer_entry = None
        self.on_complete()
        return True

    def expire_with(self, timer: Timer, delay_ms: int) -> None:
        """Have ``timer`` complete it after ``delay_ms``, unless it is completed before."""
        self._timer_entry = timer.add(delay_ms, self._expire)

    def _expire(self) -> None:
        self._timer_entry = None
        if self.force_complete():
            self.on_expiration()


class Purgatory(Generic[K]):
    """Operations watched under keys of type ``K``."""

    def __init__(self, timer: Timer, purge_interval: int = DEFAULT_PURGE_INTERVAL) -> None:
        self._timer = timer
        self._purge_interval = purge_interval
        self._watchers: dict[K, list[DelayedOperation]] = {}
        self._estimated_total = 0

    @property
    def watched(self) -> int:
        """Entries over all watcher lists: once per key, completed ones until they are purged."""
        return sum(map(len, tuple(self._watchers.values())))

    @property
    def delayed(self) -> int:
        """Operations whose time is running (``NumDelayedOperations``)."""
        return self._timer.size

    def try_complete_else_watch(self, operation: DelayedOperation, keys: Iterable[K], delay_ms: int) -> bool:
        """Complete ``operation`` now, or watch it under ``keys`` for at most ``delay_ms`` milliseconds.

        Returns:
            Whether it was completed by this call.
        """
        if operation.try_complete():
            return True
        for key in keys:
            self._watchers.setdefault(key, []).append(operation)
        self._estimated_total += 1
        operation.expire_with(self._timer, delay_ms)
        if self._estimated_total - self._timer.size > self._purge_interval:
            self._purge()
        return False

    def check_and_complete(self, key: K) -> int:
        """Complete the operations under ``key`` that are satisfied now; returns how many that were."""
        watchers = self._watchers.get(key)
        if watchers is None:
            return 0
        # A copy, because completing may lead to another check of this key, or to another operation under it.
        completed = sum(operation.try_complete() for operation in tuple(watchers))
        self._drop_completed(key)
        return completed

    def _drop_completed(self, key: K) -> None:
        remaining = [operation for operation in self._watchers.get(key, ()) if not operation.is_completed]
        if remaining:
            self._watchers[key] = remaining
        else:
            self._watchers.pop(key, None)

    def _purge(self) -> None:
        """Forget completed operations that linger under keys on which nothing has happened since."""
        for key in tuple(self._watchers):
            self._drop_completed(key)
        self._estimated_total = self._timer.size
