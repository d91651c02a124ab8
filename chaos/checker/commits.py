"""Committed offsets must not go back: the check of a history's commits. Pure.

A commit that is requested after the acknowledgement of another one must not be lower: its member started
from the group's committed offset and read on from there, and a member that the group has replaced must be
refused. The offset that is committed at the end of the run must not be lower than any acknowledged one
either.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from barnabas.cluster.model.ids import TopicPartition
from barnabas.workload.history import Committed, Fetched, Op


@dataclass(frozen=True, slots=True)
class WentBack:
    """A committed offset that is lower than one that had been acknowledged before.

    Attributes:
        process: The member that committed it, or the client that fetched it.
        offset: The lower offset; None if the group has no commit at all.
        acknowledged: The highest one that had been acknowledged before.
    """

    partition: TopicPartition
    process: str
    offset: int | None
    acknowledged: int

    def __str__(self) -> str:
        found = "no commit" if self.offset is None else f"commit {self.offset}"
        return f"{self.partition}: {self.process} has {found} after {self.acknowledged} was acknowledged"


@dataclass(slots=True)
class _Acknowledged:
    """The commits of a partition in the order of their acknowledgements: times, and the highest so far."""

    times: list[float] = field(default_factory=list)
    highest: list[int] = field(default_factory=list)

    def before(self, time: float) -> int | None:
        count = bisect_left(self.times, time)
        return self.highest[count - 1] if count else None

    def add(self, time: float, offset: int) -> None:
        self.times.append(time)
        self.highest.append(max(offset, self.highest[-1]) if self.highest else offset)


def went_back(ops: Iterable[Op]) -> list[WentBack]:
    """Return the commits of the one group of a history that went back, in the order of their times.

    Args:
        ops: The ops in the order of their times.
    """
    found: list[WentBack] = []
    acknowledged: defaultdict[TopicPartition, _Acknowledged] = defaultdict(_Acknowledged)
    for op in ops:
        if not isinstance(op, Committed | Fetched):
            continue
        of_partition = acknowledged[op.partition]
        highest = of_partition.before(op.asked)
        if highest is not None and (op.offset is None or op.offset < highest):
            found.append(WentBack(op.partition, op.process, op.offset, highest))
        if isinstance(op, Committed):
            of_partition.add(op.time, op.offset)
    return found
