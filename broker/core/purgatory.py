"""The purgatory: requests wait for a condition or a timeout, and are answered exactly once.

Source: Kafka's ``DelayedOperation.scala`` of release 2.8. An operation is watched under keys such as a
(topic, partition). Code that changes what it waits for calls ``check_and_complete`` with the key. Everything
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
"""The completed operations that may linger in watcher lists.

Kafka's setting is ``*.purgatory.purge.interval.requests``. Kafka's reaper thread checks this five times a
second; here each completion does.
"""


class Timer(Protocol):
    """A timer that runs tasks after a delay."""

    def add(self, task: TimerTask, delay_ms: int) -> None:
        """Run ``task`` once, ``delay_ms`` milliseconds from now, unless it is cancelled before.

        The task never runs within this call, even without a delay.
        """
        ...

    def cancel(self, task: TimerTask) -> None:
        """Cancel ``task``; nothing happens if it has run or was cancelled before."""
        ...

    @property
    def size(self) -> int:
        """The tasks that have neither run nor been cancelled."""
        ...


class DelayedOperation(TimerTask):
    """A waiting request, which is completed exactly once: by an event or by its timer."""

    __slots__ = ("_completed", "_leave")

    def __init__(self) -> None:
        super().__init__()
        self._completed = False
        self._leave: Callable[[DelayedOperation], None] | None = None

    @abstractmethod
    def is_satisfied(self) -> bool:
        """Return whether the condition holds that the request waits for; has no visible effects."""

    @abstractmethod
    def on_complete(self) -> None:
        """Answer the request; called once."""

    @abstractmethod
    def on_expiration(self) -> None:
        """Count an expiration; called after ``on_complete`` if the time was up first."""

    @property
    def is_completed(self) -> bool:
        """Return whether the request has been answered."""
        return self._completed

    def try_complete(self) -> bool:
        """Complete the operation if it is satisfied; return whether this call completed it."""
        return not self._completed and self.is_satisfied() and self.force_complete()

    def force_complete(self) -> bool:
        """Complete the operation, satisfied or not; return whether this call completed it."""
        if self._completed:
            return False
        self._completed = True
        if self._leave is not None:
            self._leave(self)
        self.on_complete()
        return True

    def entered(self, leave: Callable[[DelayedOperation], None]) -> None:
        """Note that the operation waits in a purgatory; ``leave`` is called before the answer is sent."""
        self._leave = leave

    def run(self) -> None:
        """Complete the operation because its time is up."""
        if self.force_complete():
            self.on_expiration()


class DelayedOperationPurgatory(Generic[K]):
    """Operations watched under keys of type ``K``.

    Attributes:
        name: The kind of operation, as in Kafka's metrics (tag ``delayedOperation``).
    """

    def __init__(self, name: str, timer: Timer, purge_interval: int = DEFAULT_PURGE_INTERVAL) -> None:
        self.name = name
        self._timer = timer
        self._purge_interval = purge_interval
        self._watchers: dict[K, list[DelayedOperation]] = {}
        self._lingering = 0

    @property
    def watched(self) -> int:
        """The entries of all watcher lists, once per key, completed ones until purged (``PurgatorySize``)."""
        return sum(map(len, tuple(self._watchers.values())))

    @property
    def delayed(self) -> int:
        """The operations whose time is running (``NumDelayedOperations``)."""
        return self._timer.size

    def try_complete_else_watch(self, operation: DelayedOperation, keys: Iterable[K], delay_ms: int) -> bool:
        """Complete ``operation`` now, or watch it under ``keys`` for at most ``delay_ms`` milliseconds.

        The condition is checked once, before the watch. Kafka checks it again after adding the watches,
        because another thread may have changed it in between; here nothing else runs until this method
        returns. From then on ``check_and_complete`` or the timer completes the operation, whichever comes
        first.

        Returns:
            Whether it was completed by this call.
        """
        # A. The condition holds already: the operation never enters the purgatory.
        if operation.try_complete():
            return True
        # B. It waits under each key, and its timer starts. A completion under one key leaves entries under
        # the others, which `_purge` drops when there are many.
        for key in keys:
            self._watchers.setdefault(key, []).append(operation)
        operation.entered(self._left)
        self._timer.add(operation, delay_ms)
        return False

    def _left(self, operation: DelayedOperation) -> None:
        """Note that ``operation`` is completed; it may linger under keys on which nothing happens."""
        self._timer.cancel(operation)
        self._lingering += 1
        if self._lingering > self._purge_interval:
            self._purge()

    def check_and_complete(self, key: K) -> int:
        """Complete the operations under ``key`` that are satisfied now; return their number."""
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
