"""The sentences about the logs that were read, and how far they can be relied on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from urllib.parse import unquote, urlsplit

from barnabas.analysis.questions.audit import CHECKS, CONTROLLER_EPOCH_FELL, TWO_CONTROLLERS
from barnabas.analysis.reading.metadata.segments import FOLDER
from barnabas.analysis.reading.times import repeated_times, zone_of
from barnabas.analysis.report.document import Document, Row
from barnabas.analysis.story.words import clock, count, duration

_FILES = 3
"""The most files that a sentence names; it counts the rest."""

_NAMED = 6
"""The most clocks that a sentence names."""

_TROUBLES = 5

_OF_ONE_CLUSTER = frozenset((TWO_CONTROLLERS, CONTROLLER_EPOCH_FELL))


def logs_read(document: Document) -> Iterator[str]:
    """Generate the sentences about what was read."""
    first, last = (None if each is None else clock(each) for each in (document.start, document.end))
    when = "" if first is None or last is None else f", {first} to {last[11:] if document.day else last}"
    yield f"Read {count(document.lines, 'line')} {_brokers(document)}{when}."
    for log in document.logs:
        routine = log["lines"] - log["conditions"] - log["unknown"]
        carry = "carries" if log["conditions"] == 1 else "carry"
        yield (
            f"{log['name']}: {count(log['conditions'], 'line')} {carry} a condition, {routine:,} "
            f"{'is' if routine == 1 else 'are'} routine, {log['unknown']:,} unknown."
        )
    yield from _nameless(document.nameless)
    yield f"Times are UTC; the logs' were read as {document.zone} (--time-zone)."
    yield from _set_back(document)
    if document.in_seconds:
        yield (
            f"The times of {_files(document.in_seconds)} are whole seconds: what they tell was up to 1 s "
            "later than it says here; spans allow for that."
        )
    for trouble in document.troubles[:_TROUBLES]:
        yield f"Could not read all of {trouble}."
    if len(document.troubles) > _TROUBLES:
        yield f"Nor of {len(document.troubles) - _TROUBLES:,} others: see the table files."
    yield from _clocks(document.answers["clock_skew"], is_sure=not _twice(document))


def audit(document: Document) -> Iterator[str]:
    """Generate the sentence about the safety audit."""
    findings = document.answers["safety_audit"]
    if not findings:
        yield f"All {len(CHECKS)} checks passed."
    else:
        mixed = any(row["check"] in _OF_ONE_CLUSTER for row in findings)
        maybe = "; mixed logs of several clusters, or of one that was set up again, look the same"
        number = count(document.counts["safety_audit"], "finding")
        yield f"{number}{maybe if mixed else ''}."


def _brokers(document: Document) -> str:
    """Return whose lines were read; the records of a metadata log are of no broker."""
    own = len(document.answers["brokers"])
    return (
        f"about {count(document.registered, 'broker')}"
        if document.registered and not own
        else f"of {count(own, 'broker')}"
    )


def _file(source: str) -> str:
    """Return the last parts of a file's path, which tell clusters and brokers apart."""
    parts = unquote(urlsplit(source).path).split("/")
    return "/".join(parts[-4 if FOLDER in parts else -3 :])


def _files(sources: Sequence[str]) -> str:
    rest = len(sources) - _FILES
    return ", ".join(map(_file, sources[:_FILES])) + (f" and {count(rest, 'more file')}" if rest > 0 else "")


def _twice(document: Document) -> list[str]:
    """Return the local times of the logs that occurred twice, as text."""
    zone = zone_of(document.zone)
    if zone is None or document.start is None or document.end is None:
        return []
    return [
        f"{begin:%Y-%m-%d} from {begin:%H:%M} to {end:%H:%M}"
        for begin, end in repeated_times(zone, document.start, document.end)
    ]


def _set_back(document: Document) -> Iterator[str]:
    """Generate the sentence about local times of the logs that occurred twice."""
    if twice := _twice(document):
        more = f" and {len(twice) - _FILES:,} more" if len(twice) > _FILES else ""
        yield (
            f"The times of {', '.join(twice[:_FILES])}{more} occurred twice in {document.zone}: where they "
            "go back within a file, they count as the second, else as the first, which is not certain."
        )


def _nameless(files: Sequence[Row]) -> Iterator[str]:
    """Generate the sentence about lines of which it is not known who wrote them."""
    if files:
        number, is_one = sum(row["lines"] for row in files), len(files) == 1
        wrote = "does not say which broker wrote it" if number == 1 else "do not say which broker wrote them"
        where = "the file or its folder after its broker" if is_one else "files or folders after brokers"
        only = "" if is_one else " if all are of one broker"
        yield (
            f"{count(number, 'line')} of {_files([row['source'] for row in files])} {wrote}, so the "
            f"incidents lack what only they tell: name {where}, as in broker-1/server.log, or give "
            f"--broker ID{only}."
        )


def _clocks(rows: Sequence[Row], *, is_sure: bool) -> Iterator[str]:
    """Generate the sentence about clocks that differ.

    Args:
        rows: The answer ``clock_skew``.
        is_sure: Whether no times may be of an hour that occurred twice, and an hour off.
    """
    how_sure = "at least" if is_sure else "perhaps"
    differ = [row for row in rows if row["behind_ms"] or row["ahead_ms"]]
    if differ:
        seen = ", ".join(
            f"broker {row['broker']} {how_sure} {_span(row['behind_ms'])} behind {row['controller']}"
            if row["behind_ms"]
            else f"broker {row['broker']} perhaps {_span(row['ahead_ms'])} ahead of {row['controller']}"
            for row in differ[:_NAMED]
        )
        yield f"Clocks differ: {seen}. Partitions are ordered by epoch and zkVersion."


def _span(milliseconds: int) -> str:
    return duration(timedelta(milliseconds=milliseconds))
