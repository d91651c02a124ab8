"""Log directories that failed, and what belongs to their failures."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.certainty import latest
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.partitions import Outage
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.runs import OFFLINE
from barnabas.cluster.model.statechange import Kind

_FAILED = (BrokerKind.DIRECTORY_FAILED, Kind.REPLICAS_OFFLINE)
"""The lines by which a log directory of a broker failed.

A controller of ZooKeeper marks replicas as offline only if their broker answers LeaderAndIsr with
KAFKA_STORAGE_ERROR (``KafkaController.processLeaderAndIsrResponseReceived``), so the broker is there.
"""

_OF_DIRECTORY = timedelta(seconds=30)
"""The longest time from the failure of a log directory until a controller has moved what lay there."""


def with_moves(observed: Observed, lost: Iterable[Outage]) -> Observed:
    """Add when controllers moved what lay on each log directory that failed.

    A controller moves all of it at once, and each new controller does so again. What a broker loses at other
    times is not because of the directory: the broker itself may be gone.
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
    elections = [each.since for each in observed.controllers]
    moves: dict[tuple[int, datetime], Sequence[tuple[datetime, datetime]]] = {}
    for failure in failures:
        if failure.subject is not None:
            times = by_broker[failure.subject]
            moves[failure.subject, failure.time] = _moves(failure, times, elections)
    return replace(observed, moves=moves)


def _moves(
    failed: BrokerLine, times: Sequence[datetime], elections: Sequence[datetime]
) -> list[tuple[datetime, datetime]]:
    """Return the spans of the losses that follow each other from the first one, or from an election, on.

    A controller moves what it has marked as offline after its line about that.
    """
    since = failed.time if failed.kind == Kind.REPLICAS_OFFLINE else failed.time - CLOCKS
    first, last = bisect_left(times, since), bisect_right(times, failed.time + _OF_DIRECTORY)
    spans: list[tuple[datetime, datetime]] = []
    for time in times[first:last]:
        if spans and time <= spans[-1][1] + CLOCKS:
            spans[-1] = spans[-1][0], time
        elif not spans or any(time - CLOCKS <= each <= time for each in elections):
            spans.append((time, time))
    return spans


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
