"""Returns that the list of a later controller proves, though its clock is behind and gives an earlier time.

Only the controller whose session holds the znode reads lists of brokers, so controller epochs order them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.certainty import Bound, Fact, Line, Unknown
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.own_elections import OwnElections
from barnabas.analysis.story.rows import BrokerLine


def with_later_lists(found: Sequence[Absence], observed: Observed) -> list[Absence]:
    """Bound the returns of which no other line is left by the loss that they follow.

    The list of a controller that noticed the loss is of an earlier controller epoch than one that adds the
    broker, by a clock that was behind.
    """
    unreturned = {each.broker for each in found if isinstance(each.returned, Unknown)}
    lists = [line for line in observed.brokers if unreturned & {*line.added, *line.lost}]
    elections = OwnElections(observed.controllers)
    lost = {line.line: line for line in lists if line.lost}
    added: dict[int, list[tuple[int, BrokerLine]]] = {}
    for line in lists:
        own = elections.last(line.broker, line.time)
        for broker in line.added if own is not None else ():
            added.setdefault(broker, []).append((0 if own is None else own.epoch, line))
    return [_returned(each, lost, added.get(each.broker, ()), elections) for each in found]


def _returned(
    absence: Absence,
    lost: Mapping[Line, BrokerLine],
    added: Iterable[tuple[int, BrokerLine]],
    elections: OwnElections,
) -> Absence:
    noticed = absence.noticed
    if not isinstance(absence.returned, Unknown) or not isinstance(noticed, Fact):
        return absence
    notice = next((lost[line] for line in noticed.lines if line in lost), None)
    noticing = None if notice is None else elections.last(notice.broker, notice.time)
    if notice is None or noticing is None:
        return absence
    later = [line for epoch, line in added if epoch > noticing.epoch and line.time <= notice.time]
    if not later:
        return absence
    return replace(absence, returned=Bound(noticed.value, None, (notice.line, later[0].line)))
