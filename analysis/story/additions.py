"""Controllers, ISRs and unclean elections, added to the incidents that they belong to.

What belongs to none becomes an incident of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence, begin_of, known_end
from barnabas.analysis.story.certainty import earliest, latest
from barnabas.analysis.story.controllers import Vacancy, changes_of
from barnabas.analysis.story.elections import UncleanElection
from barnabas.analysis.story.incident import TOGETHER, Incident, IncidentKind
from barnabas.analysis.story.intervals import Intervals
from barnabas.analysis.story.isr import IsrStep
from barnabas.analysis.story.minimums import Minimums
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.partitions import History
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.shortages import Period, Shortage, short_periods, shortage_of

_SLOW = timedelta(minutes=10)
"""The longest time for which a controller handles the loss of a broker of whose return no line shows."""


def with_new_controllers(made: Sequence[Incident], observed: Observed) -> list[Incident]:
    """Add each change of the controller to the incident in which the former one left, or as its own."""
    changed = list(made)
    spans: dict[int, list[tuple[datetime, datetime, tuple[int, Absence]]]] = {}
    for number, incident in enumerate(made):
        for each in incident.absences:
            begin = begin_of(each)
            # That the controller was gone may first show when its successor has long been elected.
            since = earliest(each.gone) if each.was_controller else None
            span = (since or begin, known_end(each) or begin, (number, each))
            spans.setdefault(each.broker, []).append(span)
    absent = {broker: Intervals(each) for broker, each in spans.items()}
    for before, change in changes_of(observed):
        since = change.new.since
        near = absent[before.broker].near(since, TOGETHER, TOGETHER) if before.broker in absent else []
        fitting = [
            (not each.was_controller, abs(begin_of(each) - since), index)
            for index, each in near
            if each.was_controller or not change.unseen
        ]
        if fitting:
            *_, index = min(fitting)
            changed[index] = replace(changed[index], changes=(*changed[index].changes, change))
        else:
            lines = change.new.lines
            changed.append(Incident(IncidentKind.CONTROLLER, since, since, changes=(change,), lines=lines))
    return changed


def with_failed_directories(made: Sequence[Incident], observed: Observed) -> list[Incident]:
    """Add an incident for each failure of log directories of a broker that no other incident is about.

    Args:
        made: The incidents with the brokers that left, and with the times without a leader.
        observed: Everything in the lines.
    """
    known: dict[int | None, list[tuple[datetime, datetime, None]]] = {}
    for incident in made:
        for absence in incident.absences:
            begin = begin_of(absence)
            known.setdefault(absence.broker, []).append((begin, known_end(absence) or begin, None))
        for failure in incident.failures:
            known.setdefault(failure.subject, []).append((failure.time, failure.time, None))
    departures = {broker: Intervals(spans) for broker, spans in known.items()}
    groups: dict[int | None, list[list[BrokerLine]]] = {}
    for line in observed.brokers:
        if line.kind != BrokerKind.DIRECTORY_FAILED or (
            line.subject in departures and departures[line.subject].near(line.time, TOGETHER, TOGETHER)
        ):
            continue
        own = groups.setdefault(line.subject, [])
        if own and line.time <= own[-1][-1].time + TOGETHER:
            own[-1].append(line)
        else:
            own.append([line])
    return [*made, *(_of_directories(group) for own in groups.values() for group in own)]


def _of_directories(failures: Sequence[BrokerLine]) -> Incident:
    # The broker's own line comes first, because it names the directory.
    shown = sorted(failures, key=lambda each: (each.role == "controller", each.time))
    return Incident(
        IncidentKind.FAILED_DIRECTORY, failures[0].time, failures[-1].time,
        failures=tuple(shown), lines=tuple(each.line for each in shown),
    )  # fmt: skip


def with_vacancies(made: Sequence[Incident], found: Iterable[Vacancy]) -> list[Incident]:
    """Add each time without an active controller to the incident during which it began, or as its own."""
    changed = list(made)
    times = _times(made)
    for each in found:
        index = _latest_during(made, times, each.since)
        if index is not None:
            changed[index] = replace(changed[index], vacancies=(*changed[index].vacancies, each))
        else:
            kind = IncidentKind.NO_CONTROLLER
            changed.append(Incident(kind, each.since, each.until, vacancies=(each,), lines=each.lines))
    return changed


def with_shortages(
    made: Sequence[Incident], stories: Sequence[History], minimums: Minimums
) -> list[Incident]:
    """Add each time with too few replicas in sync to the incident during which it began, or as its own.

    One that began as a partition got a leader again, however late, is of the incident in which it lost the
    one before, and so is one that began as the controller took replicas of an absent broker offline. One that
    was over before the incident can have begun is not of the incident.
    """
    periods = sorted(
        (period for story in stories for period in short_periods(story)), key=lambda each: each[1][0].since
    )
    times, late = _times(made), _Late(made)
    taken: dict[int, list[Period]] = {}
    free: list[list[Period]] = []
    for story, steps in periods:
        index = _latest_during(made, times, steps[0].since)
        if index is None:
            index = late.index_of(story, steps[0])
        if index is not None and not _is_over(steps, _span(made[index])[0]):
            taken.setdefault(index, []).append((story, steps))
        elif free and steps[0].since <= free[-1][-1][1][0].since + TOGETHER:
            free[-1].append((story, steps))
        else:
            free.append([(story, steps)])
    changed = [
        replace(
            incident,
            shortage=_with_causes(_of_left(shortage_of(taken[index], minimums), incident), late, index),
        )
        if index in taken
        else incident
        for index, incident in enumerate(made)
    ]
    for group in free:
        ends = [steps[-1].until for _, steps in group]
        until = None if None in ends else max(end for end in ends if end is not None)
        shortage = _with_causes(shortage_of(group, minimums), late, None)
        changed.append(
            Incident(IncidentKind.UNDER_REPLICATED, group[0][1][0].since, until, shortage=shortage)
        )
    return changed


def _is_over(steps: Sequence[IsrStep], begin: datetime) -> bool:
    """Return whether a time with too few replicas in sync was over when an incident can have begun.

    A broker whose last line shows that all are in sync was lost after that.
    """
    over = steps[-1].until
    return over is not None and steps[0].since < begin and over <= begin


def _with_causes(shortage: Shortage, late: _Late, own: int | None) -> Shortage:
    """Return a shortage with the absences of other incidents because of which the ISR got smaller."""
    causes = tuple(
        (number, absence)
        for number, step in enumerate(shortage.steps)
        for index, absence in late.gone_of(step)
        if index != own
    )
    return replace(shortage, causes=causes)


def _of_left(shortage: Shortage, incident: Incident) -> Shortage:
    """Return a shortage of replicas, of which those of the incident's brokers surely fell out of sync."""
    left = {each.broker for each in incident.absences}
    broken = {each.subject for each in incident.failures} | {each.broker for each in incident.refusals}
    bounced = {each.subject for each in incident.bounces}
    return replace(shortage, removable=shortage.removable - left - broken - bounced)


