"""Hierarchical timing wheels: many timeouts, most of them cancelled before their time.

Source: Kafka's ``TimingWheel.scala`` and ``TimerTaskList.scala`` of release 2.8. As there a tick is 1 ms, a
task costs the same to insert and to cancel however many are pending, and one that is far away falls from
wheel to wheel as its time comes near. A wheel has 64 buckets where Kafka's has 20: which wheel and which
bucket a time belongs to can then be read off its bits. Times are whole milliseconds of a clock that never
goes back; the wheels do not look at it, they are told.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

_BITS = 6
"""Each wheel has 2 ** 6 buckets, and the next one as many times its span."""

_TIME_BITS = 63
"""Times are below 2 ** 63 ms."""

_SHIFTS = tuple(max(0, bits - 1) // _BITS * _BITS for bits in range(_TIME_BITS + 1))
"""By how far a time differs from now, in bits: how many of its low bits its bucket does not tell apart."""


class TimerTask(ABC):
    """Something to run at a time.

    Attributes:
        bucket: Where in the wheels it lies, None while in none of them; theirs to set.
    """

    __slots__ = ("bucket",)

    def __init__(self) -> None:
        self.bucket: Bucket | None = None

    @abstractmethod
    def run(self) -> None:
        """The time is up."""


Bucket = dict[TimerTask, int]
"""The tasks of one bucket in their order, each with the time at which it expires."""


class TimingWheel:
    """The wheels, the finest first, and the time that they stand at.

    A task lies in the finest wheel in which its bucket is another than that of now: it differs from now in
    those bits, and agrees with it in all higher ones. So every bucket that holds anything lies ahead, and
    those of a finer wheel come before those of a coarser one.

    Attributes:
        now_ms: How far it was advanced.
        size: Tasks that have neither expired nor been removed.
    """

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self.size = 0
        self._wheels: dict[int, dict[int, Bucket]] = {shift: {} for shift in sorted(set(_SHIFTS))}

    def add(self, task: TimerTask, expires_ms: int) -> bool:
        """Keep ``task``, which is in no wheel, until ``expires_ms``; False where that has passed."""
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
        """Forget ``task``; nothing happens where it has expired, or was removed before."""
        bucket = task.bucket
        if bucket is not None:
            del bucket[task]
            task.bucket = None
            self.size -= 1

    def next_ms(self) -> int | None:
        """When to advance next: no task expires before; None where there is none."""
        for shift, wheel in self._wheels.items():
            while wheel:
                number = min(wheel)
                if wheel[number]:
                    return number << shift
                del wheel[number]
        return None

    def advance(self, now_ms: int) -> list[TimerTask]:
        """Move on to ``now_ms``; returns the tasks that expired on the way, the earliest first."""
        expired: list[TimerTask] = []
        while (at := self.next_ms()) is not None and at <= now_ms:
            self._enter(at, expired)
        self.now_ms = max(self.now_ms, now_ms)
        return expired

    def _enter(self, at_ms: int, expired: list[TimerTask]) -> None:
        """Move on to the first bucket that holds anything: its tasks expire, or fall to a finer wheel."""
        shift, wheel = next((shift, wheel) for shift, wheel in self._wheels.items() if wheel)
        bucket = wheel.pop(at_ms >> shift)
        self.now_ms = at_ms
        self.size -= len(bucket)
        for task, expires_ms in bucket.items():
            if not self.add(task, expires_ms):
                task.bucket = None
                expired.append(task)
