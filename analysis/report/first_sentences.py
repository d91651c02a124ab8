"""The first sentences of a report: the worst incidents, of which those that are alike share one."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from datetime import date

from barnabas.analysis.report.document import Document, Row
from barnabas.analysis.story.words import clock, count

SENTENCES = 5
"""The most incidents, or groups of those that are alike, with a sentence at the top of a report."""


def happened(document: Document) -> Iterator[str]:
    """Generate a sentence about each of the worst incidents, and what the others are."""
    if not (document.incidents or document.conditions):
        yield nothing(document)
    groups = _groups(document.incidents)[:SENTENCES]
    for first, *others in groups:
        # The second sentence has the times.
        yield " ".join([first["text"], *(each["text"] for each in first["details"][:1])])
        if others:
            yield _like_it(others, document.day)
    if rest := len(document.incidents) - sum(map(len, groups)):
        yield f"{count(rest, 'more incident')} {'is' if rest == 1 else 'are'} in the report."
    yield from left(document)


def nothing(document: Document) -> str:
    """Return what the lines show if there is no incident."""
    if document.partitions:
        return "No line of these logs shows a broker lost or a partition without a leader."
    return "The logs do not show who led any partition."


def left(document: Document) -> Iterator[str]:
    """Generate the sentence about the incidents that the report lacks."""
    if document.incidents_left:
        lacking = document.incidents_left
        since, until = (clock(lacking[name], document.day) for name in ("since", "until"))
        yield (
            f"The report holds the {len(document.incidents):,} worst incidents; {lacking['count']:,} others, "
            f"the first by {since} and the last by {until}, are not in it: give fewer logs to see them."
        )


def _like_it(others: Sequence[Row], day: date | None) -> str:
    """Return the sentence about incidents that differ from the one before in their times and costs only."""
    begins = sorted(each["since"] for each in others)
    absences = others[0]["absences"]
    what = ", ".join(f"broker {each['broker']}: {each['cause']}" for each in absences) or others[0]["kind"]
    if len(others) == 1:
        return f"1 more incident is like it ({what}), by {clock(begins[0], day)}."
    first, last = clock(begins[0], day), clock(begins[-1], day)
    return f"{len(others):,} more incidents are like it ({what}), the first by {first}, the last by {last}."


def _groups(incidents: Sequence[Row]) -> list[list[Row]]:
    """Return the incidents, the worst first, each with those that are alike if there are many."""
    if len(incidents) <= SENTENCES:
        return [[each] for each in incidents]
    groups: dict[Hashable, list[Row]] = {}
    for number, incident in enumerate(incidents):
        groups.setdefault(_likeness(number, incident), []).append(incident)
    return list(groups.values())


def _likeness(number: int, incident: Row) -> Hashable:
    """Return a value that is equal for incidents that are alike: what happened to whom."""
    if incident["unclean_elections"]:
        return number
    departed = [(each["broker"], each["cause"], each["was_controller"]) for each in incident["absences"]]
    whom = () if departed else (*incident["brokers"], *incident["topics"])
    return incident["kind"], tuple(departed), whom
