"""The controllers among the brokers that left."""

from __future__ import annotations

from bisect import bisect_right
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
    marked = list(found)
    alive = _alive(found)
    indexes: dict[int, list[int]] = {}
    for index, absence in enumerate(found):
        indexes.setdefault(absence.broker, []).append(index)
    for own, after in zip_longest(controllers, controllers[1:]):
        fitting = [
            index
            for index in indexes.get(own.broker, ())
            # Its successor is elected once its session is over, often before the loss of its replicas is
            # handled.
            if own.since < begin_of(found[index]) and (after is None or after.since >= alive[index])
        ]
        if fitting:
            # A tenure ends once, with the absence nearest to the successor's election.
            end = own.since if after is None else after.since
            index = min(fitting, key=lambda index: abs(begin_of(found[index]) - end))
            lines = tuple(dict.fromkeys((*marked[index].lines, *own.lines)))
            marked[index] = replace(marked[index], was_controller=True, lines=lines)
    return marked


def _alive(found: Sequence[Absence]) -> list[datetime]:
    """Return for each absence the moment until which its broker was surely alive, or in contact.

    A broker that stops resigns as the controller before its process ends.
    """
    returns: dict[int, list[datetime]] = {}
    for absence in found:
        if (back := latest(absence.returned)) is not None:
            returns.setdefault(absence.broker, []).append(back)
    for backs in returns.values():
        backs.sort()
    return [
        absence.stopping or earliest(absence.gone) or _in_contact(absence, returns.get(absence.broker, []))
        for absence in found
    ]


def _in_contact(absence: Absence, returns: Sequence[datetime]) -> datetime:
    """Return the moment until which a broker was in contact, if no line of its own shows one."""
    begin = begin_of(absence)
    before = returns[: bisect_right(returns, begin)][-1:]
    return max((begin - CONTACT_WINDOW, *before))
