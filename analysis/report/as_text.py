"""The report as text for a terminal: a summary first, then a timeline and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from barnabas.analysis.derived.leaders import AFTER_UNSEEN, DELETING, NONE, SAME
from barnabas.analysis.derived.unavailability import UNSEEN
from barnabas.analysis.questions.audit import CHECKS, CONTROLLER_EPOCH_FELL, TWO_CONTROLLERS
from barnabas.analysis.reading.metadata.segments import FOLDER
from barnabas.analysis.reading.times import repeated_times, zone_of
from barnabas.analysis.report.document import Document, Row
from barnabas.analysis.report.failovers import (
    Departures,
    failover_headline,
    failover_steps,
    failover_total,
    missing_steps,
)
from barnabas.analysis.report.first_sentences import SENTENCES, happened
from barnabas.analysis.report.offsets import of_absence, of_epoch, of_isr, of_leader
from barnabas.analysis.report.words import (
    TERMS,
    Step,
    count,
    duration,
    listed,
    timed,
)
from barnabas.analysis.story.words import Rounding

_OF_ONE_CLUSTER = frozenset((TWO_CONTROLLERS, CONTROLLER_EPOCH_FELL))
_SAMPLE_WIDTH = 150
_NAMED = 6
"""The most partitions that one line of the timeline names; it counts the rest."""

_FILES = 3
"""The most files that a sentence names; it counts the rest."""

_TABLE_ROWS = 10
_TROUBLES = 5
_EVIDENCE = 4


def text(document: Document) -> Iterator[str]:
    """Generate the lines of the whole report."""
    yield from summary(document, _TABLE_ROWS)
    yield from _section("Incidents, and the lines that prove them", _incidents(document))
    yield from _section("Timeline", _timeline(document))
    yield from _section("Failovers", _failovers(document))
    yield from _section("Partitions without a leader", _without_leader(document))
    yield from _section("Slowest LeaderAndIsr requests", _slowest(document))
    yield from _section("Restless brokers", _flapping(document.answers["flapping_brokers"]))
    yield from _section("Not understood, and kept in the table events", _not_understood(document))
    yield from _section("Words", (f"  {word}: {meaning}" for word, meaning in TERMS.items()))


class FirstLines(NamedTuple):
    """The first lines of a report by what they are about.

    Attributes:
        happened: The incidents, the worst first.
        read: The logs that were read, and how far they can be relied on.
        audit: The findings of the safety audit.
    """

    happened: Sequence[str]
    read: Sequence[str]
    audit: Sequence[str]


def summary(document: Document, listed: int | None = None) -> Iterator[str]:
    """Generate the first lines; ``listed`` is as in ``analysis.report.first_sentences.happened``."""
    return chain.from_iterable(first_lines(document, listed, SENTENCES))


def first_lines(document: Document, listed: int | None, sentences: int) -> FirstLines:
    """Return the first lines: the incidents, the worst first, and the logs that were read.

    The arguments are those of ``analysis.report.first_sentences.happened``.
    """
    return FirstLines(
        list(happened(document, listed, sentences)),
        list(_read(document)),
        list(_audit(document)),
    )


def _read(document: Document) -> Iterator[str]:
    """Generate the lines about what was read."""
    yield from _skew(document.answers["clock_skew"], is_doubled=bool(_twice(document)))
    share = "" if document.start is None or document.end is None else _from_to(document)
    yield f"Read {count(document.lines, 'line')} {_brokers(document)}{share}."
    yield from _logs(document.logs)
    yield from _nameless(document.nameless)
    yield f"Times are UTC; the logs' were read as {document.zone} (--time-zone)."
    yield from _set_back(document)
    yield from _in_seconds(document.in_seconds)
    for trouble in document.troubles[:_TROUBLES]:
        yield f"Could not read all of {trouble}."
    if len(document.troubles) > _TROUBLES:
        yield f"Nor of {len(document.troubles) - _TROUBLES:,} others: see the table files."
    yield from _controllers(document.answers["controller_epochs"])


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


def _from_to(document: Document) -> str:
    end = document.end if document.end is None or _is_of_days(document) else _time(document.end)
    return f", {_full(document.start)} to {_full(end) if isinstance(end, datetime) else end}"


def _logs(logs: Sequence[Row]) -> Iterator[str]:
    """Generate for each kind of file how much of it was understood."""
    for log in logs:
        ours = log["lines"] - log["others"]
        share = f"{100 * log['understood'] / ours:.2f} % of {count(ours, 'line')} understood" if ours else ""
        others = f"{count(log['others'], 'line')} that no question needs" if log["others"] else ""
        yield f"{log['name']}: {', '.join(each for each in (share, others) if each)}."


def _twice(document: Document) -> list[tuple[datetime, datetime]]:
    """Return the local times of the logs that occurred twice."""
    zone = zone_of(document.zone)
    if zone is None or document.start is None or document.end is None:
        return []
    return repeated_times(zone, document.start, document.end)


def _set_back(document: Document) -> Iterator[str]:
    """Generate the sentence about local times of the logs that occurred twice."""
    twice = _twice(document)
    if twice:
        when = ", ".join(
            f"{begin:%Y-%m-%d} from {begin:%H:%M} to {end:%H:%M}" for begin, end in twice[:_FILES]
        )
        more = f" and {len(twice) - _FILES:,} more" if len(twice) > _FILES else ""
        yield (
            f"The times of {when}{more} occurred twice in {document.zone}: where they go back within a file, "
            "they count as the second, else as the first, which is not certain."
        )


def _in_seconds(sources: Sequence[str]) -> Iterator[str]:
    """Generate the sentence about files that do not say when within a second."""
    if sources:
        named = ", ".join(_file(source) for source in sources[:_FILES])
        more = f" and {count(len(sources) - _FILES, 'more file')}" if len(sources) > _FILES else ""
        yield (
            f"The times of {named}{more} are whole seconds: what they tell was up to 1 s later than it says "
            "here; spans allow for that."
        )


def _nameless(files: Sequence[Row]) -> Iterator[str]:
    """Generate the sentence about lines of which it is not known who wrote them."""
    if files:
        lines = sum(row["lines"] for row in files)
        named = ", ".join(_file(row["source"]) for row in files[:_FILES])
        more = f" and {len(files) - _FILES:,} more files" if len(files) > _FILES else ""
        wrote = "does not say which broker wrote it" if lines == 1 else "do not say which broker wrote them"
        where = (
            "the file or its folder after its broker" if len(files) == 1 else "files or folders after brokers"
        )
        only = "" if len(files) == 1 else " if all are of one broker"
        yield (
            f"{count(lines, 'line')} of {named}{more} {wrote}, so the incidents lack what only they tell: "
            f"name {where}, as in broker-1/server.log, or give --broker ID{only}."
        )


def _controllers(rows: Sequence[Row]) -> Iterator[str]:
    if rows:
        who = ", ".join(
            f"broker {row['controller']} (epoch {row['controller_epoch']})" for row in rows[:_NAMED]
        )
        more = f" and {len(rows) - _NAMED:,} more" if len(rows) > _NAMED else ""
        yield f"Controllers: {who}{more}."


def _skew(rows: Sequence[Row], *, is_doubled: bool) -> Iterator[str]:
    """Generate the sentence about clocks that differ.

    Args:
        rows: The answer ``clock_skew``.
        is_doubled: Whether times may be of an hour that occurred twice, and an hour off.
    """
    how_sure = "perhaps" if is_doubled else "at least"
    differ = [row for row in rows if row["behind_ms"] or row["ahead_ms"]]
    if differ:
        seen = ", ".join(
            f"broker {row['broker']} {how_sure} {duration(row['behind_ms'])} behind {row['controller']}"
            if row["behind_ms"]
            else f"broker {row['broker']} perhaps {duration(row['ahead_ms'])} ahead of {row['controller']}"
            for row in differ[:_NAMED]
        )
        yield f"Clocks differ: {seen}. Partitions are ordered by epoch and zkVersion."


def _audit(document: Document) -> Iterator[str]:
    findings = document.answers["safety_audit"]
    if not findings:
        yield f"Safety audit: all {len(CHECKS)} checks passed."
        return
    yield f"SAFETY AUDIT: {count(document.counts['safety_audit'], 'finding')}."
    if any(row["check"] in _OF_ONE_CLUSTER for row in findings):
        yield "  (Mixed logs of several clusters, or of one that was set up again, look the same.)"
    for row in findings[:_TABLE_ROWS]:
        where = "" if row["topic"] is None else f" {row['topic']}-{row['partition']}"
        yield f"  {row['check']}:{where} {row['detail']}, {_full(row['time'])}"
    if (rest := document.counts["safety_audit"] - _TABLE_ROWS) > 0:
        yield f"  ... and {count(rest, 'finding')} more, in report.json"


class _Happening(NamedTuple):
    """A line of the timeline. Lines that differ only in the partition are merged.

    ``behind`` is by how many milliseconds, at least, the clock of its time is behind the first controller's.
    """

    time: datetime
    kind: str
    what: str
    partition: str
    behind: float = 0.0


def _timeline(document: Document) -> Iterator[str]:
    happenings = [
        *_of_controllers(document),
        *_of_brokers(document),
        *_of_leaders(document),
        *_of_isr(document),
    ]
    at_once: dict[tuple[datetime, int, str], list[_Happening]] = {}
    for each in happenings:
        at_once.setdefault(_place(each), []).append(each)
    day = None
    in_order = sorted(at_once.items(), key=lambda item: (_begin(item[1]), item[0][1]))
    for (_, kind, _), group in in_order:
        if _is_of_days(document) and min(group).time.date() != day:
            day = min(group).time.date()
            yield f"  {day}"
        late = group[0].behind
        by = f" (by a clock that is at least {duration(late, Rounding.DOWN)} behind)" if late else ""
        yield f"  {_time(min(group).time)}  {_KINDS[kind]:<10}  {_named(group)}{group[0].what}{by}"
    rest = document.partitions - len(document.pictured)
    if rest > 0:
        yield f"  ... and {count(rest, 'partition')} more, in the tables leaders and isr"


_KINDS = ("controller", "broker", "leader", "ISR")


def _place(happening: _Happening) -> tuple[datetime, int, str]:
    """Return the sort key, which is equal for changes of many partitions in one step of a controller."""
    at_once = happening.time.replace(microsecond=happening.time.microsecond // 100_000 * 100_000)
    return at_once, _KINDS.index(happening.kind), happening.what


def _begin(group: Sequence[_Happening]) -> datetime:
    """Return the first time of some lines by the clock of the first controller."""
    return min(each.time + timedelta(milliseconds=each.behind) for each in group)


def _named(group: Sequence[_Happening]) -> str:
    names = sorted({each.partition for each in group if each.partition})
    if not names:
        return ""
    shown = ", ".join(names[:_NAMED])
    return f"{shown}{f' and {len(names) - _NAMED:,} more' if len(names) > _NAMED else ''}: "


def _of_controllers(document: Document) -> Iterator[_Happening]:
    for row in document.answers["controller_epochs"]:
        what = f"broker {row['controller']} is controller, epoch {row['controller_epoch']}"
        yield _Happening(row["since"], "controller", what, "", _late(document, of_epoch, row))


def _of_brokers(document: Document) -> Iterator[_Happening]:
    for number, incident in enumerate(document.incidents):
        for place, absence in enumerate(incident["absences"]):
            broker = f"broker {absence['broker']}"
            gone, back = (
                document.behind.get(of_absence(number, place, name), 0.0) for name in ("gone", "returned")
            )
            yield from _moment(absence["gone"], f"{broker} left", absence["cause"], gone)
            yield from _moment(absence["returned"], f"{broker} is back", "", back)


def _late(document: Document, key: Callable[[Row], str], row: Row) -> float:
    return document.behind.get(key(row), 0.0) if document.behind else 0.0


def _moment(moment: Row, what: str, more: str, behind: float) -> Iterator[_Happening]:
    """Generate the line of a moment whose latest time is known."""
    time = moment.get("value") or moment.get("at_most")
    if time is not None:
        latest = ", at this time or before" if moment["certainty"] == "bound" else ""
        yield _Happening(time, "broker", f"{what}{latest}{f': {more}' if more else ''}", "", behind)


def _of_leaders(document: Document) -> Iterator[_Happening]:
    for row in document.leaderships:
        epoch = "" if row["leader_epoch"] is None else f" (epoch {row['leader_epoch']})"
        if row["leader"] < 0:
            what = f"no leader{epoch}{_before(row)}"
        elif row["why"] == SAME:
            continue  # another line shows the ISR change that caused the new epoch
        elif row["previous_leader"] in (None, row["leader"]) or row["why"] == AFTER_UNSEEN:
            what = f"{row['leader']} elected{epoch}: {row['why']}"
        else:
            what = f"{row['leader']} elected after {row['previous_leader']}{epoch}: {row['why']}"
        name, behind = f"{row['topic']}-{row['partition']}", _late(document, of_leader, row)
        yield _Happening(row["since"], "leader", what, name, behind)


def _before(row: Row) -> str:
    """Return what is known of the leader before a time without one."""
    before = row["previous_leader"]
    if row["why"] == DELETING:
        return f": {DELETING}"
    if before is None:
        return f": {UNSEEN}"
    return f": {before} went offline" if row["why"] == NONE else f", after {before}"


def _of_isr(document: Document) -> Iterator[_Happening]:
    for row in document.isr:
        if not row["left"] and not row["joined"]:
            continue
        out = f", {listed(row['left'])} out" if row["left"] else ""
        back = f", {listed(row['joined'])} in" if row["joined"] else ""
        latest = " at the latest" if row["unseen"] else ""
        what = f"{row['size']} of {row['assigned']} in sync{out}{back}{latest}"
        name, behind = f"{row['topic']}-{row['partition']}", _late(document, of_isr, row)
        yield _Happening(row["since"], "ISR", what, name, behind)


def _incidents(document: Document) -> Iterator[str]:
    for incident in document.incidents[:_TABLE_ROWS]:
        yield f"  {incident['text']}"
        yield from _evidence(incident["lines"])
        for detail in incident["details"]:
            yield f"    {detail['text']}"
            yield from _evidence(detail["lines"])


def _evidence(lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for line in lines[:_EVIDENCE]:
        yield f"      {line['place']}  {line['raw'][:_SAMPLE_WIDTH]}"


def _failovers(document: Document) -> Iterator[str]:
    departures = Departures(document.incidents)
    for row in document.answers["failovers"][:_TABLE_ROWS]:
        total, left = failover_total(row), departures.of(row)
        on = f"{row['noticed'].date()}  " if _is_of_days(document) else ""
        yield f"  {on}{failover_headline(row, left)}{f'; {total}' if total else ''}"
        if left is not None:
            yield from _evidence(left.lines)
        yield from _steps(failover_steps(row), row["noticed"])
    note = missing_steps(document.answers["failovers"])
    if note and any(incident["absences"] for incident in document.incidents):
        yield f"  {note}"


def _steps(found: Sequence[Step], day: datetime) -> Iterator[str]:
    times = ["" if step.time is None else _dated(step.time, day) for step in found]
    width = max(map(len, times), default=0)
    for step, time in zip(timed(found), times, strict=True):
        after = "" if step.after is None else f"+{duration(step.after)}"
        yield f"    {time:<{width}}  {after:>12}  {step.text}"


def _without_leader(document: Document) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("partition", "times", "at least", "at most", "why")]
    rows.extend(
        (
            f"{row['topic']}-{row['partition']}",
            str(row["outages"]),
            "no end shown" if row["lasting"] else _unless_zero(row["total_ms"]),
            "?" if row["lasting"] or row["at_most_ms"] is None else duration(row["at_most_ms"], Rounding.UP),
            row["cause"],
        )
        for row in document.answers["partitions_without_leader"][:_TABLE_ROWS]
    )
    yield from _table(rows)


def _unless_zero(milliseconds: int) -> str:
    """Format what is proven of a time, which is 0 if nothing is."""
    return duration(milliseconds, Rounding.DOWN) if milliseconds else "?"


def _slowest(document: Document) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("broker", "took", "partitions", "received", "from controller")]
    rows.extend(
        (
            str(row["broker"]),
            duration(row["duration_ms"]),
            "?" if row["partitions"] is None else str(row["partitions"]),
            _full(row["received"]) if _is_of_days(document) else _time(row["received"]),
            str(row["controller"]),
        )
        for row in document.answers["slowest_leader_and_isr"][:5]
    )
    yield from _table(rows)


def _flapping(answer: Sequence[Row]) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("broker", "spells out of sync", "left", "joined", "partitions")]
    rows.extend(
        tuple(str(row[name]) for name in ("broker", "spells", "left", "joined", "partitions"))
        for row in answer[:5]
    )
    yield from _table(rows)


def _not_understood(document: Document) -> Iterator[str]:
    for row in document.answers["not_understood"][:_TABLE_ROWS]:
        yield f"  {row['lines']:,} x  {row['sample'].splitlines()[0][:_SAMPLE_WIDTH]}"


def _section(title: str, lines: Iterator[str]) -> Iterator[str]:
    first = next(lines, None)
    if first is not None:
        yield ""
        yield title
        yield first
        yield from lines


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    if len(rows) == 1:
        return
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _is_of_days(document: Document) -> bool:
    """Return whether the logs span more than one day."""
    start, end = document.start, document.end
    return start is not None and end is not None and start.date() != end.date()


def _time(value: datetime) -> str:
    return value.isoformat(" ", timespec="milliseconds")[11:]


def _dated(value: datetime, day: datetime) -> str:
    """Format a time, with its date if that is not the date of ``day``."""
    return _time(value) if value.date() == day.date() else _full(value)


def _full(value: datetime | None) -> str:
    return "at an unknown time" if value is None else value.isoformat(" ", timespec="milliseconds")
