"""The time and the cause of a departure, from the lines of one absence.

A broker's own lines prove a stop, a death with a cause, and a start. The moment of an unlogged death lies
between the last own line and the first line that shows the broker gone, which may be a survivor's lost
connection.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import dropwhile

from barnabas.analysis.reading.events.broker_kinds import BrokerKind, Contact
from barnabas.analysis.reading.metadata.registrations import MAY_HAVE_STOPPED
from barnabas.analysis.story.certainty import Fact, Instant, Line, Lines, latest, moment
from barnabas.analysis.story.closings import found_by_first, found_by_next
from barnabas.analysis.story.contacts import (
    CONTACT_WINDOW,
    is_early,
    last_contact,
    lost_contacts,
    may_be_earlier,
    may_be_idle,
    open_until,
    shows_end,
    stood_still,
)
from barnabas.analysis.story.endings import ended_at_once
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.runs import (
    ASKED,
    ENDS,
    HANDED_OVER,
    HANDOVER,
    OFFLINE,
    RESTART,
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
    FENCED = "was fenced"
    """A controller of KRaft fenced the broker, and the lines do not show whether it had asked to stop.

    It may have asked without a record of that, and then its process ended later.
    """
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

MOVED = "its leaders were moved as a controlled shutdown moves them"
"""The reason of a stop that only shows in how a controller moved leaders."""

UNCLEAN = "the next start found no clean shutdown"
"""The reason of a death before all lines of its broker."""

_WITH_EPOCH = (BrokerKind.REGISTERED, BrokerKind.BROKER_REGISTERED, BrokerKind.BROKER_UNFENCED)

_NO_EPOCH = -1

_FENCED = "Fenced broker"
"""A controller of KRaft says with these words that the broker that asks to stop is fenced."""

_AT_ONCE = timedelta(seconds=5)
"""The longest time from a notice to the next start for which the notice still dates the death."""

STARTUP = timedelta(seconds=1)
"""Lines that a broker writes this soon before its start is logged may be of the same start."""


def lives_on(broker: int, run: Run, start: BrokerLine | None, observed: Observed) -> Line | None:
    """Return a line which proves that the process lived on while the cluster took it for gone.

    A registration alone is none: it may be that of a new process whose other lines are missing.
    """
    if run.kinds(*STOP, *ENDS):
        stopped = stopped_later(broker, run, observed)
        return None if stopped is None else stopped.line
    for line in run.kinds(BrokerKind.SESSION_EXPIRED):
        return line.line
    if start is not None and _has_written_on(broker, run, start, observed):
        return start.line
    left = run.left()
    for line in left.kinds(BrokerKind.BROKER_FENCED)[:1]:
        # A node that stops works as a controller a little longer than as a broker, and its next process may
        # be the controller that fences the one before.
        may_stop = line.error == MAY_HAVE_STOPPED or left.kinds(*ASKED)
        if not may_stop and (own := _as_controller(broker, line, observed)) is not None:
            return own
    if start is not None or run.kinds(*SERVES):
        return None
    fenced, unfenced = run.kinds(BrokerKind.BROKER_FENCED), run.kinds(BrokerKind.BROKER_UNFENCED)
    if fenced and unfenced and unfenced[0].broker_epoch in _epochs_at(broker, fenced[0], observed):
        return unfenced[0].line
    return None


def stopped_later(broker: int, run: Run, observed: Observed) -> BrokerLine | None:
    """Return the end, or else the begin, of an orderly stop that a broker of KRaft logs when it was fenced.

    None if it logs none, or if it began to stop before it was fenced. A process that started in between would
    be in its log, if that has earlier starts.

    Args:
        broker: The broker.
        run: The lines of its absence.
        observed: Everything in the lines.
    """
    left = run.left()
    own = [line for line in left.kinds(*STOP, *HANDOVER, *ENDS) if line.broker == broker]
    fenced = next(iter(left.kinds(BrokerKind.BROKER_FENCED)), None)
    if fenced is None or not own or own[0].time <= fenced.time + CLOCKS or left.kinds(BrokerKind.DIED):
        return None
    if not any(observed.about_within(broker, kind, None, fenced.time) for kind in STARTS):
        return None
    ends = [line for line in own if line.kind in ENDS]
    return next(iter(ends), own[0])


def _as_controller(broker: int, fenced: BrokerLine, observed: Observed) -> Line | None:
    """Return the line by which a broker that is fenced works as the controller; None if it does not then.

    A node of KRaft that is both is one process. If the quorum elects it within ``RESTART``, by the same log,
    no other process can have started meanwhile.
    """
    elections = observed.controllers
    index = bisect_right(elections, fenced.time, key=lambda each: each.since)
    if fenced.controller_epoch is None:
        return fenced.line if fenced.broker == broker else None
    if index and elections[index - 1][:2] == (broker, fenced.controller_epoch):
        return fenced.line
    for each in elections[index:]:
        if each.since > fenced.time + RESTART:
            break
        if each.broker == broker and each.lines and each.lines[0].source == fenced.line.source:
            return each.lines[0]
    return None


def _has_written_on(broker: int, run: Run, start: BrokerLine, observed: Observed) -> bool:
    """Return whether a process wrote on, until the next start, after a controller had given it up.

    Another process in between would have registered. That none did, and that the clocks agree, shows the
    controller which adds the broker when the next one registers.
    """
    lost = next((line for _, line in run.left().marks if broker in line.lost), None)
    added = next((line for _, line in run.marks if broker in line.added), None)
    if lost is None or added is None or not is_first_of_process(start):
        return False
    agree = any(abs(line.time - added.time) <= CLOCKS for line in run.kinds(BrokerKind.REGISTERED))
    last = last_of_process(broker, start, start.time, observed)
    return agree and last is not None and last > lost.time + CLOCKS


def _epochs_at(broker: int, fenced: BrokerLine, observed: Observed) -> set[int]:
    """Return the epochs of a broker that is fenced: of the line itself, and of the last one before.

    A broker epoch is an offset in the metadata log, and each process registers again. From 4.1 on that of the
    record of the registration, which the line about an unfenced broker gives, may be higher.
    """
    epochs = [
        (line.time, line.broker_epoch)
        for kind in _WITH_EPOCH
        for line in observed.about_within(broker, kind, None, fenced.time)
        if line.broker_epoch is not None
    ]
    return {max(epochs, default=(fenced.time, _NO_EPOCH))[1], fenced.broker_epoch or _NO_EPOCH}


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
    if removed is not None:
        return Fact(removed.time, (removed.line,)), (removed.line,)
    ends = left.kinds(BrokerKind.STOPPED, BrokerKind.DIED) or left.kinds(BrokerKind.NODE_STOPPED)
    if ends and is_alive is None:
        return Fact(ends[0].time, (ends[0].line,)), (ends[0].line,)
    stops = [line for line in left.kinds(*STOP, *HANDOVER) if line.broker == broker]
    asked = _asked(left, *ASKED)
    starts = run.first(What.START)
    others = _signs_by_others(broker, run, (*stops, *asked))
    # A broker that stops gives its leaders away first, and the rest may take long.
    until = max(first, others[0].time) if stops and others else first
    last = last_of_process(broker, starts or run.bounced(broker), until, observed)
    if stops:
        # The broker was alive and stopping; no line says when it ended.
        stops.extend(_still_stopping(broker, run, stops[-1], observed))
        last = max(each for each in (last, *(line.time for line in stops)) if each is not None)
    elif asked:
        last = max(each for each in (last, asked[-1].time) if each is not None)
    elif starts is None:
        last = _in_contact(broker, last, first, observed)
    ended = ended_at_once(broker, first, observed, is_alive=is_alive)
    last = max(filter(None, (last, *(line.time for line in ended[:1]))), default=None)
    # A line of the broker after a lost contact shows that it lived on.
    since = max((each for each in (last, present) if each is not None), default=None)
    contacts = lost_contacts(broker, since, first, observed) if observed.knows_until(first) else []
    contacts = [
        line for line in contacts
        if not may_be_earlier(line, present, observed) and not may_be_idle(line, observed)
    ]  # fmt: skip
    if starts is None or first < starts.time:
        contacts = [line for line in contacts if not is_early(line, first, observed)]
    lines = tuple(each.line for each in (*stops[-1:], *asked[:1], *ended, *contacts[:1], *others[:1]))
    if is_alive is not None:
        silence = _silence(broker, first, observed)
        contact = None if silence is None else last_contact(silence)
        lines = lines if silence is None else (*lines, silence.line)
        return moment(contact, first, lines, "no line shows when it lost contact"), (*lines, is_alive)
    at_most = min((each.time for each in (*contacts[:1], *others[:1])), default=None)
    is_witnessed = bool(contacts) and not stood_still(contacts[0], observed)
    still = open_until(contacts[0], observed) if is_witnessed else None
    if still is not None:
        last = still if last is None else max(last, still)
    if at_most is None:
        return moment(last, None, lines, "no line shows when it ended"), lines
    return moment(last, at_most, lines, ""), lines


def _still_stopping(broker: int, run: Run, stop: BrokerLine, observed: Observed) -> Sequence[BrokerLine]:
    """Return the last line after ``stop`` by which the broker waits for its controlled shutdown, if any."""
    nexts = [line.time for line in (run.first(What.START), run.first(What.BACK)) if line is not None]
    kind, until = BrokerKind.CONTROLLED_SHUTDOWN_RETRIED, min(nexts, default=None)
    own = [each for each in observed.about_within(broker, kind, stop.time, until) if each.broker == broker]
    return own[-1:]


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
    if start is None:
        return observed.last_served(broker, first)
    if is_first_of_process(start):
        return observed.last_spoken(broker, min(first, start.time - STARTUP))
    # A start may fail when the broker has begun to serve.
    return None if start.kind == BrokerKind.START_FAILED else observed.last_served(broker, first)


def _in_contact(broker: int, last: datetime | None, first: datetime, observed: Observed) -> datetime | None:
    """Return when a broker surely was in contact, which its process may outlive.

    What it writes after it has lost ZooKeeper shows only that the process runs. When it registered before, it
    was in contact.
    """
    silences = [
        line.time if line.duration_ms is None else last_contact(line)
        for line in observed.about_within(broker, BrokerKind.SESSION_SILENT, first - CONTACT_WINDOW, first)
    ]
    spoken = observed.last_spoken(broker, first)
    if last is None or spoken is None or not silences or min(silences) > spoken:
        return last
    registered = observed.about_within(broker, BrokerKind.REGISTERED, first - CONTACT_WINDOW, max(silences))
    return max((line.time for line in registered if line.broker == broker), default=None)


def _silence(broker: int, first: datetime, observed: Observed) -> BrokerLine | None:
    """Return the broker's own line that ZooKeeper was silent while, or until, the cluster gave it up."""
    silences = (
        line
        for line in observed.about_within(broker, BrokerKind.SESSION_SILENT, first - CONTACT_WINDOW, None)
        if line.duration_ms is not None and last_contact(line) <= first
    )
    return max(silences, key=last_contact, default=None)


