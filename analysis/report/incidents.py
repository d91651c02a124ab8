"""Incidents as plain data for all forms of the report, with the certainty of each value."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import unquote, urlsplit

from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import (
    Bound,
    Duration,
    Fact,
    Instant,
    Line,
    Unknown,
    earliest,
    moment,
)
from barnabas.analysis.story.costs import Cost, Ending
from barnabas.analysis.story.departures import are_overlapping, first_departure
from barnabas.analysis.story.elections import UncleanElection
from barnabas.analysis.story.incident import Incident, IncidentKind
from barnabas.analysis.story.sentences.absences import shown_cause
from barnabas.analysis.story.sentences.incidents import Sentence, details, headline

Row = dict[str, Any]

INCIDENTS = 500
"""The most incidents in the report."""

TOPICS = 50
"""The most topics that an incident names in the report."""

_PLANNED = (Cause.PLANNED, Cause.STOPPED, Cause.NOT_GRANTED)

_ONLY_ELECTED = (Ending.ELECTED, Ending.ELECTED_AGAIN)

_OF_LOGS = (["log"], ["logs"])
"""The names of folders that every broker has."""

_EVIDENCE = 12
"""The most lines that a sentence links to."""

_TEXT = 400
"""The most characters of a line."""


def plain(incidents: Sequence[Incident], day: date | None, explained: Collection[str] = ()) -> list[Row]:
    """Return the incidents as rows: sentences with their lines, and each value with its certainty.

    Args:
        incidents: The incidents, the worst first.
        day: The day of all times, if the logs are of one day.
        explained: The partitions of which a condition says why they had no leader.
    """
    return [_incident(each, day, explained) for each in incidents[:INCIDENTS]]


def left_out(incidents: Sequence[Incident]) -> Row:
    """Return how many incidents the report lacks, and when the first and the last of them began.

    Args:
        incidents: All incidents, the worst first.

    Returns:
        An empty row if the report lacks none.
    """
    begins = [each.since for each in incidents[INCIDENTS:]]
    return {"count": len(begins), "since": min(begins), "until": max(begins)} if begins else {}


def severity(incident: Incident) -> str:
    """Return how bad an incident is, by what is proven: critical, warning or info.

    Critical: records may be lost, or partitions had no leader, and no planned stop of one broker at a time
    explains it. Warning: it cost something all the same, or a broker was lost. Info: nothing shows a cost.
    """
    unplanned = any(each.cause not in _PLANNED for each in incident.absences)
    at_once = incident.kind == IncidentKind.WHOLE_CLUSTER or (
        incident.kind == IncidentKind.SEVERAL and are_overlapping(incident.absences)
    )
    if incident.unclean or (incident.costs and (unplanned or at_once or not incident.absences)):
        return "critical"
    return "warning" if incident.costs or incident.shortage is not None or unplanned else "info"


def _brokers(incident: Incident) -> list[int]:
    """Return the brokers that an incident names."""
    led = (leader for cost in incident.costs for leader in cost.leaders)
    ruled = (change.new.broker for change in incident.changes)
    elected = (each.leader for each in incident.unclean)
    begun = (each.broker for each in incident.begun)
    left = (each.broker for each in incident.absences)
    return sorted({*left, *led, *ruled, *elected, *begun})


def _topics(incident: Incident) -> list[str]:
    """Return the topics that an incident names, the first ``TOPICS`` of them."""
    names = {name.rpartition("-")[0] for cost in incident.costs for name in cost.partitions}
    if incident.shortage is not None:
        names.add(incident.shortage.worst.rpartition("-")[0])
    names.update(each.life[0] for each in incident.unclean)
    return sorted(names)[:TOPICS]


def _incident(incident: Incident, day: date | None, explained: Collection[str]) -> Row:
    return {
        "kind": incident.kind.value,
        "severity": severity(incident),
        "brokers": _brokers(incident),
        "topics": _topics(incident),
        "since": incident.since,
        "until": incident.until,
        "began": certain(_began(incident)),
        "ended": certain(_ended(incident)),
        **_sentence(headline(incident, explained)),
        "details": [_sentence(each) for each in details(incident, day)],
        "absences": [_absence(each) for each in incident.absences],
        "costs": [_cost(each) for each in incident.costs],
        "unclean_elections": [_unclean(each) for each in incident.unclean],
    }


def _began(incident: Incident) -> Instant:
    """Return when an incident began, of which ``since`` is the latest moment."""
    if incident.absences:
        return first_departure(incident.absences)
    periods = [each for cost in incident.costs for each in cost.each]
    lows = [each.since for each in periods if each.begin == incident.since]
    return moment(lows[0] if len(lows) == 1 else None, incident.since, (), "")


def _ended(incident: Incident) -> Instant:
    """Return when an incident was over: its brokers had returned, or its partitions had a leader."""
    if incident.until is None:
        return Unknown("no line shows that it ended")
    returned = [each.returned for each in incident.absences]
    lows = [low for each in returned if (low := earliest(each)) is not None]
    is_led = all(cost.ending not in _ONLY_ELECTED for cost in incident.costs)
    if not returned and not is_led:
        return Unknown("the last line shows an election, and none shows that its leader led")
    return moment(max(lows, default=None), incident.until, (), "")


def _absence(absence: Absence) -> Row:
    return {
        "broker": absence.broker,
        "cause": shown_cause(absence).value,
        "gone": certain(absence.gone),
        "noticed": certain(absence.noticed),
        "returned": certain(absence.returned),
        "was_controller": absence.was_controller,
        "lines": [line_row(each) for each in absence.lines[:_EVIDENCE]],
    }


def _cost(cost: Cost) -> Row:
    return {
        "partitions": sorted(cost.partitions, key=is_internal),
        "duration_ms": certain(cost.duration),
        "ending": cost.ending.value,
        "leaders": list(cost.leaders),
        "failed_elections": cost.failed,
    }


def is_internal(topic: str) -> bool:
    """Return whether a topic, or a partition's name, is Kafka's own; users' topics come first in a report."""
    return topic.startswith("__")


