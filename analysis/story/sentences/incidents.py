"""The sentences of an incident; a fact, a bound and an unknown never read alike."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Fact, Lines, Unknown, earliest, latest
from barnabas.analysis.story.costs import Cost, Reason
from barnabas.analysis.story.elections import UncleanElection
from barnabas.analysis.story.incident import Incident, IncidentKind
from barnabas.analysis.story.observed import CLOCKS
from barnabas.analysis.story.rows import Mark, Refusal
from barnabas.analysis.story.sentences.absences import failed_start, left, returned
from barnabas.analysis.story.sentences.clocks import clocks_differ
from barnabas.analysis.story.sentences.controllers import elected, vacant
from barnabas.analysis.story.sentences.costs import all_suffered, failed_elections, suffered
from barnabas.analysis.story.sentences.fetchers import (
    dead_fetchers,
    died_alone,
    lost_followers,
    lost_leaders,
    out_of_contact,
)
from barnabas.analysis.story.sentences.reasons import (
    OFFLINE_DIRECTORY,
    failed_directories,
    failed_directory,
    refused,
    with_reason,
)
from barnabas.analysis.story.sentences.shortages import refused_writes, short
from barnabas.analysis.story.sentences.together import one_by_one, several, whole_cluster
from barnabas.analysis.story.shortages import Shortage
from barnabas.analysis.story.troubles import Trouble
from barnabas.analysis.story.words import (
    at,
    brokers_of,
    clock,
    count,
    node,
    nodes,
    partition_names,
)


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
    costs = f"{_costs(incident, day, others_cost=others_cost)}{_alone(incident)}"
    text = f"{_happened(incident, day)}{unclean}{parting}{costs}."
    if incident.is_doubled:
        text = (
            f"{text[:-1]}; its times are of an hour that clocks showed twice, so each may be an hour off, "
            "and their order another."
        )
    return Sentence(text[0].upper() + text[1:], lines)


def details(incident: Incident, day: date | None = None) -> list[Sentence]:
    """Return the sentences after the first: brokers, controller, groups of partitions, the ISR."""
    found: list[Sentence] = []
    only = incident.only_controllers
    if len(incident.absences) > 1:
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
    if incident.absences:
        found.extend(
            Sentence(f"{elected(change, day, only)}.", change.new.lines) for change in incident.changes
        )
        found.extend(Sentence(f"{vacant(each, day, only)}.", each.lines) for each in incident.vacancies)
    if len(incident.costs) > 1 or any(cost.failed for cost in incident.costs):
        for cost in incident.costs:
            names = f": {partition_names(cost.partitions)}" if len(cost.partitions) > 1 else ""
            text = f"{suffered(cost, day)}{failed_elections(cost)}{names}"
            if len(_reasons(incident)) > 1:
                text = with_reason(cost.reason, text, day)
                text = text[0].upper() + text[1:]
            proof = () if cost.reason is None else (cost.reason.line,)
            found.append(Sentence(f"{text}.", (*proof, *cost.lines)))
    found.extend(_refused_meanwhile(incident.costs, day))
    shortage = incident.shortage
    if shortage is not None and incident.kind is not IncidentKind.UNDER_REPLICATED:
        may_be_removed = incident.offline or shortage.removable
        unless = ", unless the replicas were removed" if may_be_removed else ""
        found.append(Sentence(f"In sync{unless}: {short(shortage)}.", _of_shortage(shortage)))
    if incident.differences or incident.set_backs:
        own = tuple(each.line for each in incident.set_backs)
        text = clocks_differ(
            incident.differences, incident.set_backs, only, day, is_doubled=incident.is_doubled
        )
        found.append(Sentence(text, (*own, *_lines(incident))))
    return found


def _trouble(trouble: Trouble, day: date | None, only: Collection[int]) -> str:
    who, first = node(trouble.broker, only), trouble.first
    when = f"at {clock(first.time, day)}"
    how_often = "" if trouble.times == 1 else f", the first of {trouble.times} times"
    # An error that is a sentence has a full stop of its own.
    why = f": {first.error.rstrip('.')}" if first.error else ""
    if first.kind == BrokerKind.THREAD_DIED:
        return f"A thread of {who.lower()} had died {when}{how_often}{why}; whether that is why is unknown"
    return f"{who} could not register {when}{how_often}{why}"


def _noticed(absence: Absence, day: date | None, only: Collection[int]) -> str:
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
    fetching = (*incident.fetchers, *incident.lost_leaders, *incident.lost_followers)
    isr = (*(each.line for each in fetching), *isr, *(each.line for each in incident.alone))
    return tuple(dict.fromkeys((*incident.lines, *unclean, *absent, *cost, *isr)))


def _of_absence(incident: Incident, absence: Absence) -> Lines:
    failed = failed_start(incident, absence)
    return absence.lines if failed is None else (*absence.lines, failed.first.line)


def _of_shortage(shortage: Shortage) -> Lines:
    proof = (each.line for each in (shortage.refusal, shortage.mark) if each is not None)
    return tuple(dict.fromkeys((*proof, *(step.line for step in shortage.steps), *shortage.lines)))


def _happened(incident: Incident, day: date | None) -> str:
    only = incident.only_controllers
    names = nodes(sorted({each.broker for each in incident.absences}), only)
    since = clock(incident.since, day)
    match incident.kind:
        case IncidentKind.DEPARTURE:
            first = incident.absences[0]
            return f"{left(first, day, only)}{returned(incident, first, day)}"
        case IncidentKind.ROLLING_RESTART:
            return one_by_one(incident, names, day)
        case IncidentKind.WHOLE_CLUSTER:
            return whole_cluster(incident, names, day)
        case IncidentKind.SEVERAL:
            return several(incident, names, day)
        case IncidentKind.NO_LEADER:
            return f"At {since} or before {_leaderless(incident, day)}"
        case IncidentKind.FAILED_DIRECTORY:
            return failed_directories(incident.failures, day)
        case IncidentKind.UNDER_REPLICATED:
            return _out_of_sync(incident, day)
        case IncidentKind.OFFLINE_REPLICAS:
            who, they = nodes(incident.offline, only), "it" if len(incident.offline) == 1 else "they"
            return (
                f"A controller took replicas of {who} offline at {since}: {they} left, or the replicas were "
                "removed (by a reassignment or a deletion)"
            )
        case IncidentKind.UNCLEAN:
            return "Leaders were elected that were not in sync"
        case IncidentKind.CONTROLLER | IncidentKind.NO_CONTROLLER:
            return _about_controllers(incident, day)
        case IncidentKind.SECOND_PROCESS | IncidentKind.OUT_OF_CONTACT | IncidentKind.DEAD_FETCHER:
            return _about_brokers(incident, day)
    return _unseen(incident, day)


def _out_of_sync(incident: Incident, day: date | None) -> str:
    """Tell when replicas fell out of sync, and what lines show of the cause."""
    since = clock(incident.since, day)
    is_begun = incident.shortage is None or incident.shortage.is_begun
    may_be_removed = incident.shortage is not None and incident.shortage.removable
    removed = " or were removed (by a reassignment)" if may_be_removed else ""
    when = f"at {since}{'' if is_begun else ' or before'}"
    why = f"{dead_fetchers(incident.fetchers, day)}{lost_leaders(incident.lost_leaders)}"
    followers = sorted({each.subject for each in incident.lost_followers if each.subject is not None})
    whose = f" of {brokers_of(followers)}" if followers else ""
    why += lost_followers(incident.lost_followers, followers, day)
    return f"Replicas{whose} fell out of sync{removed} {when}{why}"


def _unseen(incident: Incident, day: date | None) -> str:
    """Tell of changes of leaders that no line shows."""
    since, until = clock(incident.since, day), incident.until
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
    is_one = len({name for cost in incident.costs for name in cost.partitions}) == 1
    if reasons and all(are_new):
        return f"{'a partition was' if is_one else 'partitions were'} created of which no replica was alive"
    lost = "a partition lost its leader" if is_one else "partitions lost their leaders"
    if len(reasons) > 1:
        return f"{'a partition' if is_one else 'partitions'} had no leader" if any(are_new) else lost
    causes = [
        *(failed_directory(each, day) for each in (*incident.failures, *incident.bounces)),
        *(refused(each, day) for each in incident.refusals),
    ]
    why = f": {', '.join(causes)}" if causes else "; no line shows why"
    return f"{lost}{why}"


def _about_controllers(incident: Incident, day: date | None) -> str:
    if incident.vacancies:
        return vacant(incident.vacancies[0], day, incident.only_controllers)
    (change,) = incident.changes
    why = "why that one ceased to be controller is unknown"
    if change.resigned is not None:
        again = ""
        if change.restarted is not None:
            again = f", and its process started again by {clock(change.restarted.time, day)}"
        why = f"that one had resigned at {clock(change.resigned.time, day)}{again}; why is unknown"
    return f"{elected(change, day, incident.only_controllers)}; {why}"


def _about_brokers(incident: Incident, day: date | None) -> str:
    """Tell of threads that died, a broker that others could not reach, or processes that were refused."""
    if incident.fetchers:
        return died_alone(incident.fetchers, day)
    if incident.unreached is not None:
        return out_of_contact(incident.unreached, incident.only_controllers, day)
    first, last, number = incident.refused[0], incident.refused[-1], len(incident.refused)
    who = f"A process that was started as broker {first.broker} gave up at"
    if number > 1:
        who = f"{number} processes that were started as broker {first.broker} gave up, the last at"
    return f"{who} {clock(last.gave_up, day)}: another process was registered (DUPLICATE_BROKER_REGISTRATION)"


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
        f"{len(elections):,} leaders that were not in sync were elected of {partition_names(names)}, "
        f"the first {at(first.when, day)}: {lost}"
    )


def _reasons(incident: Incident) -> list[Reason | None]:
    """Return why partitions without a leader had none, in the order of the costs; none of other incidents."""
    if incident.kind is not IncidentKind.NO_LEADER:
        return []
    return list(dict.fromkeys(cost.reason for cost in incident.costs))


def _refused_meanwhile(costs: Iterable[Cost], day: date | None) -> Iterator[Sentence]:
    """Generate for each broker that was elected and refused to lead a sentence with its partitions."""
    by_broker: dict[int, list[Refusal]] = {}
    for cost in costs:
        for each in cost.refusals:
            by_broker.setdefault(each.broker, []).append(each)
    for broker, own in sorted(by_broker.items()):
        first = min(own, key=lambda each: each.time)
        names = partition_names(sorted({f"{each.topic}-{each.partition}" for each in own}))
        text = (
            f"Broker {broker}, which was elected meanwhile, refused to lead {at(Fact(first.time), day)} "
            f"{OFFLINE_DIRECTORY}: {names}."
        )
        yield Sentence(text, (first.line,))


def _alone(incident: Incident) -> str:
    """Tell of which partitions no line shows what happened, as only a broker that is gone could log it."""
    names = sorted({f"{topic}-{partition}" for topic, partition, _ in (each.life for each in incident.alone)})
    if not names:
        return ""
    has = "has" if len(names) == 1 else "have"
    unknown = f"whether {partition_names(names)} {has} had a leader since is unknown"
    return f"; {unknown}: no other replica was in sync"


def _costs(incident: Incident, day: date | None, *, others_cost: bool) -> str:
    reasons = _reasons(incident)
    if len(reasons) > 1:
        per_reason = [
            all_suffered([each for each in incident.costs if each.reason == reason], day)
            for reason in reasons
        ]
        clauses = zip(reasons, per_reason, strict=True)
        return "; ".join(with_reason(reason, text, day) for reason, text in clauses)
    if incident.costs:
        absences = incident.absences
        is_named = len(absences) == 1 and not isinstance(absences[0].returned, Unknown)
        return all_suffered(incident.costs, day, is_named=is_named)
    match incident.kind:
        case IncidentKind.UNDER_REPLICATED if incident.shortage is not None:
            unless = "unless they were removed, " if incident.shortage.removable else ""
            return f"{unless}{short(incident.shortage)}"
        case IncidentKind.UNSEEN:
            return "whether partitions had no leader meanwhile is unknown"
        case IncidentKind.CONTROLLER | IncidentKind.SECOND_PROCESS:
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
    refusal = "" if incident.shortage is None else refused_writes(incident.shortage)
    none = f"no line shows a partition without a leader{' because of that' if others_cost else ''}"
    return f"{refusal}; {none}" if refusal else none
