"""The time and the cause of a departure, from the lines of one absence.

A broker's own lines prove a stop, a death with a cause, and a start. The moment of an unlogged death lies
between the last own line and the first line that shows the broker gone, which may be a survivor's lost
connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import dropwhile, takewhile

from barnabas.analysis.reading.events.broker_kinds import BrokerKind, Contact
from barnabas.analysis.story.certainty import Fact, Instant, Line, Lines, latest, moment
from barnabas.analysis.story.contacts import CONTACT_WINDOW, last_contact, lost_contacts
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.runs import (
    ASKED,
    ENDS,
    HANDOVER,
    OFFLINE,
    SERVES,
    STARTS,
    STOP,
    Run,
    What,
    handover,
    is_first_of_process,
    sent_on,
)


class Cause(StrEnum):
    """The causes of a broker's departure."""

    PLANNED = "planned"
    """The broker stopped in an orderly way, and its controlled shutdown moved all leaders that could move."""
    STOPPED = "stopped"
    """The broker stopped in an orderly way; no line says whether its leaders were moved."""
    NOT_GRANTED = "stopped after its controlled shutdown had failed"
    """The broker stopped in an orderly way, but its controlled shutdown failed.

    That proves no leader left behind: the controller may have moved them all, and its answer came too late.
    """
    DIED = "died"
    """The process ended without a shutdown; a line proves it."""
    LOST_SESSION = "lost its session"
    """The controller removed the broker while its process lived on."""
    UNREGISTERED = "was unregistered"
    """An operator removed the broker from the cluster, and no line before shows that it was lost.

    Nor do lines show whether its process had ended then, or lived on.
    """
    UNKNOWN = "was lost"
    """The lines do not show whether the broker stopped, died, or was cut off."""
    LOST_OR_STOPPED = "was lost or stopped"
    """A controller took the broker's replicas offline, as it does after a loss and before a stop."""


ORDERLY = (Cause.PLANNED, Cause.STOPPED, Cause.NOT_GRANTED)
"""The causes of a broker that stopped in an orderly way."""

_WITH_EPOCH = (BrokerKind.REGISTERED, BrokerKind.BROKER_REGISTERED, BrokerKind.BROKER_UNFENCED)

_PREVIOUS = (BrokerKind.PREVIOUS_STOP_CLEAN, BrokerKind.PREVIOUS_STOP_UNCLEAN)

_FENCED = "Fenced broker"
"""A controller of KRaft says with these words that the broker that asks to stop is fenced."""

_AT_ONCE = timedelta(seconds=5)
"""The longest time from a notice to the next start for which the notice still dates the death."""

STARTUP = timedelta(seconds=1)
"""Lines that a broker writes this soon before its start is logged may be of the same start."""


def lives_on(broker: int, run: Run, start: BrokerLine | None, observed: Observed) -> Line | None:
    """Return a line which proves that the process lived on while the cluster took it for gone.

    A registration alone is none: it may be that of a new process whose other lines are missing. But a broker
    epoch of KRaft is of one registration, and a process that was only fenced keeps it.
    """
    if run.kinds(*STOP, *ENDS):
        return None
    for line in run.kinds(BrokerKind.SESSION_EXPIRED):
        return line.line
    fenced, unfenced = run.kinds(BrokerKind.BROKER_FENCED), run.kinds(BrokerKind.BROKER_UNFENCED)
    if start is not None or run.kinds(*SERVES) or not fenced or not unfenced:
        return None
    epochs = [
        (line.time, line.broker_epoch)
        for kind in _WITH_EPOCH
        for line in observed.about_within(broker, kind, None, fenced[0].time)
        if line.broker_epoch is not None
    ]
    # From 4.1 on the epoch of the registration may be higher than that of the process that was there.
    known = {fenced[0].broker_epoch, max(epochs, default=(None, None))[1]} - {None}
    return unfenced[0].line if unfenced[0].broker_epoch in known else None


def unregistered(run: Run) -> BrokerLine | None:
    """Return the record by which a broker was unregistered that was there until then; None if none was.

    The controller gives its leaderships away in the records before.
    """
    first = run.marks[0][1]
    others = dropwhile(lambda mark: mark[1].kind in OFFLINE, run.marks)
    line = next((line for _, line in others), first)
    is_at_once = line.time <= first.time + CLOCKS
    return line if line.kind == BrokerKind.BROKER_UNREGISTERED and is_at_once else None


