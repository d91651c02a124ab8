"""The purgatory: requests wait until something holds or their time is up, and are answered exactly once.

Source: Kafka's ``DelayedOperation.scala`` of release 2.8. An operation is watched under keys such as a
(topic, partition); whoever changes what it waits for calls ``check_and_complete`` with the key. Everything
runs on one thread, so no event can come between the check and the watch, and one check before watching is
enough.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, Protocol, TypeVar

from barnabas.broker.core.timing_wheel import TimerTask

K = TypeVar("K", bound=Hashable)

DEFAULT_PURGE_INTERVAL = 1000
"""How many completed operations may linger in watcher lists (``*.purgatory.purge.interval.requests``).

Kafka's reaper thread looks for that five times a second; here each completion does.
"""


class Timer(Protocol):
    """Whatever runs a task when its time is up."""

    def add(self, task: TimerTask, delay_ms: int) -> None:
        """Run ``task`` once, ``delay_ms`` milliseconds from now, unless it is cancelled before.

        Never within this call, also where there is no delay.
        """
        ...

    def cancel(self, task: TimerTask) -> None:
        """Do not run ``task``; nothing happens where it has run or been cancelled before."""
        ...

    @property
    def size(self) -> int:
        """Tasks whose time has not come and that were not cancelled."""
        ...


class DelayedOperation(TimerTask):
    """A request that waits; completed exactly once, by an event or by its timer."""

    __slots__ = ("_completed", "_leave")

    def __init__(self) -> None:
        super().__init__()
        self._completed = False
        self._leave: Callable[[DelayedOperation], None] | None = None

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
        if self._leave is not None:
            self._leave(self)
        self.on_complete()
        return True

    def entered(self, leave: Callable[[DelayedOperation], None]) -> None:
        """It waits in a purgatory now; ``leave`` is called as it is completed, before it answers."""
        self._leave = leave

    def run(self) -> None:
        """The time is up."""
        if self.force_complete():
            self.on_expiration()


class DelayedOperationPurgatory(Generic[K]):
    """Operations watched under keys of type ``K``.

    Attributes:
        name: What waits here, as Kafka's metrics say it (``delayedOperation``).
    """

    def __init__(self, name: str, timer: Timer, purge_interval: int = DEFAULT_PURGE_INTERVAL) -> None:
        self.name = name
        self._timer = timer
        self._purge_interval = purge_interval
        self._watchers: dict[K, list[DelayedOperation]] = {}
        self._lingering = 0

    @property
    def watched(self) -> int:
        """``PurgatorySize``: entries over all watcher lists, once per key, completed ones until purged."""
        return sum(map(len, tuple(self._watchers.values())))

    @property
    def delayed(self) -> int:
        """``NumDelayedOperations``: operations whose time is running."""
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
        operation.entered(self._left)
        self._timer.add(operation, delay_ms)
        return False

    def _left(self, operation: DelayedOperation) -> None:
        """``operation`` is completed, and may linger under keys on which nothing happens."""
        self._timer.cancel(operation)
        self._lingering += 1
        if self._lingering > self._purge_interval:
            self._purge()

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
        """Forget the completed operations under all keys."""
        for key in tuple(self._watchers):
            self._drop_completed(key)
        self._lingering = 0
