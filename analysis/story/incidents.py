"""Incidents: absences, outages and ISRs that belong together, ranked by what is proven.

One absence is one incident with everything that it cost. Brokers that were gone at the same time, or stopped
one after another in an orderly way (a rolling restart), are parts of one incident.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.brokers import (
    Absence,
    Cause,
    absences,
    begin_of,
    failed_directory,
    with_controllers,
)
from barnabas.analysis.story.certainty import Lines, earliest, latest, moment
from barnabas.analysis.story.clusters import Beginning, beginnings
from barnabas.analysis.story.costs import Cost, costs_of, least
from barnabas.analysis.story.elections import UncleanElection, unclean_elections
from barnabas.analysis.story.observed import CLOCKS, BrokerLine, Controller, Observed
from barnabas.analysis.story.partitions import Gap, History, Outage, histories
from barnabas.analysis.story.restarts import with_restarts, without_dead_leaders
from barnabas.analysis.story.shortages import (
    Minimums,
    Period,
    Shortage,
    minimums_of,
    refused,
    short_periods,
    shortage_of,
)
from barnabas.cluster.model.statechange import Kind


class IncidentKind(StrEnum):
    """The kinds of incident."""

    DEPARTURE = "a broker left"
    SEVERAL = "several brokers left"
    ROLLING_RESTART = "rolling restart"
    WHOLE_CLUSTER = "the whole cluster stopped"
    NO_LEADER = "partitions without a leader"
    UNDER_REPLICATED = "replicas out of sync"
    CONTROLLER = "another controller"
    UNSEEN = "unseen changes"
    UNCLEAN = "unclean elections"
    OTHER_CLUSTER = "another cluster"


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that happened, with everything that it cost.

    Attributes:
        kind: What it is about.
        since: When it began, at the latest.
        until: When it was over; None if no line shows that.
        absences: The brokers that left, in their order.
        costs: The partitions that had no leader, the longest first.
        shortage: The partitions that were short of replicas; None if none was.
        controller: The controller that took over; None if the controller stayed.
        former_controller: The last controller known before.
        unseen_epochs: The controller epochs between the two, of which no line names a controller. A KRaft
            election without a winner raises the epoch, too.
        gaps: The number of unseen leader changes, at least, and the partitions they concern.
        failures: The lines about log directories that failed, because of which partitions had no leader.
        unclean: The elections of leaders that were not in sync.
        begun: The first starts of brokers in another cluster than before.
        lines: Lines that prove what no part proves.
    """

    kind: IncidentKind
    since: datetime
    until: datetime | None
    absences: tuple[Absence, ...] = ()
    costs: tuple[Cost, ...] = ()
    shortage: Shortage | None = None
    controller: Controller | None = None
    former_controller: int | None = None
    unseen_epochs: int = 0
    gaps: tuple[int, int] = (0, 0)
    failures: tuple[BrokerLine, ...] = ()
    unclean: tuple[UncleanElection, ...] = ()
    begun: tuple[Beginning, ...] = ()
    lines: Lines = ()

    @property
    def proven(self) -> timedelta:
        """Return the time for which writes were impossible, as far as it is proven.

        It is the time without a leader, summed over the partitions, and the time in which the worst of those
        that were short of replicas refused writes with acks=all.
        """
        without = (least(cost.duration) * len(cost.partitions) for cost in self.costs)
        return sum(without, timedelta(0)) + (refused(self.shortage) if self.shortage else timedelta(0))


_TOGETHER = timedelta(seconds=30)
"""Brokers that leave within this time of each other, or of a return, are parts of one incident."""

_ROLLING = timedelta(minutes=10)
"""The longest pause between two orderly stops of one rolling restart."""

_ORDERLY = (Cause.PLANNED, Cause.STOPPED, Cause.NOT_GRANTED)


def incidents(observed: Observed) -> list[Incident]:
    """Return the incidents, those that are proven and worst first."""
    stories = histories(observed)
    shown = [line for story in stories for outage in story.outages for line in _shown(outage, observed)]
    seen = replace(observed, brokers=(*observed.brokers, *shown))
    found = with_controllers(absences(seen), observed.controllers)
    stories = [without_dead_leaders(with_restarts(story, found), found) for story in stories]
    charged: dict[int, list[Outage]] = {}
    free: list[Outage] = []
    for story in stories:
        for outage in story.outages:
            index = _charged_to(outage, found)
            if index is None:
                free.append(outage)
            else:
                charged.setdefault(index, []).append(_refined(outage, found[index]))
    made = [_departure(group, found, charged, observed) for group in _groups(found)]
    made.extend(_leaderless(free, observed))
    made = _with_controllers(made, observed.controllers)
    made = _with_shortages(made, stories, minimums_of(observed))
    made = _with_unclean(made, list(unclean_elections(observed.states)))
    made.extend(_unseen(stories))
    made.extend(_other_clusters(beginnings(observed.brokers)))
    return sorted(made, key=_rank)


