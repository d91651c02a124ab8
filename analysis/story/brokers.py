"""Each broker's absences: departure, cause, notice and return.

A controller proves only when the cluster noticed; ``causes`` says when and why a broker left.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.reading.metadata.registrations import IN_SNAPSHOT
from barnabas.analysis.story.absence import Absence, begin_of
from barnabas.analysis.story.causes import Cause, cut_short, lives_on, outlived, when_gone, why_gone
from barnabas.analysis.story.certainty import Bound, Fact, Instant, Unknown, earliest, moment
from barnabas.analysis.story.clusters import beginnings
from barnabas.analysis.story.comebacks import line_of_return, returned_at
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.presences import (
    is_first_start,
    is_of_directory,
    is_only_offline,
    is_present,
    may_be_stop,
    moved_from,
)
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.runs import (
    ASKED,
    ENDS,
    HANDOVER,
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
)

TOGETHER = timedelta(seconds=30)
"""Brokers that leave within this time of each other, or of a return, are parts of one incident."""

_OWN_LOG = (*STOP, *HANDOVER, *STARTS, *SERVES, *ENDS, BrokerKind.CONFIGURED)
"""The kinds of lines that only a broker's own log has."""


def absences(observed: Observed, led: Mapping[int, Sequence[datetime]] | None = None) -> list[Absence]:
    """Return the absences of brokers, by the latest time at which each began.

    Args:
        observed: Everything in the lines; all times are taken to be of one clock.
        led: When partitions lost each broker as their leader; None for never.
    """
    begins: dict[int, list[datetime]] = {}
    for each in beginnings(observed.brokers):
        begins.setdefault(each.broker, []).append(each.start)
    moved = moved_from(observed.states)
    found = [
        absence
        for broker, lines in lines_about(observed.brokers).items()
        for since, part in parts_of(lines, begins.get(broker, ()))
        for present in [_presences(part)]
        for run in runs_of(part, partial(is_of_directory, broker, observed))
        if not is_first_start(broker, run, part, observed, since) and not is_present(broker, run, observed)
        for has_led in [_has_led(run, (led or {}).get(broker, ()))]
        for absence in [_absence(broker, run, _last_present(present, run), observed, has_led=has_led)]
        if has_led
        or not is_only_offline(
            broker, run, earliest(absence.gone) or _last_present(present, run), observed,
            moved=moved.get(broker, ()),
        )
    ]  # fmt: skip
    return sorted(found, key=lambda each: (begin_of(each), each.broker))


def _presences(marks: Sequence[tuple[What, BrokerLine]]) -> list[datetime]:
    """Return when lines show a broker present or starting, sorted.

    A controller sends requests also to a broker of whose death it does not know.
    """
    return [line.time for what, line in marks if what in (What.BACK, What.START) and line.kind not in SENT]


def _last_present(presences: Sequence[datetime], run: Run) -> datetime | None:
    """Return when a line last showed a broker present before an absence; None if none does."""
    index = bisect_left(presences, run.marks[0][1].time)
    return presences[index - 1] if index else None


def _has_led(run: Run, lost: Sequence[datetime]) -> bool:
    """Return whether partitions lost a broker as their leader when it left."""
    return any(abs(time - run.marks[0][1].time) <= TOGETHER for time in lost)


def _absence(
    broker: int, run: Run, present: datetime | None, observed: Observed, *, has_led: bool
) -> Absence:
    start, notice = run.first(What.START), _first_notice(broker, run)
    first = min(line.time for line in (start, notice, run.marks[0][1]) if line is not None)
    alive = lives_on(broker, run, start, observed)
    gone, proof = when_gone(broker, run, first, observed, present=present, is_alive=alive)
    cause, reason, causal = why_gone(broker, run, first, observed, is_alive=alive)
    if cause is Cause.UNKNOWN and not has_led and may_be_stop(broker, run, observed):
        # It was lost before its replicas went offline, or it asked to stop, and ended afterwards.
        cause, gone = Cause.LOST_OR_STOPPED, moment(earliest(gone), None, gone.lines, "no line shows its end")
    stop = next(iter(run.left().kinds(*STOP)), None)
    is_cut = cut_short(run)
    expired = next(iter(run.kinds(BrokerKind.SESSION_EXPIRED)), None)
    fenced = next(iter(run.kinds(BrokerKind.BROKER_FENCED)), None)
    back = line_of_return(run, start or expired or notice or run.marks[0][1])
    shown = [each.line for each in (notice,) if each is not None]
    return Absence(
        broker=broker,
        gone=gone,
        cause=cause,
        reason=reason,
        has_own_log=bool(observed.about(broker, *_OWN_LOG)),
        noticed=_noticed_at(notice),
        started=None if start is None else start.time,
        returned=returned_at(run, back),
        stopping=None if stop is None else stop.time,
        # What a broker writes after it was cut off does not show that it served until then.
        spoke=None if fenced is None else observed.last_spoken(broker, fenced.time),
        lines=tuple(dict.fromkeys((*causal, *(() if is_cut is None else (is_cut,)), *proof, *shown))),
        cut_short=is_cut,
        ended_by=outlived(broker, gone, run, first, observed) if cause is Cause.DIED else None,
        has_spoken=broker in observed.as_brokers,
    )


def _first_notice(broker: int, run: Run) -> BrokerLine | None:
    """Return the first line by which others took a broker for gone, best one that no stop of it explains."""
    gone = [line for what, line in run.marks if what is What.GONE and line.broker != broker]
    is_of_stop, is_sent_on = handover(run.left().kinds(*STOP, *HANDOVER, *ASKED)), sent_on(run)
    proven = [line for line in gone if not is_of_stop(line) and not is_sent_on(line)]
    return next(iter((*proven, *gone)), None)


def _noticed_at(line: BrokerLine | None) -> Instant:
    """Return when a controller first treated a broker as gone; its line ``line`` is the first about that.

    Each new controller takes the replicas of all absent brokers offline again, and a snapshot shows only who
    was fenced when it was made. So such a line bounds the time only from above.
    """
    if line is None:
        return Unknown("no controller's line shows it")
    is_dated = line.kind not in OFFLINE and line.error != IN_SNAPSHOT
    return Fact(line.time, (line.line,)) if is_dated else Bound(None, line.time, (line.line,))
