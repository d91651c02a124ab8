"""The judge, which finds false claims in a story, and true events that it misses. Pure.

A claim is false if no moment that the measurement allows lies in the claimed interval. A victim is missed if
no absence is of it, and a time without a leader if no cost is of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from barnabas.analysis.story.brokers import Absence
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Bound, Duration, Fact, Instant, earliest, latest
from barnabas.analysis.story.controllers import ControllerChange
from barnabas.analysis.story.costs import Cost, Ending
from barnabas.analysis.story.departures import are_overlapping
from barnabas.analysis.story.incident import Incident, IncidentKind
from barnabas.analysis.story.sentences import listed
from barnabas.analysis.story.shortages import Shortage
from barnabas.bench.truth.scenarios import BROKERS, SILENT, Action
from barnabas.bench.truth.truths import Departure, Leaderless, Span, Truth

ROUNDING = timedelta(milliseconds=2)
"""Logs and ZooKeeper cut their times to milliseconds."""

WRITTEN = timedelta(seconds=2)
"""The longest time from a change to the line about it, on a busy machine."""

NOTABLE = timedelta(milliseconds=500)
"""The shortest time without a leader that must be reported."""

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
    return [
        *_victims(truth, [absence for _, absence in claimed], matched),
        *(said for index, each in matched.items() for said in _absence(claimed[index][1], each, truth)),
        *(said for incident in story for said in _order(incident, claimed, matched)),
        *(said for incident in story for said in _kind(incident, truth)),
        *(said for incident in story for said in _together(incident, claimed, matched)),
        *(said for incident in story for said in _controller(incident, truth)),
        *(said for incident in story for said in _unclean(incident)),
        *(said for incident in story for said in _handover(incident, claimed, matched)),
        *_costs(truth, story),
        *(said for incident in story if incident.shortage for said in _shortage(incident.shortage, truth)),
    ]


def contains(claimed: Instant, true: Span) -> bool:
    """Return whether a moment that the measurement allows lies in the claimed interval."""
    low, high = earliest(claimed), latest(claimed)
    return (low is None or low <= true.high + ROUNDING) and (high is None or true.low - ROUNDING <= high)


def holds(claimed: Duration, least: timedelta, most: timedelta | None) -> bool:
    """Return whether a duration that was measured lies in the claimed interval; ``None`` never ends."""
    match claimed:
        case Fact(value=value):
            low: timedelta | None = value
            high: timedelta | None = value
        case Bound(at_least=low, at_most=high):
            pass
        case _:
            return True
    is_above = high is None or (most is not None and least - ROUNDING <= high)
    return is_above and (low is None or most is None or low <= most + ROUNDING)


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
            yield f"broker {absence.broker} {absence.cause} {_said(absence.gone)}; truly gone {_spans(true)}"
    found = list(matched.values())
    for departure in truth.departures:
        if departure not in found:
            yield f"missed: {departure.action} of broker {departure.broker} {_spans([departure.gone])}"


def _had_heirs(name: str, time: datetime, truth: Truth) -> bool:
    sizes = [each.size for each in truth.in_sync.get(name, ()) if each.since <= time]
    return bool(sizes) and sizes[-1] > 1


def _absence(absence: Absence, true: Departure, truth: Truth) -> Iterator[str]:
    who = f"broker {absence.broker} ({true.action} {_spans([true.gone])})"
    killed = _KILLED if true.returned is not None else _KILLED_FOR_GOOD
    causes = _CAUSES.get(true.action, killed)
    if true.returned is None and true.action in SILENT:
        causes = _SILENT_FOR_GOOD
    if absence.cause not in causes:
        yield f"{who}: the claimed cause is {absence.cause!r}"
    movable = [
        name
        for name in true.kept
        if _had_heirs(name, true.gone.low, truth) and not _all_gone(truth, true.gone.high)
    ]
    if absence.cause is Cause.PLANNED and movable:
        yield f"{who}: claimed that its controlled shutdown succeeded; it still led {', '.join(movable)}"
    if true.was_controller not in (None, absence.was_controller):
        yield f"{who}: claimed that it was {'' if absence.was_controller else 'not '}the controller"
    noticed = earliest(absence.noticed)
    if noticed is not None and noticed < true.gone.low - ROUNDING:
        yield f"{who}: noticed {_said(absence.noticed)}, before it was gone"
    if absence.stopping is not None and not _is_within(absence.stopping, true.gone):
        yield f"{who}: began to stop at {absence.stopping}"
    if true.returned is None:
        if latest(absence.returned) is not None or absence.started is not None:
            yield f"{who}: claimed that it returned {_said(absence.returned)}"
        return
    if not contains(absence.returned, true.returned):
        yield f"{who}: returned {_said(absence.returned)}; truly {_spans([true.returned])}"
    if absence.started is not None and not _is_within(absence.started, true.returned):
        yield f"{who}: started at {absence.started}; truly {_spans([true.returned])}"


def _is_within(time: datetime, span: Span) -> bool:
    return span.low - ROUNDING <= time <= span.high + ROUNDING


def _order(
    incident: Incident, claimed: Sequence[tuple[Incident, Absence]], matched: dict[int, Departure]
) -> Iterator[str]:
    found = [matched[index] for index, (of, _) in enumerate(claimed) if of is incident and index in matched]
    for before, after in pairwise(found):
        if after.gone.high < before.gone.low:
            yield f"broker {before.broker} is named before broker {after.broker}, which went earlier"


def _kind(incident: Incident, truth: Truth) -> Iterator[str]:
    if incident.kind is IncidentKind.NO_LEADER:
        claimed = {line.subject for line in incident.failures} | {each.broker for each in incident.refusals}
        known = [_of_cost(cost, name, incident, truth) for cost in incident.costs for name in cost.partitions]
        names = sorted({of[0].partition for of in known if of and not _is_explained(of, claimed, truth)})
        if names:
            yield f"no cause is named why {', '.join(names)} had no leader"
        begins = [each.begin.low for of in known for each in of]
        if begins and incident.since < min(begins) - ROUNDING:
            since = incident.since
            yield f"partitions are claimed to have lost their leaders by {since}; truly {min(begins)}"
    for line in incident.failures:
        if not any(
            each.broker == line.subject
            and _is_within(line.time, each.failed)
            and incident.since <= each.failed.high + WRITTEN
            for each in truth.disks
        ):
            yield f"broker {line.subject} is claimed to have lost a log directory; truly {truth.disks}"
    for refusal in incident.refusals:
        name = f"{refusal.topic}-{refusal.partition}"
        if not any(
            each.broker == refusal.broker
            and name in each.partitions
            and each.failed.low <= refusal.time + ROUNDING
            for each in truth.disks
        ):
            yield f"broker {refusal.broker} is claimed to have refused {name}; truly {truth.disks}"
    if incident.kind is IncidentKind.WHOLE_CLUSTER and not any(
        _all_gone(truth, each.gone.high) for each in truth.departures
    ):
        yield f"the whole cluster is claimed to be gone from {incident.since} on"


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
    if incident.since < min(each.gone.low for each in found) - ROUNDING:
        yield f"an incident is claimed since {incident.since}; truly {_spans([each.gone for each in found])}"
    backs = [each.returned for each in found]
    known = [each for each in backs if each is not None]
    if incident.until is not None and (
        len(known) < len(backs) or incident.until < max(each.low for each in known) - ROUNDING
    ):
        yield f"an incident is claimed to be over at {incident.until}; truly back {_spans(known)}"


def _of_cost(cost: Cost, name: str, incident: Incident, truth: Truth) -> list[Leaderless]:
    """Return the times without a leader of a partition that a cost may be about."""
    return [
        each
        for each in truth.leaderless
        if each.partition == name
        and _fits(cost, each, truth, is_known=False)
        and (each.end is None or incident.since <= each.end.high + ROUNDING)
        and (incident.until is None or each.begin.low <= incident.until + ROUNDING)
    ]


def _is_explained(lost: Sequence[Leaderless], claimed: Collection[int | None], truth: Truth) -> bool:
    """Return whether a log directory that is named, or no known cause, took one of several leaders."""
    return any(
        (each.leader_before in claimed and _is_dark(each, truth)) or not _has_cause(each, truth)
        for each in lost
    )


def _has_cause(lost: Leaderless, truth: Truth) -> bool:
    """Return whether a leader that was lost had gone, or its log directory."""
    return _is_dark(lost, truth) or any(
        each.broker == lost.leader_before
        and each.gone.low <= lost.begin.high
        and (each.returned is None or lost.begin.low <= each.returned.high)
        for each in truth.departures
    )


def _is_dark(lost: Leaderless, truth: Truth) -> bool:
    """Return whether the log directory of the lost leader was gone."""
    return any(
        each.broker == lost.leader_before and lost.partition in each.partitions
        and each.failed.low <= lost.begin.high and lost.begin.low <= each.failed.high
        for each in truth.disks
    )  # fmt: skip


def _all_gone(truth: Truth, time: datetime) -> bool:
    """Return whether no broker was there at a moment."""
    gone = {
        each.broker
        for each in truth.departures
        if each.gone.low <= time and (each.returned is None or time <= each.returned.high)
    }
    return gone >= set(BROKERS)


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
        each.broker == new.broker and -ROUNDING <= new.since - each.since <= _late(each.since, truth)
        for each in of_epoch
    ):
        yield f"controller {new.broker} in epoch {new.epoch} since {new.since}; truly {of_epoch}"
    # Controllers in between that no line names are reported as unseen.
    known = new.epoch - 1 - change.unseen
    before = [each.broker for each in truth.controllers if each.epoch == known]
    if before and change.former not in before:
        yield f"controller epoch {new.epoch} follows {change.former}; truly {before}"


def _late(time: datetime, truth: Truth) -> timedelta:
    """Return the longest time from a change to the line about it.

    A broker that is silent at the change, or before it has written, writes about it when it goes on.
    """
    silences = (
        each.returned.high - time
        for each in truth.departures
        if each.action in SILENT and each.returned is not None
        and each.gone.low <= time + WRITTEN and time <= each.returned.high
    )  # fmt: skip
    return WRITTEN + max(silences, default=timedelta(0))


def _unclean(incident: Incident) -> Iterator[str]:
    """Judge unclean elections, which no cluster of a scenario allows."""
    for each in incident.unclean:
        yield f"an unclean election of broker {each.leader} is claimed {_said(each.when)}; truly none"


def _handover(
    incident: Incident, claimed: Sequence[tuple[Incident, Absence]], matched: dict[int, Departure]
) -> Iterator[str]:
    """Judge whether a controller change is named with the departure that led to it."""
    if not incident.changes or incident.kind is IncidentKind.CONTROLLER:
        return
    true = [matched[index] for index, (of, _) in enumerate(claimed) if of is incident and index in matched]
    if all(each.was_controller is False for each in true):
        yield f"controller epoch {incident.changes[0].new.epoch} is named with the wrong departures"


def _costs(truth: Truth, story: Sequence[Incident]) -> Iterator[str]:
    left = [each for each in truth.leaderless if each.is_due and each.least >= NOTABLE]
    reported: list[Leaderless] = []
    for incident in story:
        brokers = {each.broker for each in incident.absences}
        for cost in incident.costs:
            true: list[Leaderless] = []
            for name in cost.partitions:
                of_it = [
                    each for each in truth.leaderless
                    if each.partition == name and (not brokers or each.leader_before in brokers)
                ]  # fmt: skip
                fitting = [each for each in of_it if _fits(cost, each, truth, is_known=bool(brokers))]
                left = [each for each in left if each not in fitting]
                reported.extend(fitting)
                true.extend(fitting)
                if not fitting:
                    yield f"{name} {cost.ending} {_lasted(cost.duration)}; truly {_outages(of_it)}"
            if true:
                yield from _whole_cost(cost, true)
    for each in left:
        if not any(_is_rest(of, each) for of in reported):
            yield f"missed: {_outages([each])}"


def _whole_cost(cost: Cost, true: Sequence[Leaderless]) -> Iterator[str]:
    """Judge what is said of all partitions of a cost together, by the times without a leader that fit."""
    first = min(each.begin.low for each in true)
    # Only this ending is printed with its begin.
    if cost.ending is Ending.NOT_SHOWN and cost.begin is not None and cost.begin < first - ROUNDING:
        yield f"no leader is claimed at {cost.begin}; truly from {first} on"
    names = ", ".join(cost.partitions)
    if cost.ending is Ending.MOVED:
        for leader in set(cost.leaders) - {each.leader_after for each in true}:
            yield f"broker {leader} is claimed to lead {names}; truly {_outages(true)}"
    # Of those that begin together only one is true.
    if cost.times > len({(each.partition, each.begin) for each in true}):
        yield f"{names} claimed to have had no leader {cost.times} times; truly {_outages(true)}"


def _is_rest(reported: Leaderless, true: Leaderless) -> bool:
    """Return whether one is the other but for its begin, which was too short to be reported, or for its end.

    Of those that begin together only one is true, and the measurements do not show which.
    """
    if reported.partition != true.partition:
        return False
    is_end = reported.end == true.end and reported.begin.high - true.begin.high < NOTABLE
    return is_end or (reported.leader_before, reported.begin) == (true.leader_before, true.begin)


def _fits(cost: Cost, true: Leaderless, truth: Truth, *, is_known: bool) -> bool:
    """Return whether a time without a leader is the one of a cost.

    If no broker is named that was lost (``is_known``), the next leader may be the one before.
    """
    if not holds(cost.duration, true.least, true.most):
        return False
    if cost.begin is not None and true.end is not None and true.end.high + ROUNDING < cost.begin:
        return False
    match cost.ending:
        case Ending.RETURNED | Ending.ELECTED_AGAIN:
            return true.leader_after == true.leader_before
        case Ending.MOVED:
            is_other = true.leader_after != true.leader_before
            return (is_other or not is_known) and true.leader_after in cost.leaders
        case Ending.ELECTED:
            # Another one that was elected before the next leader led nothing.
            in_vain = {
                each.leader_before
                for each in truth.leaderless
                if (each.partition, each.end) == (true.partition, true.end)
            }
            return bool({*cost.leaders} & {true.leader_after, *in_vain} - {true.leader_before})
    return True


def _shortage(shortage: Shortage, truth: Truth) -> Iterator[str]:
    if shortage.minimum not in (None, truth.min_insync):
        yield f"min.insync.replicas={shortage.minimum}; truly {truth.min_insync}"
    true = truth.in_sync.get(shortage.worst)
    if true is None:
        if truth.in_sync:
            yield f"{shortage.worst} is claimed to be short of replicas; there is no such partition"
        return
    for step in shortage.steps:
        if not any(
            each.size == step.size and -WRITTEN <= step.since - each.since <= _late(each.since, truth)
            for each in true
        ):
            yield f"{shortage.worst} had {step.size} in sync from {step.since} on; truly {true}"
        if step.is_certain and step.until is not None:
            others = [
                each
                for each in true
                if step.since + WRITTEN < each.since < step.until - _late(each.since, truth)
                and each.size != step.size
            ]
            if others:
                yield f"{shortage.worst} had {step.size} in sync until {step.until}; truly {others}"


def _said(instant: Instant) -> str:
    return f"[{earliest(instant)}, {latest(instant)}]"


def _spans(spans: Sequence[Span]) -> str:
    return ", ".join(f"[{each.low}, {each.high}]" for each in spans) or "never"


def _lasted(claimed: Duration) -> str:
    match claimed:
        case Fact(value=value):
            return f"for {value}"
        case Bound(at_least=low, at_most=high):
            return f"for [{low}, {high}]"
    return "for an unknown time"


def _outages(true: Sequence[Leaderless]) -> str:
    return (
        ", ".join(
            f"{each.partition} without leader after {each.leader_before} for [{each.least}, {each.most}], "
            f"then {each.leader_after}"
            for each in true
        )
        or "never"
    )