def _rank(incident: Incident) -> tuple[int, timedelta, int, datetime]:
    """Order lost records before writes that were impossible, and these before everything else."""
    unplanned = any(each.cause not in _ORDERLY for each in incident.absences)
    weight = {
        IncidentKind.NO_LEADER: 1, IncidentKind.UNDER_REPLICATED: 3, IncidentKind.CONTROLLER: 4,
        IncidentKind.UNSEEN: 5, IncidentKind.OTHER_CLUSTER: 4,
    }.get(incident.kind, 0 if unplanned else 2)  # fmt: skip
    return -len(incident.unclean), -incident.proven, weight, incident.since


def _shown(outage: Outage, observed: Observed) -> list[BrokerLine]:
    """Return the facts about brokers in an outage: its leader was gone, and is back if it leads again.

    The failure of a log directory takes leaders from a broker that stays.
    """
    begin, back = latest(outage.begin), outage.shown
    if outage.leader_before is None or begin is None or not outage.begin.lines:
        return []
    if failed_directory(outage.leader_before, begin, observed) is not None:
        return []
    gone = BrokerLine(
        begin, Kind.ISR_REMOVAL, "controller", None, outage.leader_before, line=outage.begin.lines[0]
    )
    if outage.leader_after != outage.leader_before or back is None or not outage.end.lines:
        return [gone]
    line = outage.end.lines[0]
    return [gone, gone._replace(time=back, kind=Kind.LEADER_AND_ISR_SENDING, line=line)]


def _charged_to(outage: Outage, found: Sequence[Absence]) -> int | None:
    """Return the absence because of which a partition lost its leader."""
    time = latest(outage.begin)
    if outage.leader_before is None or time is None:
        return None
    distances = [
        (_distance(absence, time), -index)
        for index, absence in enumerate(found)
        if absence.broker == outage.leader_before
    ]
    nearest = min(distances, default=None)
    return None if nearest is None or nearest[0] > CLOCKS else -nearest[1]


def _distance(absence: Absence, time: datetime) -> timedelta:
    """Return how far a moment is from an absence; a controller's lines may be a little earlier or later."""
    # A broker that stops loses its leaders before its process ends.
    known = [each for each in (absence.stopping, earliest(absence.gone)) if each is not None]
    begin = min(known, default=begin_of(absence))
    end = latest(absence.returned)
    return max(begin - time, timedelta(0) if end is None else time - end, timedelta(0))


def _refined(outage: Outage, absence: Absence) -> Outage:
    """Bound the begin of an outage by the end of its leader, and its end by that leader's next start."""
    known, led = latest(outage.begin), latest(outage.end)
    is_same = outage.leader_after == absence.broker and absence.started is not None
    if is_same and led is not None and earliest(outage.end) is None:
        # A broker that is starting does not lead.
        outage = replace(outage, end=moment(absence.started, led, outage.end.lines, ""))
    if absence.cause is Cause.PLANNED:
        begin = moment(absence.stopping, known, outage.begin.lines, "")
        return replace(outage, begin=begin)
    if absence.cause is Cause.LOST_SESSION:
        # Without a session it may serve its clients until a controller has given its leaders up.
        since = earliest(absence.gone) or earliest(outage.begin)
        begin = moment(since, known, (*outage.begin.lines, *absence.gone.lines), "")
        return replace(outage, begin=begin)
    if absence.cause in _ORDERLY:
        since = absence.stopping or earliest(absence.gone)
        most = latest(absence.gone) or known
        if outage.leader_after == absence.broker:
            known = most  # Until it stops it may serve clients, although its controller has given it up.
    else:
        since, most = earliest(absence.gone), latest(absence.gone) or known
    if most is not None and known is not None:
        most = min(most, known)
    if since is not None and most is not None and since > most:
        since = None
    return replace(outage, begin=moment(since, most, (*outage.begin.lines, *absence.gone.lines), ""))


