"""Hierarchical timing wheels, made for many timeouts of which most are cancelled before their time.

Source: Kafka's ``TimingWheel.scala`` and ``TimerTaskList.scala`` of release 2.8. As there, a tick is 1 ms,
inserting and cancelling cost the same however many tasks are pending, and a distant task moves from wheel to
wheel as its time comes near. A wheel has 64 buckets (Kafka's has 20), so the bits of a time select wheel and
bucket. Times are whole milliseconds of a clock that never goes back, and are passed in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

_BITS = 6
"""Each wheel has 2 ** 6 buckets, and the next one as many times its span."""

_TIME_BITS = 63
"""Times are below 2 ** 63 ms."""

_SHIFTS = tuple(max(0, bits - 1) // _BITS * _BITS for bits in range(_TIME_BITS + 1))
"""The lowest bit of a bucket's number, by the highest bit in which a time differs from now."""


class TimerTask(ABC):
    """A task to run at a time.

    Attributes:
        bucket: The bucket that holds it, or None; set by the wheels.
    """

    __slots__ = ("bucket",)

    def __init__(self) -> None:
        self.bucket: Bucket | None = None

    @abstractmethod
    def run(self) -> None:
        """Run the task: its time is up."""


Bucket = dict[TimerTask, int]
"""The tasks of one bucket in their order, each with the time at which it expires."""


class TimingWheel:
    """The wheels, the finest first, and their current time.

    A task lies in the finest wheel in which its bucket differs from that of now: its time differs from now in
    those bits, and agrees with it in all higher ones. So every bucket that holds a task lies ahead, and the
    buckets of a finer wheel come before those of a coarser one.

    Attributes:
        now_ms: The time to which the wheels were advanced.
        size: The tasks that have neither expired nor been removed.
    """

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self.size = 0
        self._wheels: dict[int, dict[int, Bucket]] = {shift: {} for shift in sorted(set(_SHIFTS))}

    def add(self, task: TimerTask, expires_ms: int) -> bool:
        """Insert ``task``, to expire at ``expires_ms``; return False if that time has passed."""
        if expires_ms <= self.now_ms:
            return False
        shift = _SHIFTS[(expires_ms ^ self.now_ms).bit_length()]
        wheel = self._wheels[shift]
        number = expires_ms >> shift
        bucket = wheel.get(number)
        if bucket is None:
            bucket = wheel[number] = {}
        bucket[task] = expires_ms
        task.bucket = bucket
        self.size += 1
        return True

    def remove(self, task: TimerTask) -> None:
        """Remove ``task``; nothing happens if it has expired, or was removed before."""
        bucket = task.bucket
        if bucket is not None:
            del bucket[task]
            task.bucket = None
            self.size -= 1

    def next_ms(self) -> int | None:
        """Return the time to advance to next, before which no task expires; None without tasks."""
        # The first bucket of the finest wheel that has one is the next. Empty ones are left by `remove`.
        for shift, wheel in self._wheels.items():
            while wheel:
                number = min(wheel)
                if wheel[number]:
                    return number << shift
                del wheel[number]
        return None

    def advance(self, now_ms: int) -> list[TimerTask]:
        """Advance to ``now_ms``; return the tasks that expired, the earliest first."""
        expired: list[TimerTask] = []
        while (at := self.next_ms()) is not None and at <= now_ms:
            self._enter(at, expired)
        self.now_ms = max(self.now_ms, now_ms)
        return expired

    def _enter(self, at_ms: int, expired: list[TimerTask]) -> None:
        """Advance to the first bucket that holds a task: its tasks expire, or move to a finer wheel."""
        shift, wheel = next((shift, wheel) for shift, wheel in self._wheels.items() if wheel)
        bucket = wheel.pop(at_ms >> shift)
        self.now_ms = at_ms
        self.size -= len(bucket)
        for task, expires_ms in bucket.items():
            if not self.add(task, expires_ms):
                task.bucket = None
                expired.append(task)
