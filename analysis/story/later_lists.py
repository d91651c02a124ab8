"""Returns that the list of a later controller proves, though its clock is behind and gives an earlier time.

Only the controller whose session holds the znode reads lists of brokers, so controller epochs order them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from barnabas.analysis.story.brokers import Absence
from barnabas.analysis.story.certainty import Bound, Fact, Line, Unknown
from barnabas.analysis.story.observed import BrokerLine, Controller, Observed


def with_later_lists(found: Sequence[Absence], observed: Observed) -> list[Absence]:
    """Bound the returns of which no other line is left by the loss that they follow.

    The list of a controller that noticed the loss is of an earlier controller epoch than one that adds the
    broker, by a clock that was behind.
    """
    unreturned = {each.broker for each in found if isinstance(each.returned, Unknown)}
    lists = [line for line in observed.brokers if unreturned & {*line.added, *line.lost}]
    tenures = _tenures(observed.controllers)
    lost = {line.line: line for line in lists if line.lost}
    added: dict[int, list[tuple[int, BrokerLine]]] = {}
    for line in lists:
        epoch = _epoch(line, tenures)
        for broker in line.added if epoch is not None else ():
            added.setdefault(broker, []).append((epoch or 0, line))
    return [_returned(each, lost, added.get(each.broker, ()), tenures) for each in found]


def _returned(
    absence: Absence,
    lost: Mapping[Line, BrokerLine],
    added: Iterable[tuple[int, BrokerLine]],
    tenures: Mapping[int, Sequence[Controller]],
) -> Absence:
    noticed = absence.noticed
    if not isinstance(absence.returned, Unknown) or not isinstance(noticed, Fact):
        return absence
    notice = next((lost[line] for line in noticed.lines if line in lost), None)
    epoch = None if notice is None else _epoch(notice, tenures)
    if notice is None or epoch is None:
        return absence
    later = [line for own, line in added if own > epoch and line.time <= notice.time]
    if not later:
        return absence
    return replace(absence, returned=Bound(noticed.value, None, (notice.line, later[0].line)))


def _tenures(controllers: Iterable[Controller]) -> dict[int, list[Controller]]:
    known: dict[int, list[Controller]] = {}
    for each in controllers:
        known.setdefault(each.broker, []).append(each)
    return known


def _epoch(line: BrokerLine, tenures: Mapping[int, Sequence[Controller]]) -> int | None:
    """Return the controller epoch of a controller's list; None if no line shows its election."""
    own = tenures.get(line.broker, []) if line.broker is not None else []
    index = bisect_right(own, line.time, key=_since)
    return own[index - 1].epoch if index else None


def _since(controller: Controller) -> datetime:
    return controller.since
