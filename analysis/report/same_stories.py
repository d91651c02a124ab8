"""Stalls, failovers and leaders that say what the incidents prove of them.

The tables take a broker's last line before a controller's notice for its end, and a leader that a controller
replaces for one that went offline. The incidents know of new processes, of brokers that lived on, of missing
leader epochs and of clocks that differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple

from barnabas.analysis.derived.leaders import LOST, MOVED, NO_LEADER_BEFORE, NONE, PREFERRED, WITHOUT
from barnabas.analysis.derived.unavailability import LEADER_OFFLINE
from barnabas.analysis.questions.availability import OFFLINE
from barnabas.analysis.report.same_facts import REFUSED, STAYED, cause
from barnabas.analysis.report.slow_elections import as_one
from barnabas.analysis.story.absence import Absence, begin_of, known_end
from barnabas.analysis.story.causes import ORDERLY, Cause
from barnabas.analysis.story.certainty import Unknown, earliest, latest
from barnabas.analysis.story.costs import Period, greatest, least
from barnabas.analysis.story.incident import Incident
from barnabas.analysis.story.intervals import Intervals
from barnabas.analysis.story.observed import CLOCKS

Row = dict[str, Any]

_MILLISECOND = timedelta(milliseconds=1)


class Leaderless(NamedTuple):
    """A time without a leader, and the incident that it is part of."""

    period: Period
    incident: Incident


def periods(incidents: Iterable[Incident]) -> dict[str, list[Leaderless]]:
    """Return the times without a leader of each partition."""
    found: dict[str, list[Leaderless]] = {}
    for incident in incidents:
        for cost in incident.costs:
            for each in cost.each:
                found.setdefault(each.name, []).append(Leaderless(each, incident))
    return found


def stalls(rows: Iterable[Row], known: Mapping[str, Sequence[Leaderless]]) -> list[Row]:
    """Return rows of ``write_stalls`` with what the incidents prove of them.

    Args:
        rows: The rows. Those that no incident has remain.
        known: The result of ``periods``.

    Returns:
        The rows with the same columns, and ``at_least_ms`` and ``at_most_ms``, how long the partition had no
        leader; both are null if it is unknown, one if nothing bounds it on that side. ``earliest`` is until
        when it surely had one, which may be no line's time: ``is_silent`` says whether it is that of the lost
        leader's last line.
    """
    return [_stall(row, known) if row["what"] == OFFLINE else row for row in rows]


def _stall(row: Row, known: Mapping[str, Sequence[Leaderless]]) -> Row:
    same = _same(row, known.get(f"{row['topic']}-{row['partition']}", ()))
    if same is None:
        return row
    since, noticed, duration = same.period.since, row["since"], same.period.duration
    most = greatest(duration)
    absence = _absence(same.incident.absences, row["leader_before"], noticed)
    return row | {
        "at_least_ms": None if isinstance(duration, Unknown) else least(duration) / _MILLISECOND,
        "at_most_ms": None if most is None else most / _MILLISECOND,
        "earliest": since,
        "is_silent": since is not None and since == row["earliest"],
        "since": noticed if absence is None else _noticed(absence, noticed, (same.period,)),
        "cause": cause(row["cause"], [same.incident]),
    }


def is_in_incident(row: Row) -> bool:
    """Return whether an incident has the time without a leader that a row of ``stalls`` is."""
    return "at_least_ms" in row


def _same(row: Row, found: Sequence[Leaderless]) -> Leaderless | None:
    """Return the time without a leader that a stall is; None if no incident has it."""
    since, elected = row["since"], row["elected"]
    near = [each for each in found if each.period.begin is not None and each.period.begin <= since + CLOCKS]
    ended = [each for each in near if elected is not None and each.period.shown == elected]
    overlapping = [each for each in near if each.period.shown is None or each.period.shown >= since - CLOCKS]
    return max(ended or overlapping, key=lambda each: each.period.begin or since, default=None)


def _absence(found: Iterable[Absence], broker: int | None, noticed: datetime) -> Absence | None:
    """Return the latest absence of a broker within which its loss was noticed."""
    own = [
        each
        for each in found
        if each.broker == broker
        and begin_of(each) <= noticed + CLOCKS
        and ((end := known_end(each)) is None or noticed <= end + CLOCKS)
    ]
    return max(own, key=begin_of, default=None)


def _noticed(absence: Absence, noticed: datetime, unled: Iterable[Period]) -> datetime:
    """Return when the controller noticed an absence: its first line about it may be of another partition.

    Args:
        absence: The absence.
        noticed: The first line about the partitions, which may be that of a late election.
        unled: Their times without a leader.
    """
    first = latest(absence.noticed) or noticed
    if noticed - CLOCKS <= first <= noticed:
        return first
    begins = [each.begin for each in unled]
    is_late = bool(begins) and all(begin is not None and begin <= first + CLOCKS for begin in begins)
    return first if first < noticed and is_late else noticed


def failovers(
    rows: Iterable[Row], incidents: Sequence[Incident], known: Mapping[str, Sequence[Leaderless]]
) -> list[Row]:
    """Return the answer ``failovers`` with what the incidents prove of the partitions and of the broker.

    Args:
        rows: The answer of the tables. What has no partitions remains.
        incidents: All incidents.
        known: The result of ``periods``.

    Returns:
        The rows with the same columns. ``total_ms`` is the longest time that a partition that moved may have
        had no leader, null if nothing bounds it. ``last_logged`` is until when the broker surely had not
        left; ``is_silent`` says whether it is the time of its last line. ``apart`` are the brokers whose
        clocks differ from the controller's. ``is_behind`` says whether offsets prove that the times of what
        follows are by a clock that is behind. ``cause`` says why partitions lost their leader, in ``STAYED``
        if its broker did not leave.
    """
    differences = [each for one in incidents for each in one.differences]
    pairs = {frozenset((each.broker, each.controller)) for each in differences}
    by_offsets = {(each.controller, each.broker) for each in differences if each.by_offsets}
    back = {each.broker for one in incidents for each in one.set_backs}
    absences: dict[int, list[Absence]] = {}
    for each in (each for one in incidents for each in one.absences):
        absences.setdefault(each.broker, []).append(each)
    every = [each for found in known.values() for each in found]
    times = _Times(
        Intervals(
            (each.period.begin, each.period.shown, each) for each in every if each.period.begin is not None
        ),
        Intervals(
            (each.period.shown, each.period.shown, each) for each in every if each.period.shown is not None
        ),
    )
    return as_one(
        _failover(row, absences.get(row["broker"], ()), _apart(row, pairs, back), times)
        | ({"is_behind": True} if by_offsets and _is_behind(row) else {})
        if row["partitions"]
        else row | ({"is_behind": True} if (row["broker"], row["controller"]) in by_offsets else {})
        for row in rows
    )


def _is_behind(row: Row) -> bool:
    """Return whether the elections after a notice have earlier times, as another controller followed."""
    ends = [row[name] for name in ("elected", "returned") if row[name] is not None]
    return any(end < row["noticed"] for end in ends)


class _Times(NamedTuple):
    """The times without a leader: those that had begun at a moment, and those that lines then show ended."""

    begun: Intervals[Leaderless]
    ended: Intervals[Leaderless]


def _apart(row: Row, pairs: set[frozenset[int]], back: set[int]) -> list[int]:
    """Return the brokers of a failover whose clocks differ from its controller's.

    Args:
        row: The failover.
        pairs: The brokers whose clocks differ from each other.
        back: The brokers whose clocks were set back.
    """
    controller = row["controller"]
    others = {each for pair in pairs if controller in pair for each in pair - {controller}}
    named = {row["broker"], *row["leaders"]}
    return sorted(others | (named if controller in back else named & back))


def _failover(
    row: Row,
    absences: Sequence[Absence],
    apart: list[int],
    times: _Times,
) -> Row:
    absence = _absence(absences, row["broker"], row["noticed"])
    # Of a broker that did not leave, a line before the notice says nothing of the failover.
    since = None if absence is None or row["broker"] in apart else earliest(absence.gone)
    if since is not None and since > row["noticed"]:
        since = row["last_logged"]  # A broker that stops loses its leaders before it ends.
    moved = _moved(row, times)
    noticed = row["noticed"] if absence is None else _noticed(absence, row["noticed"], moved)
    return row | {
        "last_logged": since,
        "is_silent": since == row["last_logged"],
        # The first line about a broker that stops is one of its followers.
        "noticed": row["noticed"] if since is not None and since > noticed else noticed,
        "total_ms": _total(row, times),
        "apart": apart,
        "cause": _cause(row, times),
    }


def _moved(row: Row, times: _Times) -> list[Period]:
    """Return the times without a leader of the partitions that moved in a failover."""
    if row["elected"] is None:
        return []
    return [
        each.period
        for each in times.ended.near(row["noticed"], before=row["elected"] - row["noticed"])
        if each.period.leader_before in (row["broker"], None) and each.period.leader_after in row["leaders"]
    ]


def _total(row: Row, times: _Times) -> int | None:
    """Return the most that a partition which moved had no leader; None if nothing bounds it."""
    if row["elected"] is None:
        return None
    moved = _moved(row, times)
    most = [greatest(each.duration) for each in moved]
    bounds = [each / _MILLISECOND for each in most if each is not None]
    return ceil(max(bounds)) if len(moved) >= row["moved"] and len(bounds) == len(moved) else None


def _cause(row: Row, times: _Times) -> str:
    """Return why partitions lost their leader in a failover if its broker did not leave."""
    noticed = row["noticed"]
    near = times.begun.near(noticed, before=CLOCKS)
    incidents = {id(each.incident): each.incident for each in near}.values()
    refused = (refusal for each in incidents for cost in each.costs for refusal in cost.refusals)
    if any(each.broker == row["broker"] and abs(each.time - noticed) <= CLOCKS for each in refused):
        return REFUSED
    own = [each.incident for each in near if each.period.leader_before == row["broker"]]
    return cause(LEADER_OFFLINE, own[:1])


def leaders(rows: Iterable[Row], agreed: Iterable[Row]) -> list[Row]:
    """Return rows of the table ``leaders`` that say that a leader went offline only if the incidents do.

    Args:
        rows: The rows, by partition and time.
        agreed: The stalls of these partitions, as ``stalls`` returns them.
    """
    offline: dict[tuple[str, int], list[Row]] = {}
    for stall in agreed:
        if stall["what"] == OFFLINE:
            offline.setdefault((stall["topic"], stall["partition"]), []).append(stall)
    return [_leader(row, offline.get((row["topic"], row["partition"]), ())) for row in rows]


def after_losses(rows: Iterable[Row], made: Iterable[Incident]) -> list[Row]:
    """Return rows of the table ``leaders`` that call no election a move which follows the leader's loss.

    A metadata log shows only who led before, and the fence of that broker in the same batch.

    Args:
        rows: The rows, by partition and time.
        made: The incidents.
    """
    noticed: dict[int, list[tuple[datetime, datetime, None]]] = {}
    for absence in (each for incident in made for each in incident.absences):
        is_lost = absence.cause not in (*ORDERLY, Cause.LOST_SESSION)
        if is_lost and (time := latest(absence.noticed)) is not None:
            noticed.setdefault(absence.broker, []).append((time, time, None))
    losses = {broker: Intervals(own) for broker, own in noticed.items()}

    def is_after_loss(row: Row) -> bool:
        before, isr, since = row.get("previous_leader"), row.get("isr") or (), row["since"]
        if row["why"] not in (MOVED, PREFERRED) or not isr or before in isr or before not in losses:
            return False
        return since is not None and bool(losses[before].near(since, CLOCKS, CLOCKS))

    return [row | {"why": LOST} if is_after_loss(row) else row for row in rows]


def born_once(rows: Iterable[Row], incidents: Iterable[Incident]) -> list[Row]:
    """Return rows of the table ``leaders`` with each new partition once, whatever the clocks of its brokers.

    The line of a broker whose clock is behind may have a time before the creation, and so seem to be of an
    earlier topic of that name.

    Args:
        rows: The rows, by partition and time.
        incidents: The incidents.
    """
    known = list(rows)
    behind = [each.least for one in incidents for each in one.differences if not each.is_ahead]
    if not behind:
        return known
    most = max(behind) + CLOCKS
    again = {
        index
        for index, (one, other) in enumerate(pairwise(known))
        if all(one[name] == other[name] for name in ("topic", "partition", "leader", "leader_epoch"))
        and other["leader_epoch"] == 0 and other["life"] == one["life"] + 1 and one["controller"] is None
        and timedelta(0) <= other["since"] - one["since"] <= most
    }  # fmt: skip
    return [row for index, row in enumerate(known) if index not in again]


def _leader(row: Row, offline: Sequence[Row]) -> Row:
    shown: dict[str, str] = {}
    for stall in offline:
        elected = stall["elected"]
        if stall["since"] - CLOCKS <= row["since"] and (elected is None or row["since"] <= elected + CLOCKS):
            is_same = stall["leader_epoch"] in (None, row["leader_epoch"])
            is_next = is_same and row["leader"] == stall["leader_after"]
            if stall["cause"] in STAYED:
                shown |= {NONE: WITHOUT, LOST: NO_LEADER_BEFORE}
            if is_next:
                # The line of the new leader's epoch need not say that there was no leader before.
                lost = NO_LEADER_BEFORE if stall["cause"] in STAYED else LOST
                shown |= {MOVED: lost, PREFERRED: lost}
    return row | {name: shown.get(row[name], row[name]) for name in ("why", "ended")}
