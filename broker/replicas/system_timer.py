"""The purgatory's timer on the event loop: one timer of the loop drives all timing wheels.

Source: Kafka's ``SystemTimer`` (``Timer.scala``) of release 2.8; the loop does the work of its reaper thread.
"""

from __future__ import annotations

import asyncio
import math

from barnabas.broker.core.timing_wheel import TimerTask, TimingWheel


class SystemTimer:
    """A timer that runs tasks when their time is up, never earlier, on the event loop that first adds one.

    The loop has a timer for the earliest task only. It is not moved when that task is cancelled, as almost
    all are: it then finds nothing to run and is set for the next task.
    """

    def __init__(self) -> None:
        self._wheel = TimingWheel(0)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wakes_ms = math.inf
        self._wake: asyncio.TimerHandle | None = None

    @property
    def size(self) -> int:
        """The tasks that have neither run nor been cancelled."""
        return self._wheel.size

    def add(self, task: TimerTask, delay_ms: int) -> None:
        """Run ``task`` once, ``delay_ms`` milliseconds from now, unless it is cancelled before."""
        loop = self._loop
        if loop is None:
            # Read the clock once: each look costs a system call.
            loop = self._loop = asyncio.get_running_loop()
        # Rounded times differ by half a tick at most, here and in _advance: with one more tick no task runs
        # early.
        expires_ms = round(loop.time() * 1000) + delay_ms + 1
        if not self._wheel.add(task, expires_ms):
            loop.call_soon(task.run)
        elif expires_ms < self._wakes_ms:
            self._wake_at(expires_ms, loop)

    def cancel(self, task: TimerTask) -> None:
        """Cancel ``task``; nothing happens if it has run or was cancelled before."""
        self._wheel.remove(task)

    def _wake_at(self, at_ms: int, loop: asyncio.AbstractEventLoop) -> None:
        if self._wake is not None:
            self._wake.cancel()
        self._wakes_ms = at_ms
        self._wake = loop.call_at(at_ms / 1000, self._advance, loop)

    def _advance(self, loop: asyncio.AbstractEventLoop) -> None:
        self._wake, self._wakes_ms = None, math.inf
        for task in self._wheel.advance(round(loop.time() * 1000)):
            # A task that fails must not prevent the others.
            loop.call_soon(task.run)
        next_ms = self._wheel.next_ms()
        if next_ms is not None:
            self._wake_at(next_ms, loop)
