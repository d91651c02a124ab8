"""Lines of a start that failed which state more than is true of it."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.runs import ENDS, SERVES, STARTS

_EXITING = "Exiting Kafka due to fatal exception"
"""The begin of the line that ``Kafka.main`` adds when the server's own line has stated the failure."""

_OF_PROCESS = frozenset((*STARTS, *SERVES, *ENDS, BrokerKind.START_FAILED))


def without_echoes(lines: Sequence[BrokerLine]) -> Sequence[BrokerLine]:
    """Leave out that a failed start was a success, and its failure where that is stated again.

    If ``BrokerServer.startup`` throws, it logs the change from STARTING to STARTED all the same, because
    ``shutdown`` works only from there.

    Args:
        lines: The lines about brokers, in their order.
    """
    last: dict[int | None, BrokerLine] = {}
    dropped: set[BrokerLine] = set()
    has_failed: set[int | None] = set()
    for line in lines:
        if line.kind not in _OF_PROCESS:
            continue
        if line.kind == BrokerKind.START_FAILED:
            before = last.get(line.broker)
            if line.broker in has_failed and _EXITING in line.line.text:
                dropped.add(line)
            elif before is not None and before.kind == BrokerKind.STARTED and _EXITING not in line.line.text:
                dropped.add(before)
            has_failed.add(line.broker)
        elif line.kind not in ENDS:
            has_failed.discard(line.broker)
        last[line.broker] = line
    return [line for line in lines if line not in dropped] if dropped else lines
