"""The times for which writes of a history waited. Pure.

A partition's wait begins with an acknowledgement after which writes are outstanding, or with the first send
after a time without outstanding writes. It ends with the next acknowledgement or with the end of the writing.
A failed write does not end it, because a partition that refuses all writes is unavailable too; if no other
write follows, the wait ends with the failure of the last one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from barnabas.cluster.model.ids import TopicPartition
from barnabas.workload.history import Acked, Disturbed, Failed, Op, Phase, Sent, Unknown

UNAVAILABLE_S = 1.0
"""The seconds from which a wait counts as an outage; a shorter one is latency."""


@dataclass(frozen=True, slots=True)
class Stall:
    """A time in which a partition accepted no write although one was waiting, in seconds."""

    partition: TopicPartition
    start: float
    end: float

    @property
    def seconds(self) -> float:
        """Return the duration in seconds."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Availability:
    """The availability of a partition for writes.

    Attributes:
        seconds: The time from the first send to the last outcome of any partition.
        unavailable_s: The sum of the partition's waits of ``UNAVAILABLE_S`` or more.
    """

    partition: TopicPartition
    seconds: float
    unavailable_s: float

    @property
    def fraction(self) -> float:
        """Return the available part of the time, between 0 and 1."""
        return 1.0 - self.unavailable_s / self.seconds if self.seconds > 0 else 1.0


@dataclass(frozen=True, slots=True)
class NemesisStall:
    """The longest wait that overlaps with a nemesis, from its injection to the recovery.

    Attributes:
        injections: The number of times the nemesis was injected; those that missed do not count.
        stall: The longest wait; None if no write waited.
        recovery_s: The longest time from healing to recovery; None if there was no recovery.
    """

    nemesis: str
    injections: int
    stall: Stall | None
    recovery_s: float | None


def waits(ops: Iterable[Op]) -> Iterator[Stall]:
    """Generate the waits in the order of their ends; the last of each partition comes at the end.

    Args:
        ops: The ops in the order of their times.
    """
    outstanding: dict[TopicPartition, int] = defaultdict(int)
    since: dict[TopicPartition, float] = {}
    given_up: dict[TopicPartition, float] = {}  # partitions whose last outstanding write failed, and when
    last = 0.0
    for op in ops:
        match op:
            case Sent(time=last, partition=tp):
                outstanding[tp] += 1
                since.setdefault(tp, last)
                given_up.pop(tp, None)
            case Acked(time=last, partition=tp):
                outstanding[tp] -= 1
                given_up.pop(tp, None)
                yield Stall(tp, since.pop(tp, last), last)
                if outstanding[tp] > 0:
                    since[tp] = last
            case Failed(time=last, partition=tp) | Unknown(time=last, partition=tp):
                outstanding[tp] -= 1
                if outstanding[tp] == 0:
                    given_up[tp] = last
            case _:
                pass
    for tp, start in since.items():
        yield Stall(tp, start, given_up.get(tp, last))


def longest(ops: Iterable[Op]) -> tuple[Stall, ...]:
    """Return the longest wait of each partition that was written to, in the order of partitions."""
    found: dict[TopicPartition, Stall] = {}
    for wait in waits(ops):
        before = found.get(wait.partition)
        if before is None or wait.seconds > before.seconds:
            found[wait.partition] = wait
    return tuple(found[tp] for tp in sorted(found))


def availability(ops: Iterable[Op]) -> tuple[Availability, ...]:
    """Return the availability of each partition that was written to, in the order of partitions."""
    ops = tuple(ops)
    times = [op.time for op in ops if isinstance(op, Sent | Acked | Failed | Unknown)]
    seconds = max(times, default=0.0) - min(times, default=0.0)
    unavailable: dict[TopicPartition, float] = defaultdict(float)
    for wait in waits(ops):
        unavailable[wait.partition] += wait.seconds if wait.seconds >= UNAVAILABLE_S else 0.0
    return tuple(Availability(tp, seconds, unavailable[tp]) for tp in sorted(unavailable))


def by_nemesis(ops: Iterable[Op]) -> tuple[NemesisStall, ...]:
    """Return the longest wait with each nemesis, in the order of names."""
    ops = tuple(ops)
    end = max((op.time for op in ops), default=0.0)
    spans = [*_spans(ops, end)]
    stalls = [wait for wait in waits(ops) if wait.seconds >= 0.1]
    found = []
    for name in sorted({span.nemesis for span in spans}):
        mine = [span for span in spans if span.nemesis == name and not span.is_missed]
        met = [s for s in stalls if any(s.start < span.end and s.end > span.start for span in mine)]
        recoveries = [span.recovery_s for span in mine]
        found.append(
            NemesisStall(
                name,
                len(mine),
                max(met, key=lambda stall: stall.seconds, default=None),
                None
                if None in recoveries
                else max((each for each in recoveries if each is not None), default=None),
            )
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Span:
    nemesis: str
    start: float
    end: float
    recovery_s: float | None
    is_missed: bool


def _spans(ops: Iterable[Op], end: float) -> Iterator[_Span]:
    injected: dict[str, float] = {}
    healed: dict[str, float] = {}
    missed: set[str] = set()
    for op in ops:
        match op:
            case Disturbed(time=time, nemesis=name, phase=Phase.INJECT):
                injected.setdefault(name, time)
            case Disturbed(nemesis=name, phase=Phase.MISSED):
                missed.add(name)
            case Disturbed(time=time, nemesis=name, phase=Phase.HEAL):
                healed[name] = time
            case Disturbed(time=time, nemesis=name, phase=Phase.RECOVERED) if name in injected:
                start = injected.pop(name)
                yield _Span(name, start, time, time - healed.pop(name, start), name in missed)
                missed.discard(name)
            case _:
                pass
    for name, start in injected.items():
        yield _Span(name, start, end, None, name in missed)


def disturbances(ops: Iterable[Op]) -> tuple[tuple[float, float], ...]:
    """Return the times from an injection to its recovery, with an infinite end if there was none."""
    return tuple((span.start, span.end) for span in _spans(ops, float("inf")))
