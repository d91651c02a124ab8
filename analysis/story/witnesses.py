"""Absences of a broker whose clock differs from those of the brokers that saw it leave.

The times of its own lines and of the others' give no order of both, so each of the two gives absences. Two of
them are one if the times agree when the difference of the clocks is subtracted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from barnabas.analysis.story.absence import Absence, begin_of, known_end
from barnabas.analysis.story.brokers import OWN_LOG, absences
from barnabas.analysis.story.causes import ORDERLY, Cause
from barnabas.analysis.story.certainty import Unknown, earliest
from barnabas.analysis.story.clocks import Clocks, clocks_of
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.rows import BrokerLine

_SLACK = timedelta(minutes=1)
"""The longest time by which two lines about one event are apart when the difference is subtracted."""

_SILENCE = timedelta(minutes=10)
"""The longest silence of a broker while its clock was set back, which hides as much of the step."""


def absences_by_clocks(observed: Observed, only: Collection[int] | None = None) -> list[Absence]:
    """Return the absences of brokers, by the latest time at which each began.

    Args:
        observed: Everything in the lines.
        only: The brokers that count; None for all.
    """
    clocks = clocks_of(observed)
    apart = set() if clocks.all_agree else _apart(observed, clocks)
    if only is not None:
        apart &= set(only)
    found = absences(observed, only=only, without=apart)
    writers = {line.line.broker for line in observed.brokers} if apart else set()
    for broker in sorted(apart):
        own, others = _views(broker, observed, clocks)
        by_own = absences(own, only=(broker,))
        has_own_log = bool(observed.about(broker, *OWN_LOG))
        seen = [
            replace(
                each,
                has_own_log=has_own_log,
                is_by_others=True,
                may_be_stop=each.may_be_stop and not has_own_log,
            )
            for each in absences(others, only=(broker,))
        ]
        is_most = _are_most(broker, writers, clocks)
        found.extend(_merged(by_own, seen, _differences(broker, clocks), is_most=is_most))
    return sorted(found, key=lambda each: (begin_of(each), each.broker)) if apart else found


def _apart(observed: Observed, clocks: Clocks) -> set[int]:
    """Return the brokers that wrote lines about themselves and whose clocks differ from other writers'."""
    writers: dict[int, set[int | None]] = {}
    for line in observed.brokers:
        for broker in _subjects(line):
            writers.setdefault(broker, set()).add(line.line.broker)
    return {
        broker
        for broker, known in writers.items()
        if broker in known and any(not clocks.agree((broker, each)) for each in known if each is not None)
    }


def _are_most(broker: int, writers: Collection[int | None], clocks: Clocks) -> bool:
    """Return whether more clocks agree with a broker's than differ from it."""
    agreeing = [each for each in writers if each is not None and clocks.agree((broker, each))]
    return len(agreeing) > len(writers) / 2


def _subjects(line: BrokerLine) -> set[int]:
    subject = () if line.subject is None else (line.subject,)
    return {*subject, *line.added, *line.lost, *line.bounced}


def _views(broker: int, observed: Observed, clocks: Clocks) -> tuple[Observed, Observed]:
    """Return what a broker's own lines show, with those of its clock, and what those of the others show."""
    is_own = [
        line.broker == broker or (line.line.broker is not None and clocks.agree((broker, line.line.broker)))
        for line in observed.brokers
    ]
    own = [line for line, mine in zip(observed.brokers, is_own, strict=True) if mine]
    others = [line for line, mine in zip(observed.brokers, is_own, strict=True) if not mine]
    seen = replace(
        observed,
        brokers=others,
        spoken=_without(broker, observed.spoken),
        served=_without(broker, observed.served),
        joined=_without(broker, observed.joined),
    )
    return replace(observed, brokers=own), seen


def _without(broker: int, times: Mapping[int, Sequence[datetime]]) -> Mapping[int, Sequence[datetime]]:
    return {each: own for each, own in times.items() if each != broker}


def _differences(broker: int, clocks: Clocks) -> list[tuple[timedelta, timedelta]]:
    """Return by how much a broker's clock may be ahead of the others', as the least and the most.

    A clock that was set back was right either before that or afterwards.
    """
    found = []
    for each in clocks.differences:
        if broker in (each.broker, each.controller):
            ahead = each.least if each.is_ahead == (broker == each.broker) else -each.least
            found.append((ahead - _SLACK, ahead + _SLACK))
    for back in clocks.set_backs:
        if back.broker == broker:
            step = back.before - back.after
            found.append((-_SLACK, _SLACK))
            found.append((step - _SLACK, step + _SILENCE))
            found.append((-step - _SILENCE, _SLACK - step))
    # Nothing compares its clock with another one, as where only a third one is known to differ.
    return found or [(-_SLACK, _SLACK)]


def _merged(
    own: Sequence[Absence], seen: Sequence[Absence], ahead: Sequence[tuple[timedelta, timedelta]], *,
    is_most: bool,
) -> Iterable[Absence]:  # fmt: skip
    """Return the absences of a broker, each once.

    Args:
        own: Those that its own lines show.
        seen: Those that the lines of others show.
        ahead: By how much its clock may be ahead.
        is_most: Whether most clocks agree with its own.
    """
    rest = list(own)
    for each in seen:
        same = next((mine for mine in rest if any(_may_be_one(mine, each, by) for by in ahead)), None)
        if same is None:
            yield each
        else:
            rest.remove(same)
            yield _by_most(same, each) if is_most else _one(same, each)
    yield from rest


def _may_be_one(own: Absence, seen: Absence, ahead: tuple[timedelta, timedelta]) -> bool:
    """Return whether two absences are at the same time when the difference of the clocks is subtracted."""
    least, most = ahead
    (since, until), (first, last) = _span(own), _span(seen)
    return since - most <= last and until - least >= first


def _span(absence: Absence) -> tuple[datetime, datetime]:
    begin = begin_of(absence)
    return min(earliest(absence.gone) or begin, begin), max(known_end(absence) or begin, begin)


def _one(own: Absence, seen: Absence) -> Absence:
    """Return an absence with the times that others saw, and the cause that only its own lines may show.

    That its process had died before its next start does not show that it had when the others lost it.
    """
    knows_more = own.cause in (*ORDERLY, Cause.LOST_SESSION) and seen.cause in (
        Cause.UNKNOWN, Cause.FENCED, Cause.STOPPED,
    )  # fmt: skip
    known = own if knows_more else seen
    is_back_by_own = isinstance(seen.returned, Unknown) and not isinstance(own.returned, Unknown)
    return replace(
        seen,
        cause=known.cause,
        reason=known.reason,
        has_own_log=True,
        returned=own.returned if is_back_by_own else seen.returned,
        cut_short=own.cut_short or seen.cut_short,
        lines=tuple(dict.fromkeys((*own.lines, *seen.lines))),
        is_only_offline=False,
        may_be_stop=False,
        is_by_others=not is_back_by_own,
    )


def _by_most(own: Absence, seen: Absence) -> Absence:
    """Return an absence with the times by the clocks that agree with the broker's, and who noticed it."""
    return replace(
        own,
        has_own_log=True,
        noticed=own.noticed if isinstance(seen.noticed, Unknown) else seen.noticed,
        returned=seen.returned if isinstance(own.returned, Unknown) else own.returned,
        cut_short=own.cut_short or seen.cut_short,
        lines=tuple(dict.fromkeys((*own.lines, *seen.lines))),
        is_only_offline=False,
    )