def _groups(found: Sequence[Absence]) -> list[list[int]]:
    groups: list[list[int]] = []
    end: datetime | None = None
    for index, absence in enumerate(found):
        begin = begin_of(absence)
        last = found[groups[-1][-1]] if groups else None
        is_rolling = (
            last is not None and last.cause in _ORDERLY and absence.cause in _ORDERLY
            and last.broker != absence.broker and end is not None and begin <= end + _ROLLING
        )  # fmt: skip
        is_same = last is not None and last.broker == absence.broker
        if groups and end is not None and (is_rolling or (begin <= end + _TOGETHER and not is_same)):
            groups[-1].append(index)
            end = max(end, latest(absence.returned) or begin)
        else:
            groups.append([index])
            end = latest(absence.returned) or begin
    return groups


def _departure(
    group: Sequence[int], found: Sequence[Absence], charged: dict[int, list[Outage]], observed: Observed
) -> Incident:
    members = tuple(found[index] for index in group)
    outages = [(found[index].broker, outage) for index in group for outage in charged.get(index, ())]
    costs = costs_of(outages)
    ends = [latest(each.returned) for each in members]
    known = [end for end in ends if end is not None]
    return Incident(
        kind=_kind(members, observed),
        since=min(begin_of(each) for each in members),
        until=max(known) if len(known) == len(ends) else None,
        absences=members,
        costs=costs,
    )


def _kind(members: Sequence[Absence], observed: Observed) -> IncidentKind:
    brokers = {each.broker for each in members}
    known = _brokers(observed)
    is_all = len(brokers) > 1 or any(line.live for line in observed.brokers)
    if is_all and brokers >= known and _all_at_once(members, known):
        return IncidentKind.WHOLE_CLUSTER
    if len(brokers) == 1:
        return IncidentKind.DEPARTURE
    if all(each.cause in _ORDERLY for each in members) and _are_apart(members):
        return IncidentKind.ROLLING_RESTART
    return IncidentKind.SEVERAL


def _are_apart(members: Sequence[Absence]) -> bool:
    """Return whether the lines prove that each broker left only after the one before had returned."""
    by_time = sorted(members, key=begin_of)
    return (
        all(
            (back := latest(before.returned)) is not None
            and (left := after.stopping or earliest(after.gone)) is not None
            and back <= left
            for before, after in pairwise(by_time)
        )
        and latest(by_time[-1].returned) is not None
    )


_OF_KRAFT = (
    BrokerKind.BROKER_REGISTERED, BrokerKind.BROKER_UNREGISTERED, BrokerKind.BROKER_FENCED,
    BrokerKind.BROKER_UNFENCED, BrokerKind.BROKER_STOP_GRANTED,
)  # fmt: skip


def _brokers(observed: Observed) -> set[int]:
    """Return the brokers that the lines name; all of them, if a controller's list names them.

    A controller of KRaft need not be a broker; ZooKeeper's is one.
    """
    is_kraft = any(
        line.kind in _OF_KRAFT or any(each.startswith("process.roles=") for each in line.settings)
        for line in observed.brokers
    )
    known = set(observed.as_brokers if is_kraft else observed.spoken)
    for line in observed.brokers:
        known.update((*line.live, *line.added, *line.lost))
        if line.kind in _OF_KRAFT and line.subject is not None:
            known.add(line.subject)
    for state in observed.states:
        known.update(state.replicas or ())
    return known


def _all_at_once(members: Sequence[Absence], brokers: set[int]) -> bool:
    """Return whether at some moment every broker was gone."""
    times = [begin_of(each) for each in members]
    return any(brokers <= {each.broker for each in members if is_gone(each, time)} for time in times)


def is_gone(absence: Absence, time: datetime) -> bool:
    """Return whether the lines prove that a broker was gone at a moment."""
    begin, back = begin_of(absence), earliest(absence.returned)
    has_returned = latest(absence.returned) is not None
    return begin <= time and (time <= back if back is not None else not has_returned or time == begin)


def are_overlapping(members: Sequence[Absence]) -> bool:
    """Return whether the lines prove that each broker left while one that had left before was still gone."""
    return all(
        any(is_gone(other, begin_of(each)) for other in members[:index])
        for index, each in enumerate(members)
        if index
    )


