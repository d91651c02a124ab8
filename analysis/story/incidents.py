"""Incidents: absences, outages and ISRs that belong together, ranked by what is proven.

One absence is one incident with everything that it cost. Brokers that were gone at the same time, or stopped
one after another in an orderly way (a rolling restart), are parts of one incident.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.accounts import account_of
from barnabas.analysis.story.additions import (
    with_failed_directories,
    with_new_controllers,
    with_shortages,
    with_unclean,
    with_vacancies,
)
from barnabas.analysis.story.brokers import TOGETHER
from barnabas.analysis.story.causes import ORDERLY
from barnabas.analysis.story.certainty import latest
from barnabas.analysis.story.clocks import absence_by_one_clock, clocks_of
from barnabas.analysis.story.clusters import Beginning, beginnings, cluster_folders
from barnabas.analysis.story.controllers import vacancies
from barnabas.analysis.story.costs import Reason, costs_of, worst_first
from barnabas.analysis.story.departures import departure, groups_of, parted
from barnabas.analysis.story.directories import failed_directory
from barnabas.analysis.story.elections import UncleanElection, unclean_choices, unclean_elections
from barnabas.analysis.story.incident import Incident, IncidentKind
from barnabas.analysis.story.lasting import end_of, with_lasting
from barnabas.analysis.story.minimums import minimums_of
from barnabas.analysis.story.nodes import members_of
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.partitions import Gap, History, Outage
from barnabas.analysis.story.rows import BrokerLine, Refusal
from barnabas.analysis.story.troubles import troubles_of

_MOVED = timedelta(seconds=5)
"""The longest time from a controller's line that a broker bounced to that about a leader that it moved."""


def incidents(observed: Observed) -> list[Incident]:
    """Return the incidents, those that are proven and worst first, and of equal ones the latest first."""
    clocks = clocks_of(observed)
    account = with_lasting(account_of(observed, clocks), clocks)
    observed, stories = account.observed, account.stories
    members = members_of(observed)
    found = [absence_by_one_clock(each, clocks) for each in account.found]
    groups = [
        part
        for group in groups_of(found, clocks, cluster_folders(observed.brokers))
        for part in parted(group, found, members)
    ]
    made = [departure(group, found, account.charged, members) for group in groups]
    made.extend(leaderless(account.free, observed))
    made = with_failed_directories(made, observed)
    made = with_new_controllers(made, observed)
    made = with_vacancies(made, vacancies(observed.brokers))
    made = with_shortages(made, stories, minimums_of(observed))
    made = with_unclean(made, _unclean(observed, stories))
    made.extend(_unseen(stories))
    made.extend(_other_clusters(beginnings(observed.brokers)))
    end = end_of(observed)
    whole = (
        replace(
            each,
            lasting=end if each.until is None else None,
            only_controllers=members.only_controllers,
            differences=clocks.differences if _has_times(each) else (),
            is_doubled=_is_doubled(each, observed.repeated),
            troubles=tuple(troubles_of(each.absences, observed)),
        )
        for each in made
    )
    # Of incidents that are equally bad, the latest is the one that a reader most likely asks about.
    latest_first = sorted(whole, key=lambda each: each.since, reverse=True)
    return sorted(latest_first, key=_rank)


def _unclean(observed: Observed, stories: Iterable[History]) -> list[UncleanElection]:
    """Return the unclean elections that states or lines of controllers show."""
    known = list(unclean_elections(observed.states))
    chosen = (line for line in observed.brokers if line.kind == BrokerKind.UNCLEAN_CHOICE)
    return [*known, *unclean_choices(chosen, known, stories)]


def _has_times(incident: Incident) -> bool:
    return bool(incident.absences or incident.costs or incident.shortage or incident.changes)


def _is_doubled(incident: Incident, spans: Iterable[tuple[datetime, datetime]]) -> bool:
    """Return whether an incident began or ended in one of the spans whose local times occurred twice."""
    edges = (incident.since, incident.until or incident.since)
    return any(begin <= edge <= end for begin, end in spans for edge in edges)


def _rank(incident: Incident) -> tuple[int, bool, timedelta, timedelta, int]:
    """Order lost records before writes that are, or were, impossible, and these before everything else.

    Writes that the brokers' setting refused, unless the topic has its own one, come next.
    """
    unplanned = any(each.cause not in ORDERLY for each in incident.absences)
    weight = {
        IncidentKind.NO_LEADER: 1, IncidentKind.UNDER_REPLICATED: 0 if unplanned else 3,
        IncidentKind.CONTROLLER: 4,
        IncidentKind.UNSEEN: 5, IncidentKind.OTHER_CLUSTER: 4,
        IncidentKind.NO_CONTROLLER: 1,
    }.get(incident.kind, 0 if unplanned else 2)  # fmt: skip
    is_over = all(cost.lasting is None for cost in incident.costs)
    return -len(incident.unclean), is_over, -incident.proven, -incident.refusing, weight


