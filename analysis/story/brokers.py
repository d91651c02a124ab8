"""Each broker's absences: departure, cause, notice and return.

A controller proves only when the cluster noticed; ``causes`` says when and why a broker left.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.reading.metadata.registrations import IN_SNAPSHOT
from barnabas.analysis.story.causes import (
    PREVIOUS,
    STARTUP,
    Cause,
    cut_short,
    last_of_process,
    lives_on,
    outlived,
    stopped_later,
    when_gone,
    why_gone,
)
from barnabas.analysis.story.certainty import (
    Bound,
    Fact,
    Instant,
    Line,
    Lines,
    Unknown,
    earliest,
    latest,
    moment,
)  # fmt: skip
from barnabas.analysis.story.clusters import beginnings
from barnabas.analysis.story.comebacks import (
    has_failed,
    last_gone,
    line_of_return,
    returned_at,
    served_again,
    unseen_since,
    writes_on,
)
from barnabas.analysis.story.contacts import CONTACT_WINDOW
from barnabas.analysis.story.directories import failed_directory
from barnabas.analysis.story.fences import may_have_stopped
from barnabas.analysis.story.observed import CLOCKS, NO_LEADER, BrokerLine, Controller, Observed, State
from barnabas.analysis.story.own_files import OwnFiles
from barnabas.analysis.story.removals import is_of_new_controller, losses, may_be_stop
from barnabas.analysis.story.returns import Returns
from barnabas.analysis.story.runs import (
    ASKED,
    ENDS,
    HANDED_OVER,
    HANDOVER,
    IMPLIED,
    OFFLINE,
    SENT,
    SERVES,
    STARTS,
    STOP,
    Run,
    What,
    handover,
    lines_about,
    parts_of,
    runs_of,
    sent_on,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Absence:
    """A time in which a broker was gone, or taken for gone.

    Attributes:
        broker: The broker.
        gone: When it left.
        cause: Why it left.
        reason: The text of the line that says why; None if no line does.
        has_own_log: Whether lines of the broker's server.log about its life are among the logs.
        noticed: When a controller first treated it as gone; unknown if no line shows it.
        started: When its next process started; None if no line shows that.
        returned: When it could lead again; unknown if no line shows that it did.
        stopping: When it began to stop, for a logged stop.
        was_controller: Whether it was the controller until then.
        spoke: When it last wrote a line before a KRaft controller fenced it; None if it was not fenced, or
            if it may have been cut off before.
        unseen: From when on records or lines are missing that may show its return or a later absence; None if
            none are.
        lines: The lines that prove the absence and its cause.
        cut_short: The line which proves that the process ended before its shutdown was complete; None if none
            does.
        is_only_offline: Whether all that shows it is that a controller took some of the broker's replicas
            offline, as it does, too, when a reassignment or a deletion removes them.
        ended_by: When the next process started, if only that shows that the one before had died; None if
            other lines show it, or none does.
        stopped: The broker's own line of an orderly stop long after the cluster had given it up; None if
            there is none.
        wrote_until: When it last wrote a line, if it wrote on long after a controller had given it up, and no
            line shows a new process or its return; None otherwise.
        is_by_others: Whether all of its times are from lines of brokers whose clocks differ from its own.
        may_be_stop: Whether all that shows it is that a controller took some of the broker's replicas
            offline, as it does, too, when the broker asks to stop and goes on for a while.
        has_spoken: Whether any line of its own is among the logs.
    """

    broker: int
    gone: Instant
    cause: Cause
    reason: str | None
    has_own_log: bool
    noticed: Instant
    started: datetime | None
    returned: Instant
    stopping: datetime | None = None
    was_controller: bool = False
    spoke: datetime | None = None
    unseen: datetime | None = None
    lines: Lines = ()
    cut_short: Line | None = None
    is_only_offline: bool = False
    ended_by: datetime | None = None
    stopped: BrokerLine | None = None
    wrote_until: datetime | None = None
    is_by_others: bool = False
    may_be_stop: bool = False
    has_spoken: bool = False


OWN_LOG = (*STOP, *HANDOVER, *STARTS, *SERVES, *ENDS, BrokerKind.CONFIGURED)
"""The kinds of lines that only a broker's own log has."""