def with_unclean(made: Sequence[Incident], found: Sequence[UncleanElection]) -> list[Incident]:
    """Add each unclean election to the incident that it belongs to, or those left as one incident.

    That is the one with the outage that it ended, however long that lasted; else the latest at its time.
    """
    times, ended = _times(made), _ended(made)
    taken: dict[int, list[UncleanElection]] = {}
    free: list[UncleanElection] = []
    for each in sorted(found, key=lambda each: (each.time, each.life)):
        topic, partition, _ = each.life
        known = ended.get(f"{topic}-{partition}", ())
        its = [
            number for time, leader, number in known
            if leader == each.leader and abs(time - each.time) <= CLOCKS
        ]  # fmt: skip
        index = its[0] if its else _latest_during(made, times, each.time)
        if index is not None:
            taken.setdefault(index, []).append(each)
        else:
            free.append(each)
    changed = [replace(incident, unclean=tuple(taken.get(index, ()))) for index, incident in enumerate(made)]
    if free:
        since, until = free[0].time, free[-1].time
        changed.append(Incident(IncidentKind.UNCLEAN, since, until, unclean=tuple(free)))
    return changed


def _ended(made: Sequence[Incident]) -> dict[str, list[tuple[datetime, int | None, int]]]:
    """Return when each partition got a leader again, with that leader and the index of the incident."""
    ended: dict[str, list[tuple[datetime, int | None, int]]] = {}
    for number, incident in enumerate(made):
        for period in (each for cost in incident.costs for each in cost.each):
            if period.shown is not None:
                ended.setdefault(period.name, []).append((period.shown, period.leader_after, number))
    return ended


class _Late:
    """The incidents whose brokers a controller takes out of ISRs, perhaps long after they began.

    Args:
        made: The incidents.
    """

    def __init__(self, made: Sequence[Incident]) -> None:
        ended = _ended(made)
        self._ended = {
            name: Intervals((time, time, index) for time, _, index in own) for name, own in ended.items()
        }
        spans: dict[int, list[tuple[datetime, datetime, tuple[int, Absence]]]] = {}
        for index, incident in enumerate(made):
            for each in incident.absences:
                begin = each.stopping or begin_of(each)
                span = (begin, known_end(each) or begin + _SLOW, (index, each))
                spans.setdefault(each.broker, []).append(span)
        self._absent = {broker: Intervals(each) for broker, each in spans.items()}

    def index_of(self, story: History, step: IsrStep) -> int | None:
        """Return the index of the incident in which an ISR got smaller; None if these do not show one."""
        topic, partition, _ = story.life
        elected = self._ended.get(f"{topic}-{partition}")
        if elected is not None and (near := elected.near(step.since, CLOCKS, CLOCKS)):
            return near[-1]
        found = self.gone_of(step)
        return found[-1][0] if found else None

    def gone_of(self, step: IsrStep) -> list[tuple[int, Absence]]:
        """Return the absences of the broker that a controller took out of an ISR, with their incidents."""
        absent = None if step.removed is None else self._absent.get(step.removed)
        return [] if absent is None else absent.near(step.since, CLOCKS, CLOCKS)


def _latest_during(made: Sequence[Incident], times: Intervals[int], time: datetime) -> int | None:
    """Return the index of the incident to which what began at a time belongs.

    Of several it is the latest that had begun by then; else the first that may have begun by then.
    """
    begins = [(_begin(made[index]), index) for index in times.near(time, CLOCKS, TOGETHER)]
    fitting = [(begin > time + CLOCKS, abs(begin - time), -index) for begin, index in begins]
    return -min(fitting)[2] if fitting else None


def _begin(incident: Incident) -> datetime:
    """Return the latest moment at which an incident began: of a stop, when it was asked for."""
    return min((each.stopping or begin_of(each) for each in incident.absences), default=incident.since)


def _times(made: Sequence[Incident]) -> Intervals[int]:
    """Return the times of the incidents that others may belong to, with their indexes."""
    return Intervals(
        (*_span(incident), index)
        for index, incident in enumerate(made)
        if incident.absences or incident.costs or incident.offline or incident.failures
    )


def _span(incident: Incident) -> tuple[datetime, datetime]:
    begins = [each.stopping or earliest(each.gone) or incident.since for each in incident.absences]
    # Of an incident whose end is not known, the last moment that is.
    known = (latest(each.returned) or begin_of(each) for each in incident.absences)
    last = incident.until or max(known, default=incident.since)
    return min(begins, default=incident.since), last