def leaderless(free: Sequence[Outage], observed: Observed) -> list[Incident]:
    """Return the outages whose cause no line shows, those that began together as one incident."""
    dated = [(begin, outage) for outage in free if (begin := latest(outage.begin)) is not None]
    groups: list[list[tuple[datetime, Outage]]] = []
    for begin, outage in sorted(dated, key=lambda each: (each[0], each[1].life)):
        if groups and begin <= groups[-1][-1][0] + TOGETHER:
            groups[-1].append((begin, outage))
        else:
            groups.append([(begin, outage)])
    made = []
    for group in groups:
        ends = [latest(outage.end) or outage.shown for _, outage in group]
        known = [end for end in ends if end is not None]
        until = max(known) if len(known) == len(ends) else None
        by_reason = _by_reason(group, observed)
        costs = [
            replace(cost, reason=reason)
            for reason, outages in by_reason.items()
            for cost in costs_of((outage.leader_before, outage) for outage in outages)
        ]
        shown = [each for each in by_reason if isinstance(each, BrokerLine)]
        made.append(
            Incident(
                IncidentKind.NO_LEADER, group[0][0], until,
                costs=tuple(sorted(costs, key=worst_first)),
                failures=tuple(each for each in shown if each.kind != BrokerKind.BOUNCED_UNSEEN),
                bounces=tuple(each for each in shown if each.kind == BrokerKind.BOUNCED_UNSEEN),
                refusals=tuple(each for each in by_reason if isinstance(each, Refusal)),
                lines=tuple(each.line for each in by_reason if each is not None),
            )
        )  # fmt: skip
    return made


def _by_reason(
    group: Iterable[tuple[datetime, Outage]], observed: Observed
) -> dict[Reason | None, list[Outage]]:
    """Group outages by the reason.

    Of each broker that does not lead the first line stands for all.
    """
    reasons = [(_reason(outage, begin, observed), outage) for begin, outage in group]
    refusals = (reason for reason, _ in reasons if isinstance(reason, Refusal))
    first: dict[int, Refusal] = {}
    for each in sorted(refusals, key=lambda refusal: refusal.time):
        first.setdefault(each.broker, each)
    grouped: dict[Reason | None, list[Outage]] = {}
    for reason, outage in reasons:
        shown = first[reason.broker] if isinstance(reason, Refusal) else reason
        grouped.setdefault(shown, []).append(outage)
    return grouped


def _reason(outage: Outage, begin: datetime, observed: Observed) -> Reason | None:
    """Return why a broker that stayed did not lead, or nobody did; None if no line shows it.

    The line about its log directory says more than the one that it refuses to lead.
    """
    if outage.leader_before is None:
        return None
    return (
        failed_directory(outage.leader_before, begin, observed)
        or outage.refusal
        or _bounced(outage.leader_before, begin, observed)
    )


def _bounced(broker: int, begin: datetime, observed: Observed) -> BrokerLine | None:
    """Return the line of a new controller that took leaders from a broker which had registered again."""
    lines = observed.about_within(broker, BrokerKind.BOUNCED_UNSEEN, begin - _MOVED, begin)
    return lines[-1] if lines else None


def _other_clusters(found: Sequence[Beginning]) -> list[Incident]:
    """Return one incident for each cluster that began on the hosts of another one."""
    by_ids: dict[tuple[str, str], list[Beginning]] = {}
    for each in found:
        by_ids.setdefault((each.before, each.after), []).append(each)
    return [
        Incident(
            IncidentKind.OTHER_CLUSTER, group[0].named, group[-1].named, begun=tuple(group),
            lines=tuple(line for each in group for line in each.lines),
        )
        for group in by_ids.values()
    ]  # fmt: skip


def _unseen(stories: Sequence[History]) -> list[Incident]:
    gaps: list[Gap] = [gap for story in stories for gap in story.gaps]
    if not gaps:
        return []
    return [
        Incident(
            IncidentKind.UNSEEN, min(gap.since for gap in gaps), max(gap.until for gap in gaps),
            gaps=tuple(gaps), lines=max(gaps, key=lambda gap: gap.changes).lines,
        )
    ]  # fmt: skip