_NEW_INCARNATION = "Registering a new incarnation of broker"
"""A controller of KRaft knew an earlier process of the broker."""


def absences(
    observed: Observed, *, only: Collection[int] | None = None, without: Collection[int] = ()
) -> list[Absence]:
    """Return the absences of brokers, by the latest time at which each began.

    Args:
        observed: Everything in the lines; all times are taken to be of one clock.
        only: The brokers that count; None for all but those in ``without``.
        without: The brokers that do not count.
    """
    begins: dict[int, list[datetime]] = {}
    for each in beginnings(observed.brokers):
        begins.setdefault(each.broker, []).append(each.start)
    moved, lost = _moved(observed.states), losses(observed.states)
    returns, files = Returns(observed), OwnFiles(observed)
    found = [
        _without_start(
            _left_after(
                before,
                _absence(
                    broker,
                    run,
                    _last_present(present, run),
                    observed,
                    _Changes(begins.get(broker, ()), moved.get(broker, ()), lost.get(broker, ()), files),
                ),
            ),
            is_first=is_first and not run.left().kinds(*STOP, *HANDOVER, *ENDS),
        )
        for broker, lines in lines_about(observed.brokers).items()
        if (only is None or broker in only) and broker not in without
        for since, part in parts_of(returns.added(broker, lines), begins.get(broker, ()))
        for present in [_presences(part)]
        for before, run in _with_before(runs_of(part, partial(_is_of_directory, broker, observed)))
        for is_first in [_is_first_start(broker, run, part, observed, since)]
        if not (is_first and not _is_known_loss(broker, run)) and not _is_present(broker, run, observed)
    ]
    return sorted(found, key=lambda each: (begin_of(each), each.broker))


def begin_of(absence: Absence) -> datetime:
    """Return the moment by which an absence is ordered: the latest at which the broker left."""
    for known in (latest(absence.gone), latest(absence.noticed), absence.started, earliest(absence.gone)):
        if known is not None:
            return known
    raise AssertionError("an absence has a line, and each line has a time")


def known_end(absence: Absence) -> datetime | None:
    """Return until when a later event may be part of an absence; None if nothing shows its end."""
    ends = [each for each in (latest(absence.returned), absence.unseen) if each is not None]
    return min(ends, default=None)


def _presences(marks: Sequence[tuple[What, BrokerLine]]) -> list[datetime]:
    """Return when lines show a broker present or starting, sorted.

    A controller sends requests also to a broker of whose death it does not know.
    """
    return [line.time for what, line in marks if what in (What.BACK, What.START) and line.kind not in SENT]


def _last_present(presences: Sequence[datetime], run: Run) -> datetime | None:
    """Return when a line last showed a broker present before an absence; None if none does."""
    index = bisect_left(presences, run.marks[0][1].time)
    return presences[index - 1] if index else None


def _with_before(runs: Sequence[Run]) -> Iterable[tuple[Run | None, Run]]:
    """Return each absence's lines after those of the one before."""
    return zip((None, *runs), runs, strict=False)


def _left_after(before: Run | None, absence: Absence) -> Absence:
    """Bound a departure by the last line about the absence before, if no line states the return from that."""
    if before is None or not before.kinds(IMPLIED):
        return absence
    loss, low = before.last_loss(), earliest(absence.gone)
    if low is not None and low >= loss.time:
        return absence
    lines = (*absence.gone.lines, loss.line)
    return replace(absence, gone=moment(loss.time, latest(absence.gone), lines, ""))


def _is_known_loss(broker: int, run: Run) -> bool:
    """Return whether an absence begins with the line of a controller that knew the broker to be there.

    From 4.0 on, when the line has a broker epoch, one of KRaft fences a broker that has only registered, too.
    """
    first = run.marks[0][1]
    return broker in (*first.lost, *first.bounced) or (
        first.kind == BrokerKind.BROKER_FENCED and first.broker_epoch is None
    )


