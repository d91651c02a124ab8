"""The purgatory's timer on the event loop: one call of the loop drives all timing wheels of it.

Source: Kafka's ``SystemTimer`` (``Timer.scala``) of release 2.8, whose reaper thread the loop stands for.
"""

from __future__ import annotations

import asyncio
import math

from barnabas.broker.core.timing_wheel import TimerTask, TimingWheel


class SystemTimer:
    """Runs tasks when their time is up, never before; on the event loop that first adds one.

    The loop is asked to call back for the earliest task alone. It is not asked again when that one is
    cancelled, as almost all are: the call then finds nothing to do but to ask for the next one.
    """

    def __init__(self) -> None:
        self._wheel = TimingWheel(0)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wakes_ms = math.inf
        self._wake: asyncio.TimerHandle | None = None

    @property
    def size(self) -> int:
        """Tasks whose time has not come and that were not cancelled."""
        return self._wheel.size

    def add(self, task: TimerTask, delay_ms: int) -> None:
        """Run ``task`` once, ``delay_ms`` milliseconds from now, unless it is cancelled before."""
        loop = self._loop
        if loop is None:
            # Asked once: it costs a system call each time.
            loop = self._loop = asyncio.get_running_loop()
        # Rounded times are half a tick off at most, here and in _advance: with one tick more none is early.
        expires_ms = round(loop.time() * 1000) + delay_ms + 1
        if not self._wheel.add(task, expires_ms):
            loop.call_soon(task.run)
        elif expires_ms < self._wakes_ms:
            self._wake_at(expires_ms, loop)

    def cancel(self, task: TimerTask) -> None:
        """Do not run ``task``; nothing happens where it has run or been cancelled before."""
        self._wheel.remove(task)

    def _wake_at(self, at_ms: int, loop: asyncio.AbstractEventLoop) -> None:
        if self._wake is not None:
            self._wake.cancel()
        self._wakes_ms = at_ms
        self._wake = loop.call_at(at_ms / 1000, self._advance, loop)

    def _advance(self, loop: asyncio.AbstractEventLoop) -> None:
        self._wake, self._wakes_ms = None, math.inf
        for task in self._wheel.advance(round(loop.time() * 1000)):
            # One that fails must not take the others with it.
            loop.call_soon(task.run)
        next_ms = self._wheel.next_ms()
        if next_ms is not None:
            self._wake_at(next_ms, loop)
