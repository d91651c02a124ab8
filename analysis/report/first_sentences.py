"""The first sentences of a report: the worst incidents, of which those that are alike share one."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from datetime import date

from barnabas.analysis.report.document import Document, Row
from barnabas.analysis.report.words import count
from barnabas.analysis.story.incident import IncidentKind
from barnabas.analysis.story.words import clock

SENTENCES = 5
"""The most incidents, or groups of those that are alike, with a sentence at the top of a report."""

_FOLDED = (
    IncidentKind.DEPARTURE, IncidentKind.SEVERAL, IncidentKind.ROLLING_RESTART, IncidentKind.NO_LEADER,
    IncidentKind.UNDER_REPLICATED, IncidentKind.OFFLINE_REPLICAS, IncidentKind.CONTROLLER,
    IncidentKind.OUT_OF_CONTACT, IncidentKind.DEAD_FETCHER,
)  # fmt: skip
"""The kinds of incidents that occur again and again with nothing new but their times."""


def happened(document: Document, listed: int | None, sentences: int = SENTENCES) -> Iterator[str]:
    """Generate a sentence about each of the worst incidents, and what the others are.

    Args:
        document: The report.
        listed: The number of incidents that follow with the lines that prove them; None if the sentences
            stand alone.
        sentences: The most incidents, or groups of those that are alike, that have a sentence.
    """
    if not document.incidents:
        if document.partitions:
            yield "No line of these logs shows a broker lost or a partition without a leader."
        else:
            yield "The logs do not show who led any partition."
    day = _day(document)
    groups = _groups(document)[:sentences]
    for first, *others in groups:
        yield first["text"]
        if others:
            yield _like_it(others, day)
    if rest := len(document.incidents) - sum(map(len, groups)):
        yield _others(rest, listed, len(document.incidents))
    if document.incidents_left:
        left = document.incidents_left
        since, until = (clock(left[name], day) for name in ("since", "until"))
        yield (
            f"The report holds the {len(document.incidents):,} worst incidents; {left['count']:,} others, "
            f"the first by {since} and the last by {until}, are not in it: give fewer logs to see them."
        )


def _others(rest: int, listed: int | None, number: int) -> str:
    """Return the sentence about the incidents that have no sentence, of a number of all."""
    more = count(rest, "more incident")
    if listed is None or listed >= number:
        return f"{more} {'is' if rest == 1 else 'are'} {'in the report' if listed is None else 'below'}."
    return f"{more}; the worst {listed} of all are below, the others in report.html."


def _like_it(others: Sequence[Row], day: date | None) -> str:
    """Return the sentence about incidents that differ from the one before in their times and costs only."""
    begins = sorted(each["since"] for each in others)
    absences = others[0]["absences"]
    what = ", ".join(f"broker {each['broker']}: {each['cause']}" for each in absences) or others[0]["kind"]
    if len(others) == 1:
        return f"1 more incident is like it ({what}), by {clock(begins[0], day)}."
    first, last = clock(begins[0], day), clock(begins[-1], day)
    return f"{len(others):,} more incidents are like it ({what}), the first by {first}, the last by {last}."


def _groups(document: Document) -> list[list[Row]]:
    """Return the incidents, the worst first, each with those that are alike if there are many."""
    if len(document.incidents) <= SENTENCES:
        return [[each] for each in document.incidents]
    groups: dict[Hashable, list[Row]] = {}
    for number, incident in enumerate(document.incidents):
        groups.setdefault(_likeness(number, incident), []).append(incident)
    return list(groups.values())


def _likeness(number: int, incident: Row) -> Hashable:
    """Return a value that is equal for incidents that are alike: what happened to whom."""
    if incident["kind"] not in _FOLDED or incident.get("unclean_elections"):
        return number
    left = [(each["broker"], each["cause"], each["was_controller"]) for each in incident["absences"]]
    whom = () if left else (*incident["brokers"], *incident["topics"])
    return incident["kind"], tuple(left), whom


def _day(document: Document) -> date | None:
    """Return the day of all lines; None if they are of several days."""
    start, end = document.start, document.end
    return start.date() if start is not None and end is not None and start.date() == end.date() else None