def _without_start(absence: Absence, *, is_first: bool) -> Absence:
    """Return an absence without what its next start says, where the broker's log begins with that start.

    Lines of an earlier start, which may be the next one after the loss, are missing then.
    """
    if not is_first:
        return absence
    noticed, back = absence.noticed, absence.returned
    if not isinstance(back, Unknown):
        back = moment(latest(noticed), latest(back), (*noticed.lines, *back.lines), "")
    return replace(
        absence, cause=Cause.UNKNOWN, reason=None, has_own_log=False, started=None,
        returned=back, lines=(*absence.gone.lines, *noticed.lines),
    )  # fmt: skip


class _Changes(NamedTuple):
    """Changes beside the lines about a broker.

    Attributes:
        begins: When other clusters began on its host.
        moved: The states that moved a leadership away from it.
        lost: When replicas of it were taken offline that stayed assigned to it.
        files: The lines of all brokers by file.
    """

    begins: Sequence[datetime]
    moved: Sequence[State]
    lost: Sequence[datetime]
    files: OwnFiles


def _moved(states: Iterable[State]) -> dict[int, list[State]]:
    """Return the states that moved a leadership away from each broker and left it out of the ISR, by time."""
    lives: dict[tuple[str, int, int], list[State]] = {}
    for state in states:
        if state.leader_epoch is not None and state.leader != NO_LEADER:
            lives.setdefault((state.topic, state.partition, state.life), []).append(state)
    moved: dict[int, list[State]] = {}
    for known in lives.values():
        known.sort(key=lambda state: (state.leader_epoch or 0, state.first_logged))
        for before, after in pairwise(known):
            if before.leader != after.leader and after.isr and before.leader not in after.isr:
                moved.setdefault(before.leader, []).append(after)
    for found in moved.values():
        found.sort(key=lambda state: state.first_logged)
    return moved


def _noticed(
    run: Run,
    line: BrokerLine | None,
    alive: datetime | None,
    moved: Sequence[State],
    controllers: Sequence[Controller],
) -> Instant:
    """Return when a controller first treated a broker as gone; its line ``line`` is the first about that.

    Each new controller takes the replicas of all absent brokers offline again. So that line bounds the time
    only from above if a leadership of a broker that did not stop had been moved before, after ``alive``, its
    last sign of life; or if the controller was just elected after another one than the lost broker.
    """
    if line is None:
        return Unknown("no controller's line shows it")
    if line.kind in OFFLINE and not run.kinds(*STOP, *HANDOVER, *ASKED):
        last = bisect_left(moved, line.time - CLOCKS, key=lambda state: state.first_logged)
        if last and (alive is None or moved[last - 1].first_logged > alive):
            return Bound(None, line.time, (line.line, moved[last - 1].line))
        if _may_repeat(line, controllers):
            return Bound(None, line.time, (line.line,))
    return Fact(line.time, (line.line,))


def _may_be_earlier(notice: BrokerLine, present: datetime | None, observed: Observed) -> bool:
    """Return whether a broker may have been lost before a record that shows it, of which one may be missing.

    A snapshot shows only who was fenced when it was made.
    """
    if notice.error == IN_SNAPSHOT:
        return True
    is_record = notice.controller_epoch is not None
    return is_record and bool(observed.about_within(None, BrokerKind.RECORDS_MISSING, present, notice.time))


def _may_repeat(line: BrokerLine, controllers: Sequence[Controller]) -> bool:
    """Return whether a controller may take a broker offline only because it has just been elected.

    The one before, unless it is the broker that was lost, may have done so earlier.
    """
    index = bisect_right(controllers, line.time, key=lambda each: each.since) - 1
    is_new = is_of_new_controller(line, controllers)
    return is_new and (index == 0 or controllers[index - 1].broker != line.subject)


