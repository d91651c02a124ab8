"""The judge, which finds false claims in a story, and true events that it misses. Pure.

A claim is false if no moment that the measurement allows lies in the claimed interval. A victim is missed if
no absence is of it, and a time without a leader if no cost is of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import earliest, latest
from barnabas.analysis.story.controllers import ControllerChange
from barnabas.analysis.story.departures import are_overlapping, first_departure
from barnabas.analysis.story.incident import Incident, IncidentKind
from barnabas.analysis.story.words import listed
from barnabas.bench.truth.bounds import ROUNDING, all_gone, contains, gone_at, is_within, late, said, spans
from barnabas.bench.truth.judge_partitions import causes, costs, shortage, unclean
from barnabas.bench.truth.scenarios import SILENT, Action
from barnabas.bench.truth.truths import Departure, Span, Truth

_CAUSES = {
    Action.STOP: (Cause.PLANNED, Cause.STOPPED, Cause.NOT_GRANTED),
    Action.PAUSE: (Cause.LOST_SESSION,),
    Action.EXPIRE: (Cause.LOST_SESSION,),
    Action.CUT: (Cause.LOST_SESSION,),
}
_SILENT_FOR_GOOD = (Cause.LOST_SESSION, Cause.UNKNOWN)
_KILLED = (Cause.DIED,)
_KILLED_FOR_GOOD = (Cause.DIED, Cause.UNKNOWN)


def falsehoods(truth: Truth, story: Sequence[Incident]) -> list[str]:
    """Return the errors of a story; none if it is true and complete."""
    claimed = [(incident, absence) for incident in story for absence in incident.absences]
    matched = _matched(truth.departures, [absence for _, absence in claimed])
    unseen = [gap for incident in story for gap in incident.gaps]
    return [
        *_victims(truth, [absence for _, absence in claimed], matched),
        *(error for index, each in matched.items() for error in _absence(claimed[index][1], each, truth)),
        *(error for incident in story for error in _order(incident, claimed, matched)),
        *(error for incident in story for error in causes(incident, truth, unseen)),
        *(error for incident in story for error in _whole_cluster(incident, truth)),
        *(error for incident in story for error in _together(incident, claimed, matched)),
        *(error for incident in story for error in _controller(incident, truth)),
        *(error for incident in story for error in unclean(incident)),
        *(error for incident in story for error in _handover(incident, claimed, matched)),
        *costs(truth, story, unseen),
        *(error for incident in story if incident.shortage for error in shortage(incident.shortage, truth)),
    ]


def _matched(departures: Sequence[Departure], claimed: Sequence[Absence]) -> dict[int, Departure]:
    """Return the departure of each absence by its index; of several, the first that is left."""
    left = list(departures)
    matched: dict[int, Departure] = {}
    for index, absence in sorted(enumerate(claimed), key=lambda each: _last(each[1])):
        fitting = [
            each for each in left if each.broker == absence.broker and contains(absence.gone, each.gone)
        ]
        if fitting:
            matched[index] = fitting[0]
            left.remove(fitting[0])
    return matched


def _last(absence: Absence) -> datetime:
    known = (latest(absence.gone), latest(absence.noticed), absence.started, earliest(absence.gone))
    return next(each for each in known if each is not None)


def _victims(truth: Truth, claimed: Sequence[Absence], matched: dict[int, Departure]) -> Iterator[str]:
    for index, absence in enumerate(claimed):
        if index not in matched:
            true = [each.gone for each in truth.departures if each.broker == absence.broker]
            yield f"broker {absence.broker} {absence.cause} {said(absence.gone)}; truly gone {spans(true)}"
    found = list(matched.values())
    for departure in truth.departures:
        if departure not in found:
            yield f"missed: {departure.action} of broker {departure.broker} {spans([departure.gone])}"


def _had_heirs(name: str, departure: Departure, truth: Truth) -> bool:
    """Return whether a replica in sync stayed that could lead, whichever of them others took with them."""
    sizes = [each.size for each in truth.in_sync.get(name, ()) if each.since <= departure.gone.low]
    return bool(sizes) and sizes[-1] > len(gone_at(truth, departure.gone.high))


def _absence(absence: Absence, true: Departure, truth: Truth) -> Iterator[str]:
    who = f"broker {absence.broker} ({true.action} {spans([true.gone])})"
    killed = _KILLED if true.returned is not None else _KILLED_FOR_GOOD
    causes = _CAUSES.get(true.action, killed)
    if true.returned is None and true.action in SILENT:
        causes = _SILENT_FOR_GOOD
    if absence.cause not in causes:
        yield f"{who}: the claimed cause is {absence.cause!r}"
    movable = [name for name in true.kept if _had_heirs(name, true, truth)]
    if absence.cause is Cause.PLANNED and movable:
        yield f"{who}: claimed that its controlled shutdown succeeded; it still led {', '.join(movable)}"
    if true.was_controller not in (None, absence.was_controller):
        yield f"{who}: claimed that it was {'' if absence.was_controller else 'not '}the controller"
    noticed = earliest(absence.noticed)
    if noticed is not None and noticed < true.gone.low - ROUNDING:
        yield f"{who}: noticed {said(absence.noticed)}, before it was gone"
    if absence.stopping is not None and not is_within(absence.stopping, true.gone):
        yield f"{who}: began to stop at {absence.stopping}"
    if true.returned is None:
        if latest(absence.returned) is not None or absence.started is not None:
            yield f"{who}: claimed that it returned {said(absence.returned)}"
        return
    if not contains(absence.returned, true.returned):
        yield f"{who}: returned {said(absence.returned)}; truly {spans([true.returned])}"
    if absence.started is not None and not is_within(absence.started, true.returned):
        yield f"{who}: started at {absence.started}; truly {spans([true.returned])}"


def _order(
    incident: Incident, claimed: Sequence[tuple[Incident, Absence]], matched: dict[int, Departure]
) -> Iterator[str]:
    found = [matched[index] for index, (of, _) in enumerate(claimed) if of is incident and index in matched]
    for before, after in pairwise(found):
        if after.gone.high < before.gone.low:
            yield f"broker {before.broker} is named before broker {after.broker}, which went earlier"


def _whole_cluster(incident: Incident, truth: Truth) -> Iterator[str]:
    if incident.kind is IncidentKind.WHOLE_CLUSTER and (
        incident.all_gone is None or not all_gone(truth, incident.all_gone)
    ):
        yield f"the whole cluster is claimed to be gone at {incident.all_gone}"


def _together(
    incident: Incident, claimed: Sequence[tuple[Incident, Absence]], matched: dict[int, Departure]
) -> Iterator[str]:
    """Judge whether brokers were gone one after another, or at the same time, as is claimed."""
    found = sorted(
        (matched[index] for index, (of, _) in enumerate(claimed) if of is incident and index in matched),
        key=lambda each: each.gone.low,
    )
    for index, after in enumerate(found[1:], 1):
        before = found[index - 1]
        is_before = before.returned is None or after.gone.high < before.returned.low
        if incident.kind is IncidentKind.ROLLING_RESTART and is_before:
            who = f"brokers {before.broker} and {after.broker}"
            yield f"a rolling restart is claimed; truly {who} were gone at the same time"
        # Each broker is claimed to have left while one that had left before it was still gone.
        are_back = all(
            each.returned is not None and each.returned.high < after.gone.low for each in found[:index]
        )
        if incident.kind is IncidentKind.SEVERAL and are_overlapping(incident.absences) and are_back:
            who = f"brokers {listed(each.broker for each in found[: index + 1])}"
            yield f"{who} are claimed to be gone at overlapping times; truly one after the other"
    if not found or incident.kind in (IncidentKind.NO_LEADER, IncidentKind.CONTROLLER):
        return
    first = Span(min(each.gone.low for each in found), min(each.gone.high for each in found))
    claimed_first = first_departure(incident.absences)
    if not contains(claimed_first, first):
        yield f"the first broker is claimed to have left {said(claimed_first)}; truly {spans([first])}"
    if incident.since < min(each.gone.low for each in found) - ROUNDING:
        yield f"an incident is claimed since {incident.since}; truly {spans([each.gone for each in found])}"
    backs = [each.returned for each in found]
    known = [each for each in backs if each is not None]
    if incident.until is not None and (
        len(known) < len(backs) or incident.until < max(each.low for each in known) - ROUNDING
    ):
        yield f"an incident is claimed to be over at {incident.until}; truly back {spans(known)}"


def _controller(incident: Incident, truth: Truth) -> Iterator[str]:
    for change in incident.changes if truth.controllers else ():
        yield from _change(change, truth)
        new = change.new
        before = [each.broker for each in truth.controllers if each.epoch == new.epoch - 1]
        if incident.kind is IncidentKind.CONTROLLER:
            lost = [
                each.broker for each in truth.departures if each.was_controller and each.gone.low <= new.since
            ]
            if before and before[0] in lost:
                yield f"no cause is named why broker {before[0]} ceased to be controller"


def _change(change: ControllerChange, truth: Truth) -> Iterator[str]:
    new = change.new
    of_epoch = [each for each in truth.controllers if each.epoch == new.epoch]
    if not any(
        each.broker == new.broker and -ROUNDING <= new.since - each.since <= late(each.since, truth)
        for each in of_epoch
    ):
        yield f"controller {new.broker} in epoch {new.epoch} since {new.since}; truly {of_epoch}"
    # Controllers in between that no line names are reported as unseen.
    known = new.epoch - 1 - change.unseen
    before = [each.broker for each in truth.controllers if each.epoch == known]
    if before and change.former not in before:
        yield f"controller epoch {new.epoch} follows {change.former}; truly {before}"


def _handover(
    incident: Incident, claimed: Sequence[tuple[Incident, Absence]], matched: dict[int, Departure]
) -> Iterator[str]:
    """Judge whether a controller change is named with the departure that led to it."""
    if not incident.changes or incident.kind is IncidentKind.CONTROLLER:
        return
    true = [matched[index] for index, (of, _) in enumerate(claimed) if of is incident and index in matched]
    if all(each.was_controller is False for each in true):
        yield f"controller epoch {incident.changes[0].new.epoch} is named with the wrong departures"
