"""Log directories that failed, and what belongs to their failures."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.certainty import latest
from barnabas.analysis.story.observed import CLOCKS, Observed, first_after
from barnabas.analysis.story.partitions import Outage
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.runs import ASKED, ENDS, OFFLINE, STARTS, STOP
from barnabas.cluster.model.statechange import Kind

_FAILED = (BrokerKind.DIRECTORY_FAILED, Kind.REPLICAS_OFFLINE)
"""The lines by which a log directory of a broker failed.

A controller of ZooKeeper marks replicas as offline only if their broker answers LeaderAndIsr with
KAFKA_STORAGE_ERROR (``KafkaController.processLeaderAndIsrResponseReceived``), so the broker is there.
"""

_OF_DIRECTORY = timedelta(seconds=30)
"""The longest time from the failure of a log directory until a controller has moved what lay there."""


_OF_PROCESS = (*STARTS, *STOP, *ENDS, *ASKED)
"""The lines with which a process begins or ends."""


def with_moves(observed: Observed, lost: Iterable[Outage]) -> Observed:
    """Add when controllers moved what lay on each log directory that failed.

    A controller moves all of it at once, and each new controller does so again, until the broker stops, is
    lost or starts again. What a broker loses at other times is not because of the directory: the broker
    itself may be gone.

    Args:
        observed: Everything in the lines.
        lost: The times without a leader.
    """
    failures = [line for line in observed.brokers if line.kind in _FAILED]
    if not failures:
        return observed
    losses: dict[int, list[datetime]] = {}
    for outage in lost:
        if outage.leader_before is not None and (begin := latest(outage.begin)) is not None:
            losses.setdefault(outage.leader_before, []).append(begin)
    by_broker = {
        broker: sorted((*losses.get(broker, ()), *(line.time for line in observed.about(broker, *OFFLINE))))
        for broker in {failure.subject for failure in failures if failure.subject is not None}
    }
    turns = _turns(by_broker, observed)
    elections = [each.since for each in observed.controllers]
    moves: dict[tuple[int, datetime], Sequence[tuple[datetime, datetime]]] = {}
    for failure in failures:
        if failure.subject is not None:
            marked = [line.time for line in observed.about(failure.subject, Kind.REPLICAS_OFFLINE)]
            turned = first_after(turns[failure.subject], failure.time)
            times = [each for each in by_broker[failure.subject] if turned is None or each < turned]
            moves[failure.subject, failure.time] = _moves(failure, times, elections, marked)
    return replace(observed, moves=moves)


def _turns(brokers: Iterable[int], observed: Observed) -> dict[int, list[datetime]]:
    """Return when each broker stopped, was lost or started again, by its own lines or a controller's."""
    turns = {broker: [line.time for line in observed.about(broker, *_OF_PROCESS)] for broker in brokers}
    for line in observed.of_kind(BrokerKind.BROKERS_CHANGED):
        for broker in (*line.lost, *line.added, *line.bounced):
            turns.get(broker, []).append(line.time)
    return {broker: sorted(times) for broker, times in turns.items()}


def _moves(
    failed: BrokerLine, times: Sequence[datetime], elections: Sequence[datetime], marked: Sequence[datetime]
) -> list[tuple[datetime, datetime]]:
    """Return the spans of the losses that follow each other from the first one, or from an election, on.

    A controller moves what it has marked as offline after its line about that. One that is elected later
    knows of the directory by the broker's answer only, and marks the same again.

    Args:
        failed: The line about the failure.
        times: When replicas or leaders of the broker were lost, sorted.
        elections: When controllers were elected.
        marked: When controllers marked replicas of the broker as offline, sorted; none if no line shows that.
    """
    since = failed.time if failed.kind == Kind.REPLICAS_OFFLINE else failed.time - CLOCKS
    first, last = bisect_left(times, since), bisect_right(times, failed.time + _OF_DIRECTORY)
    spans: list[tuple[datetime, datetime]] = []
    for time in times[first:last]:
        before = spans[-1][1] if spans else since
        elected = [each for each in elections if max(before, time - CLOCKS) <= each <= time]
        if spans and not elected and time <= before + CLOCKS:
            spans[-1] = spans[-1][0], time
        elif not spans or any(_is_marked(each, marked) for each in elected):
            spans.append((time, time))
    return spans


def _is_marked(election: datetime, marked: Sequence[datetime]) -> bool:
    """Return whether a controller marked replicas as offline after its election, as far as lines show."""
    first = first_after(marked, election)
    return not marked or (first is not None and first <= election + CLOCKS)


def failed_directory(broker: int, time: datetime, observed: Observed) -> BrokerLine | None:
    """Return the line which shows that a log directory of a broker failed, shortly before ``time``.

    The broker's own line names the directory, so it comes before a controller's. What happens after the
    broker's next start is not because of the failure, nor is what happens when nothing of it was moved.
    """
    since, until = time - _OF_DIRECTORY, time + CLOCKS
    failures = [line for kind in _FAILED for line in observed.about_within(broker, kind, since, until)]
    if not failures:
        return None
    starts = observed.about_within(broker, BrokerKind.STARTING, since, time)
    started = starts[-1].time if starts else since
    left = (
        line
        for line in failures
        if line.time >= started and _is_within(time, observed.moves.get((broker, line.time)))
    )
    return min(left, key=lambda line: (line.role == "controller", line.time), default=None)


def _is_within(time: datetime, spans: Sequence[tuple[datetime, datetime]] | None) -> bool:
    return spans is None or any(begin <= time <= end for begin, end in spans)