def _first_notice(broker: int, run: Run) -> BrokerLine | None:
    """Return the first line by which others took a broker for gone, best one that no stop of it explains."""
    gone_lines = [line for what, line in run.marks if what is What.GONE and line.broker != broker]
    stop_lines = run.left().kinds(*STOP, *HANDOVER, *ASKED)
    is_of_stop, is_sent_on = handover(stop_lines), sent_on(run)
    found = next((line for line in gone_lines if not is_of_stop(line) and not is_sent_on(line)), None)
    if found is not None or any(line.kind == HANDED_OVER for line in stop_lines):
        return found
    return next(iter(gone_lines), None)


def _absence(
    broker: int,
    run: Run,
    present: datetime | None,
    observed: Observed,
    changes: _Changes,
) -> Absence:
    start = run.first(What.START)
    noticed = _first_notice(broker, run)
    has_own_log = bool(observed.about(broker, *OWN_LOG))
    first = min(line.time for line in (start, noticed, run.marks[0][1]) if line is not None)
    alive = lives_on(broker, run, start, observed) or changes.files.goes_on(broker, run)
    gone, proof = when_gone(broker, run, first, observed, present=present, is_alive=alive)
    cause, reason, causal = why_gone(broker, run, start, first, observed, present=present, is_alive=alive)
    stopped = stopped_later(broker, run, observed) if alive is not None else None
    stop = next(iter(run.kinds(*STOP)), None) if stopped is None else None
    is_cut = cut_short(run)
    cut = () if is_cut is None else (is_cut,)
    expired = next(iter(run.kinds(BrokerKind.SESSION_EXPIRED)), None)
    fenced = next(iter(run.kinds(BrokerKind.BROKER_FENCED)), None)
    back = line_of_return(run, start or expired or noticed or run.marks[0][1])
    unseen = unseen_since(run, back, observed)
    # A start after missing records need not be the first one.
    next_start = start if start is None or unseen is None or start.time <= unseen else None
    served = served_again(broker, run, observed, changes.begins)
    led_to = None if back is None and served is None and has_failed(run) else next_start
    returned = returned_at(back, led_to or last_gone(run, back), unseen, served)
    fence = may_have_stopped(run, gone) if cause is Cause.UNKNOWN and not has_own_log else None
    if fence is not None:
        cause, gone = Cause.FENCED, Fact(fence.time, (fence.line,))
    is_silent = cause is Cause.UNKNOWN and start is None and isinstance(returned, Unknown)
    return Absence(
        broker=broker,
        gone=gone,
        cause=cause,
        reason=reason,
        has_own_log=has_own_log,
        noticed=gone
        if cause is Cause.FENCED
        else _noticed(run, noticed, earliest(gone) or present, changes.moved, observed.controllers)
        if noticed is None or not _may_be_earlier(noticed, present, observed)
        else Bound(None, noticed.time, (noticed.line,)),
        started=None if next_start is None else next_start.time,
        returned=returned,
        stopping=None if stop is None else stop.time,
        # What a broker writes after it was cut off does not show that it served until then.
        spoke=None if fenced is None or stopped is not None else observed.last_spoken(broker, fenced.time),
        unseen=None if unseen is None else max(unseen, run.marks[0][1].time),
        lines=tuple(dict.fromkeys((*causal, *cut, *proof, *(() if noticed is None else (noticed.line,))))),
        cut_short=is_cut,
        is_only_offline=_is_only_offline(broker, run, earliest(gone) or present, observed, changes),
        ended_by=outlived(broker, gone, run, first, observed) if cause is Cause.DIED else None,
        stopped=stopped,
        wrote_until=writes_on(broker, fenced or noticed, observed) if is_silent else None,
        may_be_stop=cause is Cause.UNKNOWN
        and may_be_stop(broker, run, earliest(gone) or present, changes.moved, observed),
        has_spoken=broker in observed.as_brokers,
    )


