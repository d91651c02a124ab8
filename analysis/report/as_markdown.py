"""One incident as a post-mortem in Markdown, with what the logs prove and gaps for what they cannot know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from barnabas.analysis.report.document import Document, Row
from barnabas.analysis.story.costs import Ending
from barnabas.analysis.story.incident import IncidentKind
from barnabas.analysis.story.words import Rounding, brokers_of, clock, duration

_PARTITIONS = 20
"""The most partitions that a line names; it counts the rest."""


def markdown(document: Document) -> str:
    """Return the post-mortem of the worst incident; a sentence if there is none."""
    if not document.incidents:
        return "No line of these logs shows a broker lost or a partition without a leader.\n"
    return post_mortem(document.incidents[0], document.zone)


def post_mortem(incident: Row, zone: str) -> str:
    """Return a Markdown document about an incident.

    Args:
        incident: A row of ``Document.incidents``.
        zone: The time zone that the logs' times were read in.
    """
    return "\n".join(_lines(incident, zone)) + "\n"


def _lines(incident: Row, zone: str) -> Iterator[str]:
    # The time is when it had begun at the latest, so the title must not state it as a fact.
    yield f"# Post-mortem: {_title(incident)}, by {clock(incident['since'])}"
    yield ""
    yield _plain(incident["text"])
    yield ""
    yield f"- Severity: {incident['severity']}"
    yield f"- Began at or before {clock(incident['since'])}."
    yield f"- {_over(incident)}"
    yield f"- Times are UTC; the logs were read as {zone}."
    yield ""
    yield from _happened(incident)
    yield from _table("Brokers", ("broker", "cause", "left", "noticed", "returned"), _brokers(incident))
    yield from _table("Partitions without a leader", ("partitions", "for", "then"), _costs(incident))
    yield from _evidence(incident)
    for title in ("Root cause", "What went well", "What did not", "Action items"):
        yield f"## {title}"
        yield ""
        yield "_To be written: the logs do not know it._"
        yield ""


def _over(incident: Row) -> str:
    """Return until when an incident lasted, which its brokers' return does not end for its partitions."""
    until = incident["until"]
    if not incident["absences"]:
        return (
            "No line shows when it was over." if until is None else f"Over by {clock(until)}, as lines show."
        )
    back = "No line shows that all of its brokers were back"
    if until is not None:
        back = f"All of its brokers were back at or before {clock(until)}"
    return f"{back}; how long partitions had no leader, and too few replicas in sync, is below."


def _happened(incident: Row) -> Iterator[str]:
    if incident["details"]:
        yield "## What happened"
        yield ""
        for sentence in incident["details"]:
            yield f"- {_plain(sentence['text'])}"
        yield ""


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    yield f"## {title}"
    yield ""
    for cells in (columns, ["---"] * len(columns), *rows):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    yield ""


def _title(incident: Row) -> str:
    """Return what happened in a few words; which brokers left, if the kind does not say it."""
    left = sorted({each["broker"] for each in incident["absences"]})
    is_named = incident["kind"] in (IncidentKind.DEPARTURE, IncidentKind.SEVERAL) and left
    return f"{brokers_of(left)} left" if is_named else incident["kind"]


def _brokers(incident: Row) -> list[list[str]]:
    return [
        [
            str(each["broker"]), _plain(each["cause"]),
            *(certainly(each[name]) for name in ("gone", "noticed", "returned")),
        ]
        for each in incident["absences"]
    ]  # fmt: skip


def _costs(incident: Row) -> list[list[str]]:
    return [
        [_named(each["partitions"]), certainly(each["duration_ms"]), _ending(each)]
        for each in incident["costs"]
    ]


def _ending(cost: Row) -> str:
    leaders = ", ".join(map(str, cost["leaders"]))
    led = f", led by {leaders}" if leaders else ""
    if cost["ending"] in (Ending.ELECTED, Ending.ELECTED_AGAIN):
        led = f": {leaders} (no line shows who led)"
    failed = f", failed elections: {cost['failed_elections']}" if cost["failed_elections"] else ""
    return f"{cost['ending']}{led}{failed}"


def _named(partitions: Sequence[str]) -> str:
    rest = len(partitions) - _PARTITIONS
    return _plain(", ".join(partitions[:_PARTITIONS])) + (f" and {rest:,} more" if rest > 0 else "")


def certainly(value: Mapping[str, Any]) -> str:
    """Format a value of ``analysis.report.incidents.certain`` together with its certainty."""
    match value["certainty"]:
        case "fact":
            return f"{_known(value['value'], Rounding.NEAREST)} (fact)"
        case "bound":
            low, high = value["at_least"], value["at_most"]
            word = ("after", "at or before") if isinstance(low or high, datetime) else ("at least", "at most")
            ends = [
                f"{name} {_known(end, rounding)}"
                for name, end, rounding in ((word[0], low, Rounding.DOWN), (word[1], high, Rounding.UP))
                if end is not None
            ]
            return f"{', '.join(ends)} (bound)"
    return f"unknown: {_plain(value['why'])}"


def _known(value: datetime | float, rounding: Rounding) -> str:
    if isinstance(value, datetime):
        return clock(value)
    return duration(timedelta(milliseconds=value), rounding)


def _evidence(incident: Row) -> Iterator[str]:
    lines = {line["place"]: line for each in (incident, *incident["details"]) for line in each["lines"]}
    if lines:
        yield "## Lines that prove it"
        yield ""
        for place, line in lines.items():
            yield f"    {place}  {line['raw']}"
        yield ""


def _plain(text: str) -> str:
    """Escape what Markdown would take for markup, such as ``__consumer_offsets`` or ``<init>``."""
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>#" else letter for letter in text)
