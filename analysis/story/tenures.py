"""The controllers among the brokers that left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import zip_longest

from barnabas.analysis.story.brokers import Absence, begin_of
from barnabas.analysis.story.causes import CONTACT_WINDOW
from barnabas.analysis.story.certainty import earliest, latest
from barnabas.analysis.story.observed import Controller


def with_controllers(found: Sequence[Absence], controllers: Sequence[Controller]) -> list[Absence]:
    """Mark the absences of brokers that were the controller when they left."""
    tenures = list(zip_longest(controllers, controllers[1:]))
    marked = list(found)
    for own, after in tenures:
        fitting = [
            index
            for index, absence in enumerate(found)
            if _was_acting(absence, own, after, _present_since(absence, found))
        ]
        if fitting:
            # A tenure ends once, with the absence nearest to the successor's election.
            end = own.since if after is None else after.since
            index = min(fitting, key=lambda index: abs(begin_of(found[index]) - end))
            lines = tuple(dict.fromkeys((*marked[index].lines, *own.lines)))
            marked[index] = replace(marked[index], was_controller=True, lines=lines)
    return marked


def _present_since(absence: Absence, found: Sequence[Absence]) -> datetime | None:
    """Return when a broker had returned from the absence before; None if it was not absent before."""
    begin = begin_of(absence)
    backs = (latest(each.returned) for each in found if each.broker == absence.broker)
    return max((back for back in backs if back is not None and back <= begin), default=None)


def _was_acting(
    absence: Absence, own: Controller, after: Controller | None, present: datetime | None
) -> bool:
    begin = begin_of(absence)
    if own.broker != absence.broker or own.since >= begin:
        return False
    # Its successor is elected once its session is over, often before the loss of its replicas is handled.
    # A broker that stops resigns before its process ends.
    alive = absence.stopping or earliest(absence.gone) or max(begin - CONTACT_WINDOW, present or begin.min)
    return after is None or after.since >= alive