def when_gone(
    broker: int, run: Run, first: datetime, observed: Observed, *,
    present: datetime | None, is_alive: Line | None,
) -> tuple[Instant, Lines]:  # fmt: skip
    """Return when a broker left, and the lines that prove or bound it.

    Args:
        broker: The broker.
        run: The lines of its absence.
        first: The first sign that it is gone, or its next start.
        observed: Everything in the lines.
        present: When a line last showed it present before; None if none does.
        is_alive: The line which proves that its process lived on; None if none does.
    """
    left, removed = run.left(), unregistered(run)
    ends = left.kinds(BrokerKind.STOPPED, BrokerKind.DIED) or left.kinds(BrokerKind.NODE_STOPPED)
    if removed is not None or (ends and is_alive is None):
        end = ends[0] if removed is None else removed
        return Fact(end.time, (end.line,)), (end.line,)
    if is_alive is not None:
        silence = _silence(broker, first, observed)
        proof = (is_alive,) if silence is None else (silence.line, is_alive)
        contact = None if silence is None else last_contact(silence)
        return moment(contact, first, proof[:-1], "no line shows when it lost contact"), proof
    stops = [line for line in left.kinds(*STOP, *HANDOVER) if line.broker == broker]
    asked, start = _asked(left, *ASKED), run.first(What.START)
    others = _signs_by_others(broker, run, (*stops, *asked))
    # A broker that stops gives its leaders away first, and the rest may take long.
    until = max(first, others[0].time) if stops and others else first
    ended = _ended_at_once(broker, first, observed)
    last = last_of_process(broker, start or run.bounced(broker), until, observed)
    silence = _silence(broker, first, observed)
    if not stops and silence is not None and last is not None:
        # What it writes after it has lost ZooKeeper shows only that the process runs.
        last = min(last, last_contact(silence))
    alive = [line.time for line in (*stops, *asked[-1:], *ended)]
    last = max(filter(None, (last, *alive)), default=None)
    since = max(filter(None, (last, present)), default=None)
    contacts = lost_contacts(broker, since, first, observed) if observed.knows_until(first) else []
    lines = tuple(each.line for each in (*stops[-1:], *asked[:1], *ended, *contacts[:1], *others[:1]))
    at_most = min((each.time for each in (*contacts[:1], *others[:1])), default=None)
    return moment(last, at_most, lines, "no line shows when it ended"), lines


def _signs_by_others(broker: int, run: Run, stop: Iterable[BrokerLine]) -> list[BrokerLine]:
    """Return the lines by which a broker had ended, without those that its own stop explains.

    A broker that logs the loss of its own leaders is still there.
    """
    is_of_stop, is_sent_on = handover(stop), sent_on(run)
    return [
        line
        for what, line in run.marks
        if what is What.START
        or (what is What.GONE and line.broker != broker and not is_of_stop(line) and not is_sent_on(line))
    ]


def last_of_process(
    broker: int, start: BrokerLine | None, first: datetime, observed: Observed
) -> datetime | None:
    """Return when the process that left, not the one that started next, last wrote a line.

    If the first lines of the next process are missing, any line may be one of its start, which may take
    minutes, except those that a broker writes only when it has started. A line after ``first`` may be of a
    next process, too.

    Args:
        broker: The broker.
        start: The first line of its next start; None if there is none.
        first: The first sign that it is gone, or its next start.
        observed: Everything in the lines.
    """
    if start is None and not observed.has_spoken_since(broker, first):
        return observed.last_spoken(broker, first)
    if start is not None and is_first_of_process(start):
        return observed.last_spoken(broker, min(first, start.time - STARTUP))
    # A start may fail when the broker has begun to serve.
    has_failed = start is not None and start.kind == BrokerKind.START_FAILED
    return None if has_failed else observed.last_served(broker, first)


def _ended_at_once(broker: int, first: datetime, observed: Observed) -> Sequence[BrokerLine]:
    """Return the line of a Java VM or the kernel that the process of a broker ended, if there is one.

    It has no time of its own, but that of the line above it. After one that is earlier than another start, a
    process was there again.
    """
    ended = observed.about_within(broker, BrokerKind.ENDED_AT_ONCE, None, first + CLOCKS)[-1:]
    later = (
        own.time < line.time < first
        for own in ended
        for kind in (*STARTS, *SERVES, BrokerKind.REGISTERED)
        for line in observed.about_within(broker, kind, own.time, first)
    )
    return () if any(later) else ended


def _silence(broker: int, first: datetime, observed: Observed) -> BrokerLine | None:
    """Return the broker's own line that ZooKeeper was silent while, or until, the cluster gave it up."""
    silences = (
        line
        for line in observed.about_within(broker, BrokerKind.SESSION_SILENT, first - CONTACT_WINDOW, None)
        if line.duration_ms is not None and last_contact(line) <= first
    )
    return max(silences, key=last_contact, default=None)


