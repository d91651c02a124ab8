"""Incidents: absences, outages and ISRs that belong together, ranked by what is proven.

One absence is one incident with everything that it cost. Brokers that were gone at the same time, or stopped
one after another in an orderly way (a rolling restart), are parts of one incident.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from barnabas.analysis.story.additions import (
    with_new_controllers,
    with_shortages,
    with_unclean,
    with_vacancies,
)
from barnabas.analysis.story.brokers import absences, failed_directory
from barnabas.analysis.story.causes import ORDERLY
from barnabas.analysis.story.certainty import latest
from barnabas.analysis.story.charges import Charging, refined, shown_by
from barnabas.analysis.story.clusters import Beginning, beginnings
from barnabas.analysis.story.controllers import vacancies
from barnabas.analysis.story.costs import costs_of
from barnabas.analysis.story.departures import departure, groups_of
from barnabas.analysis.story.elections import unclean_elections
from barnabas.analysis.story.incident import TOGETHER, Incident, IncidentKind
from barnabas.analysis.story.nodes import members_of
from barnabas.analysis.story.observed import Observed, Refusal
from barnabas.analysis.story.partitions import Gap, History, Outage, histories
from barnabas.analysis.story.restarts import departed, with_restarts, without_dead_leaders
from barnabas.analysis.story.shortages import minimums_of
from barnabas.analysis.story.tenures import with_controllers
from barnabas.analysis.story.troubles import troubles_of


def incidents(observed: Observed) -> list[Incident]:
    """Return the incidents, those that are proven and worst first."""
    stories = histories(observed)
    shown = [line for story in stories for outage in story.outages for line in shown_by(outage, observed)]
    seen = replace(observed, brokers=(*observed.brokers, *shown))
    found = with_controllers(absences(seen), observed.controllers)
    gone = departed(found)
    stories = [without_dead_leaders(with_restarts(story, gone), gone) for story in stories]
    charging = Charging(found)
    charged: dict[int, list[Outage]] = {}
    free: list[Outage] = []
    for story in stories:
        for outage in story.outages:
            index = charging.charged_to(outage)
            if index is None:
                free.append(outage)
            else:
                charged.setdefault(index, []).append(refined(outage, found[index]))
    members = members_of(observed)
    made = [departure(group, found, charged, members) for group in groups_of(found)]
    made.extend(leaderless(free, observed))
    made = with_new_controllers(made, observed)
    made = with_vacancies(made, vacancies(observed.brokers))
    made = with_shortages(made, stories, minimums_of(observed))
    made = with_unclean(made, list(unclean_elections(observed.states)))
    made.extend(_unseen(stories))
    made.extend(_other_clusters(beginnings(observed.brokers)))
    whole = (
        replace(
            each,
            only_controllers=members.only_controllers,
            troubles=tuple(troubles_of(each.absences, observed)),
        )
        for each in made
    )
    return sorted(whole, key=_rank)


def _rank(incident: Incident) -> tuple[int, timedelta, int, datetime]:
    """Order lost records before writes that were impossible, and these before everything else."""
    unplanned = any(each.cause not in ORDERLY for each in incident.absences)
    weight = {
        IncidentKind.NO_LEADER: 1, IncidentKind.UNDER_REPLICATED: 3, IncidentKind.CONTROLLER: 4,
        IncidentKind.UNSEEN: 5, IncidentKind.OTHER_CLUSTER: 4, IncidentKind.NO_CONTROLLER: 1,
    }.get(incident.kind, 0 if unplanned else 2)  # fmt: skip
    return -len(incident.unclean), -incident.proven, weight, incident.since


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
        costs = costs_of((outage.leader_before, outage) for _, outage in group)
        failures = tuple(
            dict.fromkeys(
                line
                for begin, outage in group
                if outage.leader_before is not None
                and (line := failed_directory(outage.leader_before, begin, observed)) is not None
            )
        )
        refusals = _refusals((outage for _, outage in group), {line.subject for line in failures})
        made.append(
            Incident(
                IncidentKind.NO_LEADER, group[0][0], until, costs=costs, failures=failures, refusals=refusals,
                lines=(*(each.line for each in failures), *(each.line for each in refusals)),
            )
        )  # fmt: skip
    return made


def _refusals(outages: Iterable[Outage], named: Collection[int | None]) -> tuple[Refusal, ...]:
    """Return the first line of each broker that it does not lead; of brokers in ``named`` others say why."""
    first: dict[int, Refusal] = {}
    found = (each.refusal for each in outages if each.refusal is not None)
    for refusal in sorted(found, key=lambda each: each.time):
        first.setdefault(refusal.broker, refusal)
    return tuple(each for broker, each in first.items() if broker not in named)


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
