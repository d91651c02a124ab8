"""Controllers, ISRs, log directories and unclean elections, added to the incidents that they belong to.

What belongs to none becomes an incident of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence, begin_of, known_end
from barnabas.analysis.story.brokers import TOGETHER
from barnabas.analysis.story.certainty import earliest, latest
from barnabas.analysis.story.controllers import Vacancy, changes_of
from barnabas.analysis.story.elections import UncleanElection
from barnabas.analysis.story.incident import Incident, IncidentKind
from barnabas.analysis.story.intervals import Intervals
from barnabas.analysis.story.minimums import Minimums
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.partitions import History
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.shortages import Period, short_periods, shortage_of


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
    spans = {broker: Intervals(own) for broker, own in known.items()}
    free = [
        line
        for line in observed.of_kind(BrokerKind.DIRECTORY_FAILED)
        if line.subject not in spans or not spans[line.subject].near(line.time, TOGETHER, TOGETHER)
    ]
    return [*made, *(_of_directories(group) for group in _together(free))]


def _together(failures: Iterable[BrokerLine]) -> Iterator[list[BrokerLine]]:
    """Yield the lines about each broker, those apart that are long after the ones before."""
    group: list[BrokerLine] = []
    for line in sorted(failures, key=lambda each: (each.subject or -1, each.time)):
        if group and (line.subject != group[-1].subject or line.time > group[-1].time + TOGETHER):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _of_directories(failures: Sequence[BrokerLine]) -> Incident:
    # The broker's own line comes first, because it names the directory.
    shown = sorted(failures, key=lambda each: (each.role == "controller", each.time))
    return Incident(
        IncidentKind.FAILED_DIRECTORY, failures[0].time, failures[-1].time,
        failures=tuple(shown), lines=tuple(each.line for each in shown),
    )  # fmt: skip


def with_vacancies(made: Sequence[Incident], found: Iterable[Vacancy]) -> list[Incident]:
    """Add each time without an active controller to the incident during which it began, or as its own."""
    changed, during = list(made), _During(made)
    for each in found:
        index = during.index(each.since)
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

    One that was over before the incident can have begun is not of the incident.
    """
    periods = sorted(
        (period for story in stories for period in short_periods(story)), key=lambda each: each[1][0].since
    )
    during = _During(made)
    taken: dict[int, list[Period]] = {}
    free: list[list[Period]] = []
    for period in periods:
        since, over = period[1][0].since, period[1][-1].until
        index = during.index(since)
        begin = None if index is None else _span(made[index])[0]
        if index is not None and not (over is not None and begin is not None and since < begin >= over):
            taken.setdefault(index, []).append(period)
        elif free and since <= free[-1][-1][1][0].since + TOGETHER:
            free[-1].append(period)
        else:
            free.append([period])
    changed = _with(made, {index: {"shortage": shortage_of(own, minimums)} for index, own in taken.items()})
    for group in free:
        ends = [steps[-1].until for _, steps in group]
        until = None if None in ends else max(end for end in ends if end is not None)
        since, shortage = group[0][1][0].since, shortage_of(group, minimums)
        changed.append(Incident(IncidentKind.UNDER_REPLICATED, since, until, shortage=shortage))
    return changed


def with_unclean(made: Sequence[Incident], found: Sequence[UncleanElection]) -> list[Incident]:
    """Add each unclean election to the incident at its time, or those left as one incident."""
    during = _During(made)
    taken: dict[int | None, list[UncleanElection]] = {}
    for each in sorted(found, key=lambda each: (each.time, each.life)):
        taken.setdefault(during.index(each.time), []).append(each)
    free = taken.pop(None, [])
    changed = _with(made, {index: {"unclean": tuple(own)} for index, own in taken.items()})
    if free:
        since, until = free[0].time, free[-1].time
        changed.append(Incident(IncidentKind.UNCLEAN, since, until, unclean=tuple(free)))
    return changed


def _with(made: Sequence[Incident], more: Mapping[int | None, Mapping[str, object]]) -> list[Incident]:
    return [
        replace(incident, **more[index]) if index in more else incident  # type: ignore[arg-type]
        for index, incident in enumerate(made)
    ]


class _During:
    """The incidents that what happened at a time may belong to.

    Args:
        made: The incidents.
    """

    def __init__(self, made: Sequence[Incident]) -> None:
        self._made = made
        self._times = Intervals(
            (*_span(incident), index)
            for index, incident in enumerate(made)
            if incident.absences or incident.costs or incident.failures
        )

    def index(self, time: datetime) -> int | None:
        """Return the index of the incident to which what began at a time belongs; None if there is none.

        Of several it is the latest that had begun by then; else the first that may have begun by then.
        """
        begins = [(_begin(self._made[index]), index) for index in self._times.near(time, CLOCKS, TOGETHER)]
        fitting = [(begin > time + CLOCKS, abs(begin - time), -index) for begin, index in begins]
        return -min(fitting)[2] if fitting else None


def _begin(incident: Incident) -> datetime:
    """Return the latest moment at which an incident began: of a stop, when it was asked for."""
    return min((each.stopping or begin_of(each) for each in incident.absences), default=incident.since)


def _span(incident: Incident) -> tuple[datetime, datetime]:
    begins = [each.stopping or earliest(each.gone) or incident.since for each in incident.absences]
    # Of an incident whose end is not known, the last moment that is.
    known = (latest(each.returned) or begin_of(each) for each in incident.absences)
    last = incident.until or max(known, default=incident.since)
    return min(begins, default=incident.since), last
