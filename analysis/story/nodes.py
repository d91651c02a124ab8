"""The nodes that are brokers, and those that are only controllers of KRaft."""

from __future__ import annotations

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.observed import Observed

_OF_KRAFT = (
    BrokerKind.BROKER_REGISTERED, BrokerKind.BROKER_UNREGISTERED, BrokerKind.BROKER_FENCED,
    BrokerKind.BROKER_UNFENCED, BrokerKind.BROKER_STOP_GRANTED,
)  # fmt: skip


_CONTROLLER = ("process.roles=[controller]", "process.roles=controller")


def brokers_of(observed: Observed) -> set[int]:
    """Return the brokers that the lines name; all of them, if a controller's list names them.

    A controller of KRaft need not be a broker; ZooKeeper's is one.
    """
    is_kraft = any(
        line.kind in (*_OF_KRAFT, BrokerKind.NODE_STARTED)
        or any(each.startswith("process.roles=") for each in line.settings)
        for line in observed.brokers
    )
    known = set(observed.as_brokers if is_kraft else observed.spoken)
    for line in observed.brokers:
        known.update((*line.live, *line.added, *line.lost))
        if line.kind in _OF_KRAFT and line.subject is not None:
            known.add(line.subject)
    for state in observed.states:
        known.update(state.replicas or ())
    return known


def only_controllers(observed: Observed) -> frozenset[int]:
    """Return the nodes that are controllers by their settings, or by a start without a broker's line."""
    known: set[int] = set()
    for line in observed.brokers:
        if line.subject is not None and (
            line.kind == BrokerKind.NODE_STARTED
            or (line.kind == BrokerKind.CONFIGURED and any(role in line.settings for role in _CONTROLLER))
        ):
            known.add(line.subject)
    return frozenset(known - brokers_of(observed))