def _unclean(election: UncleanElection) -> Row:
    topic, partition, _ = election.life
    return {"partition": f"{topic}-{partition}", "leader": election.leader, "elected": certain(election.when)}


def certain(value: Instant | Duration) -> Row:
    """Return a value as an object whose ``certainty`` is fact, bound or unknown; durations in ms."""
    match value:
        case Fact(value=known):
            return {"certainty": "fact", "value": _number(known)}
        case Bound(at_least=low, at_most=high):
            return {"certainty": "bound", "at_least": _number(low), "at_most": _number(high)}
    return {"certainty": "unknown", "why": value.why}


def _number(value: datetime | timedelta | None) -> datetime | float | None:
    return value / timedelta(milliseconds=1) if isinstance(value, timedelta) else value


def _sentence(sentence: Sentence) -> Row:
    lines = [line_row(each) for each in sentence.lines[:_EVIDENCE]]
    return {"text": sentence.text, "lines": lines, "more_lines": len(sentence.lines) - len(lines)}


def line_row(line: Line) -> Row:
    """Return a line with its place."""
    return {
        "source": line.source,
        "block": line.block,
        "line": line.number,
        "place": place(line),
        "raw": line.text[:_TEXT],
    }


def place(line: Line) -> str:
    """Format where a line is: the last parts of its path, and its number in the file or the split.

    The folder of a file says whose it is, unless it only says that it has logs; then the one above does.
    """
    path = unquote(urlsplit(line.source).path) or line.source
    parts = path.strip("/").split("/")
    name = "/".join(parts[-3:] if parts[-2:-1] in _OF_LOGS else parts[-2:])
    return f"{name}:{line.number}" if not line.block else f"{name}, line {line.number} from byte {line.block}"
