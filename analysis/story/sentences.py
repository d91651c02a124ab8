"""The sentences of an incident; a fact, a bound and an unknown never read alike."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.brokers import Absence
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Bound, Fact, Lines, Unknown, earliest, latest
from barnabas.analysis.story.clocks import Difference
from barnabas.analysis.story.controllers import ControllerChange, Vacancy
from barnabas.analysis.story.costs import Cost, Ending, Reason
from barnabas.analysis.story.elections import UncleanElection
from barnabas.analysis.story.incident import Incident, IncidentKind
from barnabas.analysis.story.isr import IsrStep
from barnabas.analysis.story.minimums import Lack
from barnabas.analysis.story.observed import BrokerLine, Mark, Refusal
from barnabas.analysis.story.shortages import Shortage
from barnabas.analysis.story.together import one_by_one, several, whole_cluster
from barnabas.analysis.story.troubles import Trouble
from barnabas.analysis.story.words import (
    Rounding,
    at,
    brokers_of,
    clock,
    count,
    duration,
    lasted,
    node,
    nodes,
)

_NAMED = 4
"""The most partitions that a sentence names; it counts the rest."""

_OFFLINE_DIR = "because its replica's log directory was offline"

_STEPS = 6
"""The most ISRs that a sentence tells."""


class Sentence(NamedTuple):
    """A sentence, and the lines that prove it.

    Attributes:
        text: The text, with a full stop.
        lines: The lines, the most important first.
    """

    text: str
    lines: Lines


def headline(incident: Incident, day: date | None = None, *, others_cost: bool = False) -> Sentence:
    """Return the first sentence about an incident: what happened, why, when, and what it cost.

    Args:
        incident: The incident.
        day: The day of all times, if they are of one day; None to print dates.
        others_cost: Whether partitions had no leader in another incident of the report.
    """
    lines = _lines(incident)
    if incident.begun:
        return Sentence(_other_cluster(incident, day), lines)
    unclean = f"; {_unclean(incident.unclean, day)}" if incident.unclean else ""
    parting = ": " if len(_reasons(incident)) > 1 else "; "
    text = f"{_happened(incident, day)}{unclean}{parting}{_costs(incident, day, others_cost=others_cost)}."
    return Sentence(text[0].upper() + text[1:], lines)


def details(incident: Incident, day: date | None = None) -> list[Sentence]:
    """Return the sentences after the first: brokers, controller, groups of partitions, the ISR."""
    found: list[Sentence] = []
    only = incident.only_controllers
    if len(incident.absences) > 1:
        found.extend(
            Sentence(f"{_left(each, day, only)}{_return(each, day)}.", each.lines)
            for each in incident.absences
        )
    for absence in incident.absences:
        if not isinstance(absence.noticed, Unknown) and not is_before_its_end(absence):
            who = node(absence.broker, only).lower()
            text = f"The cluster noticed the loss of {who} {at(absence.noticed, day)}."
            found.append(Sentence(text, absence.noticed.lines))
    found.extend(Sentence(f"{_trouble(each, day, only)}.", (each.first.line,)) for each in incident.troubles)
    if incident.absences:
        found.extend(
            Sentence(f"{_elected(change, day, only)}.", change.new.lines) for change in incident.changes
        )
        found.extend(Sentence(f"{_vacancy(each, day, only)}.", each.lines) for each in incident.vacancies)
    if len(incident.costs) > 1 or any(cost.failed for cost in incident.costs):
        for cost in incident.costs:
            names = f": {_names(cost.partitions)}" if len(cost.partitions) > 1 else ""
            text = f"{_cost(cost, day)}{_failed(cost)}{names}"
            if len(_reasons(incident)) > 1:
                text = _of_reason(cost.reason, text, day)
                text = text[0].upper() + text[1:]
            proof = () if cost.reason is None else (cost.reason.line,)
            found.append(Sentence(f"{text}.", (*proof, *cost.lines)))
    found.extend(_refused_meanwhile(incident.costs, day))
    shortage = incident.shortage
    if shortage is not None and incident.kind is not IncidentKind.UNDER_REPLICATED:
        may_be_removed = incident.offline or shortage.removable
        unless = ", unless the replicas were removed" if may_be_removed else ""
        found.append(Sentence(f"In sync{unless}: {_short(shortage)}.", _of_shortage(shortage)))
    if incident.differences:
        found.append(Sentence(_clocks(incident.differences), _lines(incident)))
    return found


def _clocks(differences: Sequence[Difference]) -> str:
    """Return whose clocks differ, and that no times are bounded by lines of both."""
    shown = ", ".join(
        f"that of broker {each.broker} "
        + (
            f"seems to be ahead of broker {each.controller}'s, as it logged each of its elections "
            f"{duration(each.least, Rounding.DOWN)} later or more"
            if each.is_ahead
            else f"is at least {duration(each.least, Rounding.DOWN)} behind broker {each.controller}'s"
        )
        for each in differences[:_NAMED]
    )
    rest = len(differences) - _NAMED
    more = f", and {rest} more" if rest > 0 else ""
    return f"Clocks differ: {shown}{more}; no time between lines of two such brokers is claimed."


def _trouble(trouble: Trouble, day: date | None, only: Collection[int]) -> str:
    who, first = node(trouble.broker, only), trouble.first
    when = f"at {clock(first.time, day)}"
    how_often = "" if trouble.times == 1 else f", the first of {trouble.times} times"
    # An error that is a sentence has a full stop of its own.
    why = f": {first.error.rstrip('.')}" if first.error else ""
    match first.kind:
        case BrokerKind.THREAD_DIED:
            return (
                f"A thread of {who.lower()} had died {when}{how_often}{why}; whether that is why is unknown"
            )
        case BrokerKind.START_FAILED:
            return f"A start of {who.lower()} failed {when}{how_often}{why}"
    return f"{who} could not register {when}{how_often}{why}"


def _elected(change: ControllerChange, day: date | None, only: Collection[int]) -> str:
    new = change.new
    role = "active controller" if new.broker in only else "controller"
    return (
        f"{node(new.broker, only)} was elected {role} in epoch {new.epoch} by {clock(new.since, day)}, "
        f"after {node(change.former, only).lower()}{_unseen(change)}"
    )


def _unseen(change: ControllerChange) -> str:
    """Return which controller epochs lie between two controllers, if any do."""
    if not change.unseen:
        return ""
    first, last = change.new.epoch - change.unseen, change.new.epoch - 1
    between = f"epoch {first}" if first == last else f"epochs {first} to {last}"
    return f" in epoch {first - 1}; no line names a controller of {between}"


def _vacancy(vacancy: Vacancy, day: date | None, only: Collection[int]) -> str:
    why = ""
    if vacancy.lost_majority is not None:
        why = f": {node(vacancy.lost_majority, only).lower()} had lost the majority of the voters"
    if vacancy.until is None:
        return f"From {clock(vacancy.since, day)} on no line shows an active controller{why}"
    when = f"between {clock(vacancy.since, day)} and {clock(vacancy.until, day)}"
    if vacancy.known_to:
        who = nodes(vacancy.known_to, only)
        return f"{who[0].upper()}{who[1:]} knew of no active controller {when}"
    return f"No line shows an active controller {when}{why}"


def is_before_its_end(absence: Absence) -> bool:
    """Return whether the controller dealt with the broker while it ran, as it does with one that stops."""
    gone, noticed = earliest(absence.gone), latest(absence.noticed)
    return absence.noticed == absence.gone or (gone is not None and noticed is not None and noticed < gone)


def _lines(incident: Incident) -> Lines:
    absent = (line for each in incident.absences for line in each.lines)
    cost = (line for each in incident.costs for line in each.lines)
    unclean = (line for each in incident.unclean for line in each.lines)
    isr = () if incident.shortage is None else _of_shortage(incident.shortage)
    return tuple(dict.fromkeys((*incident.lines, *unclean, *absent, *cost, *isr)))


def _of_shortage(shortage: Shortage) -> Lines:
    proof = (each.line for each in (shortage.refusal, shortage.mark) if each is not None)
    return tuple(dict.fromkeys((*proof, *(step.line for step in shortage.steps), *shortage.lines)))


def _happened(incident: Incident, day: date | None) -> str:
    only = incident.only_controllers
    names = nodes(sorted({each.broker for each in incident.absences}), only)
    since, until = clock(incident.since, day), incident.until
    match incident.kind:
        case IncidentKind.DEPARTURE:
            return f"{_left(incident.absences[0], day, only)}{_return(incident.absences[0], day)}"
        case IncidentKind.ROLLING_RESTART:
            return one_by_one(incident, names, day)
        case IncidentKind.WHOLE_CLUSTER:
            return whole_cluster(incident, names, day)
        case IncidentKind.SEVERAL:
            return several(incident, names, day)
        case IncidentKind.NO_LEADER:
            return f"At {since} or before partitions {_leaderless(incident, day)}"
        case IncidentKind.UNDER_REPLICATED:
            is_begun = incident.shortage is None or incident.shortage.is_begun
            may_be_removed = incident.shortage is not None and incident.shortage.removable
            removed = " or were removed (by a reassignment)" if may_be_removed else ""
            return f"Replicas fell out of sync{removed} at {since}{'' if is_begun else ' or before'}"
        case IncidentKind.OFFLINE_REPLICAS:
            who, left = nodes(incident.offline, only), "it" if len(incident.offline) == 1 else "they"
            return (
                f"A controller took replicas of {who} offline at {since}: {left} left, or the replicas were "
                "removed (by a reassignment or a deletion)"
            )
        case IncidentKind.UNCLEAN:
            return "Leaders were elected that were not in sync"
        case IncidentKind.CONTROLLER | IncidentKind.NO_CONTROLLER:
            return _about_controllers(incident, day)
    changes, partitions = sum(gap.changes for gap in incident.gaps), {gap.life[:2] for gap in incident.gaps}
    when = f"Between {since} and {'the end' if until is None else clock(until, day)}"
    if until is not None and until < incident.since:
        when = "At an unknown time (times and leader epochs contradict each other)"
    return (
        f"{when} the leader epochs of {count(len(partitions), 'partition')} jump: "
        f"at least {count(changes, 'state')} without a line in these logs"
    )


def _leaderless(incident: Incident, day: date | None) -> str:
    """Return what happened to partitions that had no leader though no broker left."""
    reasons = _reasons(incident)
    are_new = [isinstance(each, Mark) for each in reasons]
    if reasons and all(are_new):
        return "were created of which no replica was alive"
    if len(reasons) > 1:
        return "had no leader" if any(are_new) else "lost their leaders"
    causes = [
        *(_failed_directory(each, day) for each in (*incident.failures, *incident.bounces)),
        *(_refused(each, day) for each in incident.refusals),
    ]
    why = f": {', '.join(causes)}" if causes else "; no line shows why"
    return f"lost their leaders{why}"


def _about_controllers(incident: Incident, day: date | None) -> str:
    if incident.vacancies:
        return _vacancy(incident.vacancies[0], day, incident.only_controllers)
    (change,) = incident.changes
    why = "why that one ceased to be controller is unknown"
    if change.resigned is not None:
        why = f"that one had resigned at {clock(change.resigned.time, day)}; why is unknown"
    return f"{_elected(change, day, incident.only_controllers)}; {why}"


def _other_cluster(incident: Incident, day: date | None) -> str:
    first = incident.begun[0]
    who = brokers_of(sorted({each.broker for each in incident.begun}))
    return (
        f"Another cluster began by {clock(incident.since, day)} on {who}: its id is {first.after}, that of "
        f"the one before was {first.before}."
    )


def _unclean(elections: Sequence[UncleanElection], day: date | None) -> str:
    lost = "acknowledged records may be lost"
    first = elections[0]
    if len(elections) == 1:
        who = f"broker {first.leader}{', which was not in sync,' if first.isr else ''} was elected leader of"
        how = "" if first.isr else " uncleanly"
        return f"{who} {first.life[0]}-{first.life[1]} {at(first.when, day)}{how}: {lost}"
    names = sorted({f"{topic}-{partition}" for topic, partition, _ in (each.life for each in elections)})
    return (
        f"{len(elections):,} leaders that were not in sync were elected of {_names(names)}, the first "
        f"{at(first.when, day)}: {lost}"
    )


def _reasons(incident: Incident) -> list[Reason | None]:
    """Return why partitions without a leader had none, in the order of the costs; none of other incidents."""
    if incident.kind is not IncidentKind.NO_LEADER:
        return []
    return list(dict.fromkeys(cost.reason for cost in incident.costs))


def _because(reason: Reason, day: date | None) -> str:
    if isinstance(reason, Mark):
        return f"no replica of partitions created by {clock(reason.time, day)} was alive"
    return _refused(reason, day) if isinstance(reason, Refusal) else _failed_directory(reason, day)


def _of_reason(reason: Reason | None, suffered: str, day: date | None) -> str:
    """Return what partitions suffered, with the reason, which is not that of others."""
    return f"no line shows why {suffered}" if reason is None else f"{_because(reason, day)}, and {suffered}"


def _failed_directory(line: BrokerLine, day: date | None) -> str:
    if line.kind == BrokerKind.BOUNCED_UNSEEN:
        return f"broker {line.subject} had registered again, as a controller found by {clock(line.time, day)}"
    # A controller gets the number from the broker.
    when = at(Bound(None, line.time) if line.role == "controller" else Fact(line.time), day)
    which = f" ({line.error})" if line.error else ""
    return f"a log directory of broker {line.subject} had failed {when}{which}"


def _refused(refusal: Refusal, day: date | None) -> str:
    when = at(Fact(refusal.time), day)
    return f"broker {refusal.broker} refused to lead {when} {_OFFLINE_DIR}"


def _refused_meanwhile(costs: Iterable[Cost], day: date | None) -> Iterator[Sentence]:
    """Generate for each broker that was elected and refused to lead a sentence with its partitions."""
    by_broker: dict[int, list[Refusal]] = {}
    for cost in costs:
        for each in cost.refusals:
            by_broker.setdefault(each.broker, []).append(each)
    for broker, own in sorted(by_broker.items()):
        first = min(own, key=lambda each: each.time)
        names = _names(sorted({f"{each.topic}-{each.partition}" for each in own}))
        text = (
            f"Broker {broker}, which was elected meanwhile, refused to lead {at(Fact(first.time), day)} "
            f"{_OFFLINE_DIR}: {names}."
        )
        yield Sentence(text, (first.line,))


def _left(absence: Absence, day: date | None, only: Collection[int]) -> str:
    role = "the active controller" if absence.broker in only else "the controller"
    who = f"{node(absence.broker, only)}{f', {role},' if absence.was_controller else ''}"
    when, reason = at(absence.gone, day), f": {absence.reason}" if absence.reason else ""
    match absence.cause:
        case Cause.PLANNED:
            return f"{who} was shut down {when} (planned: its controlled shutdown succeeded{_cut(absence)})"
        case Cause.STOPPED:
            return f"{who} was stopped {when} (a shutdown is logged{reason}{_cut(absence)})"
        case Cause.NOT_GRANTED:
            return f"{who} was stopped {when} (its controlled shutdown failed{reason}{_cut(absence)})"
        case Cause.DIED if absence.ended_by is not None:
            ended = f"its process had ended by {clock(absence.ended_by, day)}"
            return f"{who} was lost {when} ({absence.reason or 'no shutdown logged'}; {ended})"
        case Cause.DIED:
            return f"{who} died {when} ({absence.reason or 'no shutdown logged'})"
        case Cause.LOST_SESSION:
            why = f" ({absence.reason})" if absence.reason else ""
            lived = "lived on"
            if absence.started is not None:
                lived = f"still lived (a new one started at {clock(absence.started, day)})"
            return f"{who} was given up by the cluster {when}{why}, although its process {lived}"
    why = "no shutdown logged" if absence.has_own_log else "why is unknown without its server.log"
    return f"{who} was lost {when} ({why})"


def _cut(absence: Absence) -> str:
    """Return that a shutdown did not run to its end, if a line proves it."""
    if absence.cut_short is None:
        return ""
    return ", but its process ended before the shutdown was complete, as its next start found"


def _return(absence: Absence, day: date | None) -> str:
    match absence.returned:
        case Unknown():
            return ", and no line shows a return"
    return f" and was back {at(absence.returned, day)}"


def _costs(incident: Incident, day: date | None, *, others_cost: bool) -> str:
    reasons = _reasons(incident)
    if len(reasons) > 1:
        suffered = [
            [_cost(each, day) for each in incident.costs if each.reason == reason] for reason in reasons
        ]
        clauses = zip(reasons, map(", and ".join, suffered), strict=True)
        return "; ".join(_of_reason(reason, text, day) for reason, text in clauses)
    if incident.costs:
        left = incident.absences
        is_named = len(left) == 1 and not isinstance(left[0].returned, Unknown)
        return ", and ".join(_cost(cost, day, is_named=is_named) for cost in incident.costs)
    match incident.kind:
        case IncidentKind.UNDER_REPLICATED if incident.shortage is not None:
            unless = "unless they were removed, " if incident.shortage.removable else ""
            return f"{unless}{_short(incident.shortage)}"
        case IncidentKind.UNSEEN:
            return "whether partitions had no leader meanwhile is unknown"
        case IncidentKind.CONTROLLER:
            return "nothing shows that it cost anything"
        case IncidentKind.NO_CONTROLLER if incident.vacancies[0].known_to:
            return "whether the cluster had one is unknown"
        case IncidentKind.NO_CONTROLLER:
            return "without one no partition gets another leader"
        case IncidentKind.WHOLE_CLUSTER:
            if incident.until is None:
                gone = incident.all_gone or incident.since
                is_last = all(change.new.since <= gone for change in incident.changes)
                return "no later line says more" if is_last else "a later line shows another controller"
            # Logs that were not given may be of brokers that stayed.
            used = "no partition could be used"
            return f"while all were gone {used if incident.are_listed else f'{used} that only they had'}"
    return f"no line shows a partition without a leader{' because of that' if others_cost else ''}"


def _cost(cost: Cost, day: date | None, *, is_named: bool = False) -> str:
    """Return what partitions suffered; ``is_named`` says whether the words before name the return."""
    number = len(cost.partitions)
    who = cost.partitions[0] if number == 1 else count(number, "partition")
    had = f"{who} had no leader {lasted(cost.duration)}"
    if cost.times > number:
        how_often = f"{cost.times} times{'' if number == 1 else ' in total'}"
        had = f"{who} had no leader {how_often}, each {lasted(cost.duration)}"
    match cost.ending:
        case Ending.RETURNED if is_named:
            return f"{had}, until it returned"
        case Ending.ELECTED_AGAIN if is_named:
            return f"{had}, until it was elected again"
        case Ending.RETURNED | Ending.MOVED:
            again = " again" if cost.ending is Ending.RETURNED else ""
            return f"{had}, until {brokers_of(cost.leaders)} led {'it' if number == 1 else 'them'}{again}"
        case Ending.ELECTED | Ending.ELECTED_AGAIN:
            again = " again" if cost.ending is Ending.ELECTED_AGAIN else ""
            return f"{had}, until {brokers_of(cost.leaders)} {_was(cost.leaders)} elected{again}"
        case Ending.DELETED:
            return f"{had}, until the topic was deleted"
    begin = "" if cost.begin is None else f" at {clock(cost.begin, day)}"
    return f"{who} had no leader{begin}, and no line shows who led next"


def _was(ids: Sequence[int]) -> str:
    return "was" if len(ids) == 1 else "were"


def _failed(cost: Cost) -> str:
    return f" ({count(cost.failed, 'election')} failed)" if cost.failed else ""


def _short(shortage: Shortage) -> str:
    steps = ", then ".join(
        f"{step.size} of {step.assigned}{' replicas in sync' if index == 0 else ''} {_held(step)}"
        for index, step in enumerate(shortage.steps[:_STEPS])
    )
    more = "" if len(shortage.steps) <= _STEPS else f", and {len(shortage.steps) - _STEPS} more changes"
    whose = f"{shortage.worst}" if shortage.partitions == 1 else f"the worst, {shortage.worst},"
    many = (
        ""
        if shortage.partitions == 1
        else f"{count(shortage.partitions, 'partition')} were under-replicated; "
    )
    return f"{many}{whose} had {steps}{more}; {_writes(shortage)}"


def _held(step: IsrStep) -> str:
    return "as far as the logs show" if step.until is None else lasted(step.held)


def _writes(shortage: Shortage) -> str:
    mark = shortage.mark
    if mark is not None and shortage.refusal is None and not shortage.is_sure:
        when = clock(mark.time)
        return f"acks=all writes were refused with {mark.in_sync} in sync, as the line of {when} shows"
    if shortage.minimum is None:
        what = "min.insync.replicas"
        why = {
            Lack.DIFFERENT: f"the lines differ about {what}",
            Lack.OTHER_TIME: f"no line gives {what} for that time",
        }.get(shortage.lack or Lack.SILENT, f"no line gives {what}")
        return f"whether it refused acks=all writes is unknown: {why}"
    own, minimum = _reservation(shortage), f"with min.insync.replicas={shortage.minimum}"
    refused = "acks=all writes were refused at less than that"
    if shortage.refusal is not None:
        return f"{minimum}, {refused}, as the line of {clock(shortage.refusal.time)} shows"
    since = shortage.known_since
    if since is not None:
        minimum += f" from {clock(since)} on"
    steps = [step for step in shortage.steps if since is None or step.until is None or step.until > since]
    if not any(step.size < shortage.minimum for step in steps):
        is_whole = shortage.minimum == 1 or all(step.follows and step.is_whole for step in steps)
        unseen = "" if is_whole else "; an ISR in between, which no line shows, may have refused some"
        return f"{minimum} that refuses no write{own}{unseen}"
    return f"{minimum}, {refused}{own}"


def _reservation(shortage: Shortage) -> str:
    """Return whose settings, which no line shows, may be others than the brokers' one."""
    topic = shortage.worst.rpartition("-")[0]
    if shortage.is_of_others:
        who = f"{topic} or its leader" if shortage.is_default else "its leader"
        return f", unless {who} has another setting"
    return f", unless {topic} has its own setting" if shortage.is_default else ""


def _names(partitions: Sequence[str]) -> str:
    rest = len(partitions) - _NAMED
    return f"{', '.join(partitions[:_NAMED])}{f' and {rest:,} more' if rest > 0 else ''}"
