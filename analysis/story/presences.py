"""Signs of an absence that do not prove one: the broker may have been there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.causes import STARTUP, last_of_process
from barnabas.analysis.story.closings import PREVIOUS, found_by_first
from barnabas.analysis.story.contacts import CONTACT_WINDOW
from barnabas.analysis.story.directories import failed_directory
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.rows import BrokerLine, State
from barnabas.analysis.story.runs import ENDS, IMPLIED, OFFLINE, SENT, STARTS, STOP, Run, What, sent_on

_NEW_INCARNATION = "Registering a new incarnation of broker"
"""A controller of KRaft knew an earlier process of the broker."""


def is_known_loss(broker: int, run: Run) -> bool:
    """Return whether an absence begins with the line of a controller that knew the broker to be there.

    From 4.0 on, when the line has a broker epoch, one of KRaft fences a broker that has only registered, too.
    """
    first = run.marks[0][1]
    return broker in (*first.lost, *first.bounced) or (
        first.kind == BrokerKind.BROKER_FENCED and first.broker_epoch is None
    )


def is_only_offline(
    broker: int,
    run: Run,
    alive: datetime | None,
    observed: Observed,
    *,
    moved: Sequence[State],
    lost: Sequence[datetime],
) -> bool:
    """Return whether a broker need not be gone: only that a controller took replicas of it offline is shown.

    More is a leadership that moved, a contact that was lost, or a replica that stayed assigned, after
    ``alive``, the last sign of life, unless the controller sends requests to the broker after that. ``moved``
    and ``lost`` are the leaderships that moved from the broker, and when replicas went offline that stayed
    assigned to it.
    """
    if any(line.kind not in (*OFFLINE, *SENT, IMPLIED) for _, line in run.marks):
        return False
    is_sent_on = sent_on(run)
    if all(is_sent_on(line) for line in run.kinds(*OFFLINE)):
        return True
    first = run.marks[0][1].time
    since, until = first - CONTACT_WINDOW, first + CONTACT_WINDOW
    contacts = observed.about_within(broker, BrokerKind.CONTACT_LOST, since, until)
    shown = [*(state.first_logged for state in moved), *lost]
    is_shown = any(time <= until and (alive is None or time > alive) for time in shown)
    return not is_shown and not any(line.broker != broker for line in contacts)


def is_first_start(
    broker: int,
    run: Run,
    lines: Sequence[tuple[What, BrokerLine]],
    observed: Observed,
    since: datetime | None,
) -> bool:
    """Return whether a broker's absence is only its time before its first start in a cluster.

    A line before the start may be of the same start, but not if another line proves an earlier process. Logs
    that are recovered were not closed by an earlier one.
    """
    first = run.marks[0][1]
    if first.kind == BrokerKind.BROKER_REGISTERED and first.error is not None:
        return False
    if found_by_first(run) is not None:
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


def is_present(broker: int, run: Run, observed: Observed) -> bool:
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


def is_of_directory(broker: int, observed: Observed, line: BrokerLine) -> bool:
    """Return whether replicas went offline by a line because a log directory of their broker had failed."""
    return line.kind in OFFLINE and failed_directory(broker, line.time, observed) is not None
