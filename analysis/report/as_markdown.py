"""One incident as a post-mortem in Markdown, with what the logs prove and gaps for what they cannot know."""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.analysis.report.document import Document, Row
from barnabas.analysis.report.first_sentences import nothing
from barnabas.analysis.story.incident import IncidentKind
from barnabas.analysis.story.words import brokers_of, clock


def markdown(document: Document) -> str:
    """Return the post-mortem of the worst incident; a sentence if there is none."""
    if not document.incidents:
        return f"{nothing(document)}\n"
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


def _title(incident: Row) -> str:
    """Return what happened in a few words; which brokers left, if the kind does not say it."""
    left = sorted({each["broker"] for each in incident["absences"]})
    is_named = incident["kind"] in (IncidentKind.DEPARTURE, IncidentKind.SEVERAL) and left
    return f"{brokers_of(left)} left" if is_named else incident["kind"]


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
