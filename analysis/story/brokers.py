"""Each broker's absences: departure, cause, notice and return.

A controller proves only when the cluster noticed; ``causes`` says when and why a broker left.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence, begin_of
from barnabas.analysis.story.causes import (
    Cause,
    lives_on,
    outlived,
    stopped_later,
    when_gone,
    why_gone,
)
from barnabas.analysis.story.certainty import (
    Fact,
    Unknown,
    earliest,
    latest,
    moment,
)  # fmt: skip
from barnabas.analysis.story.closings import cut_short
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
from barnabas.analysis.story.fences import may_have_stopped
from barnabas.analysis.story.notices import first_notice, moved_from, noticed_at
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.own_files import OwnFiles
from barnabas.analysis.story.presences import (
    is_first_start,
    is_known_loss,
    is_of_directory,
    is_only_offline,
    is_present,
)
from barnabas.analysis.story.removals import losses, may_be_stop
from barnabas.analysis.story.returns import Returns
from barnabas.analysis.story.rows import BrokerLine, State
from barnabas.analysis.story.runs import (
    ENDS,
    HANDOVER,
    IMPLIED,
    SENT,
    SERVES,
    STARTS,
    STOP,
    Run,
    What,
    lines_about,
    parts_of,
    runs_of,
)  # fmt: skip

OWN_LOG = (*STOP, *HANDOVER, *STARTS, *SERVES, *ENDS, BrokerKind.CONFIGURED)
"""The kinds of lines that only a broker's own log has."""


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
    moved, lost = moved_from(observed.states), losses(observed.states)
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
        for before, run in _with_before(runs_of(part, partial(is_of_directory, broker, observed)))
        for is_first in [is_first_start(broker, run, part, observed, since)]
        if not (is_first and not is_known_loss(broker, run)) and not is_present(broker, run, observed)
    ]
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


def _absence(
    broker: int,
    run: Run,
    present: datetime | None,
    observed: Observed,
    changes: _Changes,
) -> Absence:
    start = run.first(What.START)
    noticed = first_notice(broker, run)
    has_own_log = bool(observed.about(broker, *OWN_LOG))
    first = min(line.time for line in (start, noticed, run.marks[0][1]) if line is not None)
    alive = lives_on(broker, run, start, observed) or changes.files.goes_on(broker, run)
    gone, proof = when_gone(broker, run, first, observed, present=present, is_alive=alive)
    cause, reason, causal = why_gone(broker, run, start, first, observed, present=present, is_alive=alive)
    stopped = stopped_later(broker, run, observed) if alive is not None else None
    # A start that fails stops, too.
    stop = next(iter(run.left().kinds(*STOP)), None) if stopped is None else None
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
        else noticed_at(run, noticed, observed, gone=earliest(gone), present=present, moved=changes.moved),
        started=None if next_start is None else next_start.time,
        returned=returned,
        stopping=None if stop is None else stop.time,
        # What a broker writes after it was cut off does not show that it served until then.
        spoke=None if fenced is None or stopped is not None else observed.last_spoken(broker, fenced.time),
        unseen=None if unseen is None else max(unseen, run.marks[0][1].time),
        lines=tuple(dict.fromkeys((*causal, *cut, *proof, *(() if noticed is None else (noticed.line,))))),
        cut_short=is_cut,
        is_only_offline=is_only_offline(
            broker, run, earliest(gone) or present, observed, moved=changes.moved, lost=changes.lost
        ),
        ended_by=outlived(broker, gone, run, first, observed) if cause is Cause.DIED else None,
        stopped=stopped,
        wrote_until=writes_on(broker, fenced or noticed, observed) if is_silent else None,
        may_be_stop=cause is Cause.UNKNOWN
        and may_be_stop(broker, run, earliest(gone) or present, changes.moved, observed),
        has_spoken=broker in observed.as_brokers,
    )
