"""The cost of timing wheels compared with a heap and with the timers of the event loops."""

from __future__ import annotations

import asyncio
import gc
import heapq
import random
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol, TypeVar

import uvloop

from barnabas.bench.harness.registry import Bench, Run, at_least
from barnabas.broker.core.timing_wheel import TimerTask, TimingWheel
from barnabas.broker.replicas.system_timer import SystemTimer

PENDING = (10_000, 100_000, 1_000_000)
OPERATIONS = 200_000
"""The number of inserts, each with a cancel; at least twice the pending ones, so that a heap is cleaned."""

DELAYS_MS = (1_000, 60_000)
"""The range of timeouts, none of which expires during the bench."""

HEAP_CANCELLED_MIN = 100
"""The cancelled entries above which a heap is cleaned, if they are more than half of it, as in asyncio."""

Kept = TypeVar("Kept")


class Task(TimerTask):
    """The timer task of a request in a purgatory."""

    __slots__ = ()

    def run(self) -> None:
        """Never run, because the task is cancelled before."""


class Timeouts(Protocol[Kept]):
    """A data structure for timeouts."""

    def insert(self, delay_ms: int) -> Kept:
        """Insert a timeout that expires after ``delay_ms``."""
        ...

    def cancel(self, timeout: Kept) -> None:
        """Cancel a timeout."""
        ...


class Wheel:
    """The timing wheels alone, with the time as an argument."""

    def __init__(self) -> None:
        self._now_ms = time.monotonic_ns() // 1_000_000
        self._wheel = TimingWheel(self._now_ms)
        self.cancel = self._wheel.remove

    def insert(self, delay_ms: int) -> Task:
        """Insert a timeout that expires after ``delay_ms``."""
        task = Task()
        self._wheel.add(task, self._now_ms + delay_ms)
        return task


class WheelOnLoop:
    """The timing wheels as the broker drives them, from the running event loop."""

    def __init__(self) -> None:
        self._timer = SystemTimer()
        self.cancel = self._timer.cancel

    def insert(self, delay_ms: int) -> Task:
        """Insert a timeout that expires after ``delay_ms``."""
        task = Task()
        self._timer.add(task, delay_ms)
        return task


class HeapEntry:
    """A timeout in a heap."""

    __slots__ = ("cancelled",)

    def __init__(self) -> None:
        self.cancelled = False


class Heap:
    """A ``heapq`` with the time as an argument; cancelled entries stay until there are too many."""

    def __init__(self) -> None:
        self._now_ms = time.monotonic_ns() // 1_000_000
        self._heap: list[tuple[int, int, HeapEntry]] = []
        self._count = self._cancelled = 0

    def insert(self, delay_ms: int) -> HeapEntry:
        """Insert a timeout that expires after ``delay_ms``."""
        entry = HeapEntry()
        self._count += 1
        heapq.heappush(self._heap, (self._now_ms + delay_ms, self._count, entry))
        return entry

    def cancel(self, entry: HeapEntry) -> None:
        """Cancel a timeout."""
        entry.cancelled = True
        self._cancelled += 1
        if self._cancelled > HEAP_CANCELLED_MIN and 2 * self._cancelled > len(self._heap):
            self._heap = [each for each in self._heap if not each[2].cancelled]
            heapq.heapify(self._heap)
            self._cancelled = 0


class CallLater:
    """``call_later`` of the running event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def insert(self, delay_ms: int) -> asyncio.TimerHandle:
        """Insert a timeout that expires after ``delay_ms``."""
        return self._loop.call_later(delay_ms / 1000, _never)

    @staticmethod
    def cancel(timeout: asyncio.TimerHandle) -> None:
        """Cancel a timeout."""
        timeout.cancel()


def _never() -> None:
    """Do nothing, because every timeout is cancelled before it expires."""


def nanoseconds(timeouts: Timeouts[Kept], pending: int, operations: int) -> float:
    """Measure the CPU time of an insert and a cancel of the oldest with ``pending`` timeouts."""
    dice = random.Random(pending)
    waiting = deque(timeouts.insert(dice.randrange(*DELAYS_MS)) for _ in range(pending))
    delays = [dice.randrange(*DELAYS_MS) for _ in range(operations)]
    gc.collect()
    begin = time.process_time()
    for delay in delays:
        waiting.append(timeouts.insert(delay))
        timeouts.cancel(waiting.popleft())
    spent = time.process_time() - begin
    for timeout in waiting:
        timeouts.cancel(timeout)
    return spent / operations * 1e9


def compare(pending: int, operations: int) -> dict[str, float]:
    """Measure the nanoseconds of each data structure."""

    def on(loop_of: Callable[[], asyncio.AbstractEventLoop], make: Callable[[], Timeouts[Kept]]) -> float:
        async def run() -> float:
            return nanoseconds(make(), pending, operations)

        with asyncio.Runner(loop_factory=loop_of) as runner:
            return runner.run(run())

    return {
        "wheel": nanoseconds(Wheel(), pending, operations),
        "heapq": nanoseconds(Heap(), pending, operations),
        "wheel on uvloop": on(uvloop.new_event_loop, WheelOnLoop),
        "call_later of uvloop": on(uvloop.new_event_loop, CallLater),
        "call_later of asyncio": on(asyncio.new_event_loop, CallLater),
    }


def measure(operations: int) -> Run:
    """Measure how many times cheaper the wheel is than its cheapest peer, at the worst size."""
    ratios: list[float] = []
    details: dict[str, float] = {}
    for pending in PENDING:
        found = compare(pending, max(operations, 2 * pending))
        details |= {f"ns at {pending:,}: {name}": cost for name, cost in found.items()}
        on_loop = min(found["call_later of uvloop"], found["call_later of asyncio"])
        ratios += [found["heapq"] / found["wheel"], on_loop / found["wheel on uvloop"]]
    return Run(min(ratios), details)


BENCHES = (
    Bench(
        name="timing-wheel",
        question="How many times cheaper is an insert with its cancel than with heapq or loop.call_later?",
        unit="times the peer",
        target=at_least(1.5),
        measure=measure,
        runs=1,
        sizes={"operations": OPERATIONS},
    ),
)