def why_gone(
    broker: int, run: Run, start: BrokerLine | None, first: datetime, observed: Observed, *,
    present: datetime | None, is_alive: Line | None,
) -> tuple[Cause, str | None, Lines]:  # fmt: skip
    """Return why a broker left, the text of a line that says so if one does, and the lines that prove it."""
    left, removed = run.left(), unregistered(run)
    if removed is not None:
        return Cause.UNREGISTERED, None, (removed.line,)
    if is_alive is not None and left.kinds(*STOP, *ENDS):
        return Cause.LOST_SESSION, None, (is_alive,)
    died = left.kinds(BrokerKind.DIED) or ended_at_once(broker, first, observed, is_alive=is_alive)
    if died:
        return Cause.DIED, died[0].error, (died[0].line,)
    failed = left.kinds(BrokerKind.CONTROLLED_SHUTDOWN_FAILED)
    granted = _asked(left, BrokerKind.CONTROLLED_SHUTDOWN_SUCCEEDED, BrokerKind.BROKER_STOP_GRANTED)
    if granted and not failed:
        return Cause.PLANNED, None, (granted[0].line,)
    if failed:
        return Cause.NOT_GRANTED, failed[0].error, (failed[0].line,)
    stopped = _asked(left, BrokerKind.STOPPED, BrokerKind.NODE_STOPPED, *STOP, *ASKED)
    if stopped:
        reason = MOVED if stopped[-1].kind == HANDED_OVER else None
        return Cause.STOPPED, reason, (stopped[-1].line,)
    if is_alive is not None:
        return Cause.LOST_SESSION, *_given_up(_silence(broker, first, observed), is_alive)
    found = found_by_next(run)
    clean = [line for line in found if line.kind == BrokerKind.PREVIOUS_STOP_CLEAN]
    if clean:
        return Cause.STOPPED, "the next start found a clean shutdown", (clean[0].line,)
    if found:
        last = last_of_process(broker, start, first, observed)
        is_only = found_by_first(run) is not None and last is None
        return Cause.DIED, UNCLEAN if is_only else None, (found[0].line,)
    renewed = [line for line in run.kinds(BrokerKind.BROKER_REGISTERED)[:1] if line.error is not None]
    if renewed:
        return Cause.DIED, renewed[0].error, (renewed[0].line,)
    refused = [
        line for line in lost_contacts(broker, present, first, observed) if line.contact == Contact.REFUSED
    ]
    if refused and start is not None and _has_logged_life(broker, refused[0].time, observed):
        # Nobody listened on the port any more, and a later process started: the one before ended without a
        # line.
        return Cause.DIED, None, (refused[0].line, start.line)
    return Cause.UNKNOWN, None, ()


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

    Args:
        broker: The broker.
        gone: When it left.
        run: The lines of its absence.
        first: The first sign that it is gone, or its next start.
        observed: Everything in the lines.
    """
    start, lost = run.first(What.START), latest(gone)
    if start is None or lost is None or isinstance(gone, Fact) or lost + _AT_ONCE >= start.time:
        return None
    contacts = observed.about_within(broker, BrokerKind.CONTACT_LOST, lost, first + CLOCKS)
    return None if any(shows_end(line, observed) for line in contacts) else start.time


def _has_logged_life(broker: int, until: datetime, observed: Observed) -> bool:
    """Return whether the log with a broker's starts and stops goes back to before a moment.

    Older files may have been removed, and a shutdown with them.
    """
    kinds = (*STARTS, *SERVES, *STOP, *ENDS, BrokerKind.REGISTERED, BrokerKind.CONFIGURED)
    return any(
        line.broker == broker for kind in kinds for line in observed.about_within(broker, kind, None, until)
    )
