"""Stale reads: answers older than what was known before the question. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from barnabas.checker.waits import disturbances
from barnabas.cluster.model.ids import TopicPartition
from barnabas.workload.history import Acked, Looked, Op, Read


@dataclass(frozen=True, slots=True)
class StaleRead:
    """A stale read: the answered end lies before an offset that was known when the reader asked.

    Attributes:
        end: The high watermark in the answer.
        known: The offset after the last record acknowledged or read before the question.
        disturbed: Whether a nemesis was active between question and answer.
    """

    partition: TopicPartition
    process: str
    asked: float
    end: int
    known: int
    disturbed: bool


def stale_reads(ops: Sequence[Op]) -> list[StaleRead]:
    """Find all stale reads of a history, in the order of the answers."""
    spans = disturbances(ops)
    known = _known(ops)
    found = []
    for op in ops:
        if not isinstance(op, Looked):
            continue
        promised = _before(known[op.partition], op.asked)
        if op.end < promised:
            disturbed = any(start <= op.time and op.asked <= end for start, end in spans)
            found.append(StaleRead(op.partition, op.process, op.asked, op.end, promised, disturbed))
    return found


def _known(ops: Sequence[Op]) -> dict[TopicPartition, list[tuple[float, int]]]:
    """Return for each partition the known end over time, as times and offsets that both ascend."""
    known: dict[TopicPartition, list[tuple[float, int]]] = defaultdict(list)
    for op in ops:
        if isinstance(op, Acked | Read) and op.offset is not None:
            steps = known[op.partition]
            if not steps or op.offset >= steps[-1][1]:
                steps.append((op.time, op.offset + 1))
    return known


def _before(steps: Sequence[tuple[float, int]], time: float) -> int:
    """Return the known end before ``time``; 0 if nothing was known."""
    at = bisect_left(steps, time, key=lambda step: step[0])
    return steps[at - 1][1] if at else 0