def why_gone(
    broker: int, run: Run, first: datetime, observed: Observed, *, is_alive: Line | None
) -> tuple[Cause, str | None, Lines]:
    """Return why a broker left, the text of a line that says so if one does, and the lines that prove it."""
    left, removed = run.left(), unregistered(run)
    if removed is not None:
        return Cause.UNREGISTERED, None, (removed.line,)
    if is_alive is not None:
        return Cause.LOST_SESSION, *_given_up(_silence(broker, first, observed), is_alive)
    died = left.kinds(BrokerKind.DIED) or _ended_at_once(broker, first, observed)
    if died:
        return Cause.DIED, died[0].error, (died[0].line,)
    failed = left.kinds(BrokerKind.CONTROLLED_SHUTDOWN_FAILED)
    if failed:
        return Cause.NOT_GRANTED, failed[0].error, (failed[0].line,)
    granted = _asked(left, BrokerKind.CONTROLLED_SHUTDOWN_SUCCEEDED, BrokerKind.BROKER_STOP_GRANTED)
    if granted:
        return Cause.PLANNED, None, (granted[0].line,)
    stopped = _asked(left, BrokerKind.STOPPED, BrokerKind.NODE_STOPPED, *STOP, *ASKED)
    if stopped:
        return Cause.STOPPED, None, (stopped[-1].line,)
    for line in _found_by_next(run):
        if line.kind == BrokerKind.PREVIOUS_STOP_CLEAN:
            return Cause.STOPPED, "the next start found a clean shutdown", (line.line,)
        return Cause.DIED, None, (line.line,)
    renewed = [line for line in run.kinds(BrokerKind.BROKER_REGISTERED)[:1] if line.error is not None]
    if renewed:
        return Cause.DIED, renewed[0].error, (renewed[0].line,)
    return Cause.UNKNOWN, None, ()


def _found_by_next(run: Run) -> list[BrokerLine]:
    """Return the lines of the next process which say whether it found clean shutdown files, best one first.

    A process that starts after that one says it of that one. An empty disk, perhaps of another host, has no
    such file, however the process before ended.
    """
    lines = dropwhile(
        lambda line: line.kind not in _PREVIOUS, run.kinds(*_PREVIOUS, BrokerKind.LOGS_NEW, *STARTS)
    )
    own = list(takewhile(lambda line: line.kind not in STARTS, lines))
    is_new = any(line.kind == BrokerKind.LOGS_NEW for line in own)
    known = [line for line in own if line.kind in _PREVIOUS[: 1 if is_new else 2]]
    return sorted(known, key=lambda line: line.kind != BrokerKind.PREVIOUS_STOP_CLEAN)


def cut_short(run: Run) -> Line | None:
    """Return the line of the next start which proves that a logged shutdown did not run to its end.

    A supervisor kills a process that takes too long to stop.
    """
    left, found = run.left(), _found_by_next(run)
    is_stopped = left.kinds(*STOP, *HANDOVER, *ASKED) and not left.kinds(*ENDS)
    return found[0].line if is_stopped and found and found[0].kind == _PREVIOUS[1] else None


def _given_up(silence: BrokerLine | None, is_alive: Line) -> tuple[str | None, Lines]:
    """Return why a process that lived lost its session, if ``silence`` says so, and the proof."""
    if silence is None:
        return None, (is_alive,)
    seconds = (silence.time - last_contact(silence)).total_seconds()
    return f"it had no contact with ZooKeeper for {seconds:.1f} s", (is_alive, silence.line)


def _asked(left: Run, *kinds: str) -> list[BrokerLine]:
    """Return the lines of these kinds, without the stop of a broker that was fenced before it asked.

    Such a broker, whose session timed out, was lost earlier and for another reason.
    """
    fenced = left.kinds(BrokerKind.BROKER_FENCED)
    return [
        line
        for line in left.kinds(*kinds)
        if not (fenced and fenced[0].time < line.time and _FENCED in line.line.text)
    ]


def outlived(broker: int, gone: Instant, run: Run, first: datetime, observed: Observed) -> datetime | None:
    """Return when the next process of a broker that died started, if nothing shows an earlier end of it.

    A process that stands still loses its session like one that ends, and may be killed much later. A survivor
    whose connection ended, or who found nobody listening, shows which of the two it was.
    """
    start, lost = run.first(What.START), latest(gone)
    if start is None or lost is None or isinstance(gone, Fact) or lost + _AT_ONCE >= start.time:
        return None
    contacts = observed.about_within(broker, BrokerKind.CONTACT_LOST, lost, first + CLOCKS)
    ended = (Contact.REFUSED, Contact.DISCONNECTED)
    return None if any(line.contact in ended for line in contacts) else start.time
