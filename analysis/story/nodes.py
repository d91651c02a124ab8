"""The nodes that are brokers, and those that are only controllers of KRaft."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.observed import OF_KRAFT, Observed
from barnabas.analysis.story.rows import BrokerLine

_CONTROLLER = ("process.roles=[controller]", "process.roles=controller")


class Members(NamedTuple):
    """The members of a cluster.

    Attributes:
        brokers: The brokers that the lines name.
        listed: The times at which a controller listed the live brokers, ascending.
        only_controllers: The nodes of KRaft that were elected, or that are controllers by their settings or
            by a start, of which no line shows a broker.
    """

    brokers: frozenset[int]
    listed: Sequence[datetime]
    only_controllers: frozenset[int]

    def are_listed(self, since: datetime, until: datetime) -> bool:
        """Return whether a controller listed the live brokers between two times, so that these are all."""
        first = bisect_left(self.listed, since)
        return first < len(self.listed) and self.listed[first] <= until


def members_of(observed: Observed) -> Members:
    """Return the members of the cluster, as far as the lines name them."""
    brokers = _brokers_of(observed)
    listed = sorted(line.time for line in observed.brokers if line.live)
    # A node that was elected may be a broker, too, but no line says so.
    elected = {each.broker for each in observed.controllers} if observed.is_kraft else set()
    return Members(brokers, listed, (_controllers_of(observed.brokers) | elected) - brokers)


def _brokers_of(observed: Observed) -> frozenset[int]:
    """Return the brokers; ZooKeeper's controller is one."""
    known = set(observed.as_brokers if observed.is_kraft else observed.spoken)
    for line in observed.brokers:
        known.update((*line.live, *line.added, *line.lost))
        if line.kind in OF_KRAFT and line.subject is not None:
            known.add(line.subject)
    for state in observed.states:
        known.update(state.replicas or ())
    return frozenset(known)


def _controllers_of(lines: Iterable[BrokerLine]) -> frozenset[int]:
    known: set[int] = set()
    for line in lines:
        if line.subject is not None and (
            line.kind == BrokerKind.NODE_STARTED
            or (line.kind == BrokerKind.CONFIGURED and any(role in line.settings for role in _CONTROLLER))
        ):
            known.add(line.subject)
    return frozenset(known)
