"""The sentences of an incident; a fact, a bound and an unknown never read alike.

The first one has at most 20 words: what happened to whom, and what it cost. Times, bounds and sums follow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import date
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Fact, Lines, Unknown, earliest, latest
from barnabas.analysis.story.elections import UncleanElection
from barnabas.analysis.story.incident import Incident, IncidentKind
from barnabas.analysis.story.observed import CLOCKS
from barnabas.analysis.story.sentences.absences import did, failed_start, left, returned
from barnabas.analysis.story.sentences.clocks import clocks_differ
from barnabas.analysis.story.sentences.controllers import became, elected, vacant
from barnabas.analysis.story.sentences.costs import suffered, unled
from barnabas.analysis.story.sentences.reasons import why, why_and_when
from barnabas.analysis.story.sentences.shortages import short
from barnabas.analysis.story.sentences.together import all_did, when_all, who_left
from barnabas.analysis.story.shortages import Shortage
from barnabas.analysis.story.troubles import Trouble
from barnabas.analysis.story.words import at, brokers_of, clock, count, node, partition_names

_WORDS = 20
"""The most words of a first sentence; what it cost is left to those after it if there is no room."""


class Sentence(NamedTuple):
    """A sentence, and the lines that prove it.

    Attributes:
        text: The text, with a full stop.
        lines: The lines, the most important first.
    """

    text: str
    lines: Lines


def headline(incident: Incident, explained: Collection[str] = ()) -> Sentence:
    """Return the first sentence about an incident: what happened to whom, and what it cost.

    Args:
        incident: The incident.
        explained: The partitions of which a condition says why they had no leader.
    """
    what, costs = _happened(incident, explained), _costs(incident)
    is_short = len(f"{what} {costs}".split()) <= _WORDS
    text = f"{what}; {costs}." if costs and is_short else f"{what}."
    return Sentence(text[0].upper() + text[1:], _lines(incident))


def details(incident: Incident, day: date | None = None) -> list[Sentence]:
    """Return the sentences after the first: brokers, controller, groups of partitions, the ISR.

    Args:
        incident: The incident.
        day: The day of all times, if they are of one day; None to print dates.
    """
    only, shortage = incident.only_controllers, incident.shortage
    found = [*_of_kind(incident, day)]
    if len(incident.absences) > 1:
        found.append(Sentence(f"{when_all(incident, day)}.", _lines(incident)))
    found.extend(
        Sentence(f"{left(each, day, only)}{returned(incident, each, day)}.", _of_absence(incident, each))
        for each in incident.absences
    )
    found.extend(
        Sentence(f"{_noticed(each, day, only)}.", each.noticed.lines)
        for each in incident.absences
        if not isinstance(each.noticed, Unknown) and not is_before_its_end(each)
    )
    found.extend(
        Sentence(f"{_trouble(each, day, only)}.", (each.first.line,))
        for each in incident.troubles
        if each.first.kind != BrokerKind.START_FAILED
    )
    found.extend(Sentence(f"{elected(change, day, only)}.", change.new.lines) for change in incident.changes)
    found.extend(Sentence(f"{vacant(each, day)}.", each.lines) for each in incident.vacancies)
    if incident.unclean:
        lines = tuple(line for each in incident.unclean for line in each.lines)
        found.append(Sentence(f"{_unclean(incident.unclean, day)}.", lines))
    for cost in incident.costs:
        because = "" if cost.reason is None else f"{why_and_when(cost.reason, day)}, and "
        text = f"{because}{suffered(cost, day)}."
        proof = () if cost.reason is None else (cost.reason.line,)
        # The name of a topic stays as it is.
        first = text[0].upper() + text[1:] if because else text
        found.append(Sentence(first, (*proof, *cost.lines)))
    if shortage is not None:
        found.append(Sentence(f"In sync: {short(shortage)}.", _of_shortage(shortage)))
    if incident.differences:
        found.append(Sentence(clocks_differ(incident.differences, only), _lines(incident)))
    if incident.is_doubled:
        twice = "Its times are of an hour that clocks showed twice, so each may be an hour off."
        found.append(Sentence(twice, _lines(incident)))
    return found


def _happened(incident: Incident, explained: Collection[str]) -> str:
    only = incident.only_controllers
    match incident.kind:
        case IncidentKind.DEPARTURE if len(incident.absences) == 1:
            (first,) = incident.absences
            role = "the active controller" if first.broker in only else "the controller"
            return f"{node(first.broker, only)}{f', {role},' if first.was_controller else ''} {did(first)}"
        case IncidentKind.WHOLE_CLUSTER:
            whole = "the whole cluster" if incident.are_listed else "all brokers in these logs"
            return f"{whole} ({who_left(incident)}) {all_did(incident)}"
        case IncidentKind.DEPARTURE | IncidentKind.SEVERAL | IncidentKind.ROLLING_RESTART:
            often = f" {len(incident.absences)} times" if incident.kind is IncidentKind.DEPARTURE else ""
            return f"{who_left(incident)} {all_did(incident)}{often}"
        case IncidentKind.NO_LEADER:
            reasons = [each for each in dict.fromkeys(cost.reason for cost in incident.costs) if each]
            if reasons:
                return why(reasons[0])
            is_explained = all(name in explained for cost in incident.costs for name in cost.partitions)
            return f"{'' if is_explained else 'no line shows why '}{unled(incident.costs)}"
        case IncidentKind.FAILED_DIRECTORY:
            return why(incident.failures[0])
        case IncidentKind.UNDER_REPLICATED if incident.shortage is not None:
            number = incident.shortage.partitions
            return f"replicas of {count(number, 'partition')} fell out of sync"
        case IncidentKind.UNCLEAN:
            return _uncleanly(incident.unclean)
        case IncidentKind.CONTROLLER:
            return became(incident.changes[0], only)
        case IncidentKind.NO_CONTROLLER:
            lost = incident.vacancies[0].lost_majority
            who = "the controller" if lost is None else node(lost, only).lower()
            return f"{who} lost the majority of the voters, and there was no active controller"
        case IncidentKind.OTHER_CLUSTER:
            who = brokers_of(sorted({each.broker for each in incident.begun}))
            return f"another cluster began on {who}"
    partitions = len({gap.life[:2] for gap in incident.gaps})
    return f"leader changes of {count(partitions, 'partition')} are in no line of these logs"


def _costs(incident: Incident) -> str:
    """Tell in a few words what an incident cost, the worst first."""
    if incident.unclean and incident.kind is not IncidentKind.UNCLEAN:
        return _uncleanly(incident.unclean)
    if incident.costs:
        is_said = incident.kind is IncidentKind.NO_LEADER and not any(each.reason for each in incident.costs)
        return "" if is_said else unled(incident.costs)
    if incident.shortage is not None and incident.shortage.is_proven:
        return "writes with acks=all were refused"
    is_all = incident.kind is IncidentKind.WHOLE_CLUSTER
    return "no line shows a partition without a leader" if incident.absences and not is_all else ""


def _of_kind(incident: Incident, day: date | None) -> Iterator[Sentence]:
    """Yield the second sentence of an incident about no broker that left."""
    since, until = clock(incident.since, day), incident.until
    match incident.kind:
        case IncidentKind.NO_LEADER:
            yield Sentence(f"It began at {since} or before.", _lines(incident))
        case IncidentKind.FAILED_DIRECTORY:
            # The broker's own line comes first, because it names the directory.
            role = incident.failures[0].role
            own = {line.error: line for line in reversed(incident.failures) if line.role == role}
            for failed in reversed(own.values()):
                text = why_and_when(failed, day)
                yield Sentence(f"{text[0].upper()}{text[1:]}.", (failed.line,))
        case IncidentKind.UNDER_REPLICATED:
            is_begun = incident.shortage is None or incident.shortage.is_begun
            yield Sentence(f"It began at {since}{'' if is_begun else ' or before'}.", _lines(incident))
        case IncidentKind.CONTROLLER:
            resigned = incident.changes[0].resigned
            if resigned is not None:
                text = f"The one before had resigned at {clock(resigned.time, day)}; why is unknown."
                yield Sentence(text, (resigned.line,))
        case IncidentKind.OTHER_CLUSTER:
            begun = incident.begun[0]
            ids = f"its id is {begun.after}, that of the one before was {begun.before}"
            yield Sentence(f"It began by {since}: {ids}.", incident.lines)
        case IncidentKind.UNSEEN:
            number = sum(gap.changes for gap in incident.gaps)
            changes = f"{count(number, 'state')} {'has' if number == 1 else 'have'}"
            when = f"Between {since} and {'the end' if until is None else clock(until, day)}"
            if until is not None and until < incident.since:
                when = "At an unknown time (times and leader epochs contradict each other)"
            text = f"{when} at least {changes} no line; whether partitions had no leader is unknown."
            yield Sentence(text, incident.lines)


def _trouble(trouble: Trouble, day: date | None, only: Sequence[int] | frozenset[int]) -> str:
    who, first = node(trouble.broker, only), trouble.first
    when = f"at {clock(first.time, day)}"
    how_often = "" if trouble.times == 1 else f", the first of {trouble.times} times"
    # An error that is a sentence has a full stop of its own.
    reason = f": {first.error.rstrip('.')}" if first.error else ""
    if first.kind == BrokerKind.THREAD_DIED:
        return f"A thread of {who.lower()} had died {when}{how_often}{reason}; whether that is why is unknown"
    return f"{who} could not register {when}{how_often}{reason}"


def _noticed(absence: Absence, day: date | None, only: frozenset[int]) -> str:
    """Tell when a controller acted on a loss, perhaps only when the broker was back."""
    who, when = node(absence.broker, only).lower(), at(absence.noticed, day)
    back, noticed = latest(absence.returned), absence.noticed
    if back is not None and isinstance(noticed, Fact) and back < noticed.value:
        # The clocks of two brokers differ by less than CLOCKS: only beyond that is the order certain.
        after = ", after its return" if back + CLOCKS < noticed.value else ""
        return f"The cluster dealt with the loss of {who} {when}{after}"
    return f"The cluster noticed the loss of {who} {when}"


def is_before_its_end(absence: Absence) -> bool:
    """Return whether the controller dealt with the broker while it ran, or may have, as one that stops."""
    if absence.cause is Cause.LOST_OR_STOPPED:
        return True
    gone, noticed = earliest(absence.gone), latest(absence.noticed)
    return absence.noticed == absence.gone or (gone is not None and noticed is not None and noticed < gone)


def _lines(incident: Incident) -> Lines:
    absent = (line for each in incident.absences for line in _of_absence(incident, each))
    cost = (line for each in incident.costs for line in each.lines)
    unclean = (line for each in incident.unclean for line in each.lines)
    isr = () if incident.shortage is None else _of_shortage(incident.shortage)
    return tuple(dict.fromkeys((*incident.lines, *unclean, *absent, *cost, *isr)))


def _of_absence(incident: Incident, absence: Absence) -> Lines:
    failed = failed_start(incident, absence)
    return absence.lines if failed is None else (*absence.lines, failed.first.line)


def _of_shortage(shortage: Shortage) -> Lines:
    proof = () if shortage.proof is None else (shortage.proof.line,)
    return tuple(dict.fromkeys((*proof, *(step.line for step in shortage.steps), *shortage.lines)))


def _uncleanly(elections: Sequence[UncleanElection]) -> str:
    number = len(elections)
    who, were = count(number, "leader"), "was" if number == 1 else "were"
    return f"{who} not in sync {were} elected: acknowledged records may be lost"


def _unclean(elections: Sequence[UncleanElection], day: date | None) -> str:
    first = elections[0]
    if len(elections) == 1:
        who = f"Broker {first.leader}{', which was not in sync,' if first.isr else ''} was elected leader of"
        how = "" if first.isr else " uncleanly"
        return f"{who} {first.life[0]}-{first.life[1]} {at(first.when, day)}{how}"
    names = sorted({f"{topic}-{partition}" for topic, partition, _ in (each.life for each in elections)})
    return f"They were elected of {partition_names(names)}, the first {at(first.when, day)}"