def _is_only_offline(
    broker: int, run: Run, alive: datetime | None, observed: Observed, changes: _Changes
) -> bool:
    """Return whether a broker need not be gone: only that a controller took replicas of it offline is shown.

    More is a leadership that moved, a contact that was lost, or a replica that stayed assigned, after
    ``alive``, the last sign of life, unless the controller sends requests to the broker after that.
    """
    if any(line.kind not in (*OFFLINE, *SENT, IMPLIED) for _, line in run.marks):
        return False
    is_sent_on = sent_on(run)
    if all(is_sent_on(line) for line in run.kinds(*OFFLINE)):
        return True
    first = run.marks[0][1].time
    since, until = first - CONTACT_WINDOW, first + CONTACT_WINDOW
    lost = observed.about_within(broker, BrokerKind.CONTACT_LOST, since, until)
    shown = [*(state.first_logged for state in changes.moved), *changes.lost]
    is_shown = any(time <= until and (alive is None or time > alive) for time in shown)
    return not is_shown and not any(line.broker != broker for line in lost)


def _is_first_start(
    broker: int,
    run: Run,
    lines: Sequence[tuple[What, BrokerLine]],
    observed: Observed,
    since: datetime | None,
) -> bool:
    """Return whether a broker's absence is only its time before its first start in a cluster.

    A line before the start may be of the same start, but not if another line proves an earlier process.
    """
    first = run.marks[0][1]
    if first.kind == BrokerKind.BROKER_REGISTERED and first.error is not None:
        return False
    is_earliest = run.marks[0] == lines[0]
    is_next = any(_NEW_INCARNATION in line.line.text for line in run.kinds(BrokerKind.BROKER_REGISTERED))
    if is_next and first.kind == BrokerKind.BROKER_FENCED:
        return False
    has_earlier = is_next or bool(run.kinds(*PREVIOUS))
    spoken = (
        observed.last_spoken(broker, first.time - STARTUP)
        if has_earlier
        else last_of_process(broker, run.first(What.START), first.time, observed)
    )
    has_spoken = spoken is not None and (since is None or since <= spoken)
    is_start = run.first(What.START) is not None and run.marks[0][0] in (What.START, What.GONE)
    return is_start and is_earliest and not has_spoken


def _is_present(broker: int, run: Run, observed: Observed) -> bool:
    """Return whether a controller took replicas of a broker offline that was there.

    Every controller does that with the replicas of a log directory that failed; a new controller of ours with
    replicas that restarted unseen, its own included.
    """
    first = run.marks[0][1]
    if any(what not in (What.GONE, What.BACK) for what, _ in run.marks) or run.kinds(BrokerKind.REGISTERED):
        return False
    if any(what is What.GONE and line.kind not in OFFLINE for what, line in run.marks):
        return False
    if failed_directory(broker, first.time, observed) is not None:
        return True
    if first.broker == broker:
        return True
    after = observed.last_spoken(broker, first.time + CLOCKS)
    may_speak = not observed.knows_until(first.time + CLOCKS) or (after is not None and after > first.time)
    return may_speak and not _was_cut_off(broker, first.time, observed)


def _was_cut_off(broker: int, time: datetime, observed: Observed) -> bool:
    """Return whether a broker had lost ZooKeeper shortly before a moment, though it writes on.

    It says so itself, or another broker was elected in its place as the controller. What happened before it
    registered again is over.
    """
    since, until = time - CONTACT_WINDOW, time + CLOCKS
    registered = observed.about_within(broker, BrokerKind.REGISTERED, since, time)
    since = max((line.time for line in registered), default=since)
    silences = observed.about_within(broker, BrokerKind.SESSION_SILENT, since, until)
    if any(line.broker == broker for line in silences):
        return True
    return any(
        before.broker == broker != after.broker and after.epoch == before.epoch + 1
        and since <= after.since <= until
        and not any(
            line.broker == broker
            for kind in (*STARTS, *STOP, *ENDS)
            for line in observed.about_within(broker, kind, before.since, until)
        )
        for before, after in pairwise(observed.controllers)
    )  # fmt: skip


def _is_of_directory(broker: int, observed: Observed, line: BrokerLine) -> bool:
    return line.kind in OFFLINE and failed_directory(broker, line.time, observed) is not None