def _leaderless(free: Sequence[Outage], observed: Observed) -> list[Incident]:
    """Return the outages whose cause no line shows, those that began together as one incident."""
    dated = [(begin, outage) for outage in free if (begin := latest(outage.begin)) is not None]
    groups: list[list[tuple[datetime, Outage]]] = []
    for begin, outage in sorted(dated, key=lambda each: (each[0], each[1].life)):
        if groups and begin <= groups[-1][-1][0] + _TOGETHER:
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
        lines = tuple(line.line for line in failures)
        made.append(
            Incident(IncidentKind.NO_LEADER, group[0][0], until, costs=costs, failures=failures, lines=lines)
        )
    return made


def _with_controllers(made: Sequence[Incident], controllers: Sequence[Controller]) -> list[Incident]:
    """Add each change of the controller to the incident in which the former one left, or as its own."""
    changed = list(made)
    for before, after in pairwise(controllers):
        if before.broker == after.broker or after.epoch <= before.epoch:
            continue
        unseen = after.epoch - before.epoch - 1
        new = after._replace(lines=(*after.lines, *before.lines))
        fitting = [
            (not each.was_controller, abs(begin_of(each) - after.since), index)
            for index, incident in enumerate(changed)
            for each in incident.absences
            if each.broker == before.broker
            and (each.was_controller or not unseen)
            and begin_of(each) - _TOGETHER
            <= after.since
            <= (latest(each.returned) or begin_of(each)) + _TOGETHER
        ]
        if fitting:
            *_, index = min(fitting)
            changed[index] = replace(
                changed[index], controller=new, former_controller=before.broker, unseen_epochs=unseen
            )
        else:
            changed.append(
                Incident(
                    IncidentKind.CONTROLLER, after.since, after.since, controller=new,
                    former_controller=before.broker, unseen_epochs=unseen, lines=new.lines,
                )
            )  # fmt: skip
    return changed


def _with_shortages(
    made: Sequence[Incident], stories: Sequence[History], minimums: Minimums
) -> list[Incident]:
    periods = sorted(
        (period for story in stories for period in short_periods(story)), key=lambda each: each[1][0].since
    )
    taken: dict[int, list[Period]] = {}
    free: list[list[Period]] = []
    for story, steps in periods:
        fitting = [index for index, incident in enumerate(made) if _is_during(incident, steps[0].since)]
        if fitting:
            taken.setdefault(fitting[-1], []).append((story, steps))
        elif free and steps[0].since <= free[-1][-1][1][0].since + _TOGETHER:
            free[-1].append((story, steps))
        else:
            free.append([(story, steps)])
    changed = [
        replace(incident, shortage=shortage_of(taken[index], minimums)) if index in taken else incident
        for index, incident in enumerate(made)
    ]
    for group in free:
        ends = [steps[-1].until for _, steps in group]
        until = None if None in ends else max(end for end in ends if end is not None)
        shortage = shortage_of(group, minimums)
        changed.append(
            Incident(IncidentKind.UNDER_REPLICATED, group[0][1][0].since, until, shortage=shortage)
        )
    return changed


def _with_unclean(made: Sequence[Incident], found: Sequence[UncleanElection]) -> list[Incident]:
    """Add each unclean election to the latest incident that it belongs to, or those left as one incident."""
    taken: dict[int, list[UncleanElection]] = {}
    free: list[UncleanElection] = []
    for each in sorted(found, key=lambda each: (each.time, each.life)):
        fitting = [
            (incident.since, index) for index, incident in enumerate(made) if _is_during(incident, each.time)
        ]
        if fitting:
            taken.setdefault(max(fitting)[1], []).append(each)
        else:
            free.append(each)
    changed = [replace(incident, unclean=tuple(taken.get(index, ()))) for index, incident in enumerate(made)]
    if free:
        since, until = free[0].time, free[-1].time
        changed.append(Incident(IncidentKind.UNCLEAN, since, until, unclean=tuple(free)))
    return changed


def _is_during(incident: Incident, time: datetime) -> bool:
    if not incident.absences and not incident.costs:
        return False
    begins = [each.stopping or earliest(each.gone) or incident.since for each in incident.absences]
    since = min(begins, default=incident.since)
    return since - CLOCKS <= time <= (incident.until or incident.since) + _TOGETHER


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
            gaps=(sum(gap.changes for gap in gaps), len({gap.life for gap in gaps})),
            lines=max(gaps, key=lambda gap: gap.changes).lines,
        )
    ]  # fmt: skip
