"""The spellings of a leadership inside a line, in all releases since 0.8.

The classes that Kafka prints changed their ``toString`` from release to release, and a controller prints
other classes than a broker. All of them are read into one ``Leadership``.
"""

from __future__ import annotations

import re

from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.statechange.leadership import Leadership, ids_in, int_in

LEADERSHIP_PATTERN = (
    r"LeaderAndIsr\(leader=.*?\)(?= |$)"
    r"|\S*PartitionState\([^()]*\)"
    r"|\S*PartitionState@[0-9a-f]+"
    r"|\(LeaderAndIsrInfo:\(.*?\),ReplicationFactor:\d+\),AllReplicas:[\d,]*\)"
    r"|\(Leader:[^()]*\)"
    r'|\{"leader":.*?\}'
)
"""The pattern of every spelling. 0.8 to 0.9 print unbalanced parentheses, 0.10.0.0 only an object's hash."""

_LEADER = re.compile(r'\bleader"?[=:](-?\d+)', re.IGNORECASE | re.ASCII)
_LEADER_EPOCH = re.compile(r'\bleader_?Epoch"?[=:](-?\d+)', re.IGNORECASE | re.ASCII)
_CONTROLLER_EPOCH = re.compile(r"\bcontrollerEpoch[=:](-?\d+)", re.IGNORECASE | re.ASCII)
_VERSION = re.compile(r"\b(?:zkVersion|partitionEpoch)[=:](-?\d+)", re.IGNORECASE | re.ASCII)
_ISR = re.compile(r'\bisr"?[=:](?:List\(|\[)?((?:-?\d+(?:, ?-?\d+)*)?)', re.IGNORECASE | re.ASCII)
_ISR_WITH_BROKER_EPOCH = re.compile(r"\bisrWithBrokerEpoch=List\((.*)\)", re.ASCII)
_BROKER_ID = re.compile(r"\bbrokerId=(\d+)", re.ASCII)
_REPLICAS = re.compile(r"\b(?:replicas=|AllReplicas:)\[?((?:-?\d+(?:, ?-?\d+)*)?)", re.ASCII)
_DELETE = re.compile(r"\bdeletePartition=(true|false)")
_TOPIC = re.compile(r"\btopicName='([^']*)', partitionIndex=(\d+)", re.ASCII)
_PARTS = {
    "leader": _LEADER,
    "leader_epoch": _LEADER_EPOCH,
    "isr": _ISR,
    "version": _VERSION,
    "controller_epoch": _CONTROLLER_EPOCH,
    "replicas": _REPLICAS,
    "delete": _DELETE,
    "topic": _TOPIC,
}


def read_leadership(text: str) -> Leadership:
    """Read a leadership in any spelling."""
    topic = _TOPIC.search(text)
    delete = _DELETE.search(text)
    return Leadership(
        leader=int_in(_LEADER, text),
        leader_epoch=int_in(_LEADER_EPOCH, text),
        isr=_isr(text),
        version=int_in(_VERSION, text),
        controller_epoch=int_in(_CONTROLLER_EPOCH, text),
        replicas=ids_in(_REPLICAS, text),
        topic_partition=TopicPartition(topic[1], int(topic[2])) if topic else None,
        delete=delete[1] == "true" if delete else None,
    )


def locate_leadership(text: str) -> dict[str, tuple[int, int]] | None:
    """Return the begin and end of each part of a leadership, by the names of ``Leadership``'s attributes.

    ``topic_partition`` is split into ``topic`` and ``partition``. The result is None if the ISR is not a list
    of numbers (``isrWithBrokerEpoch``, 3.5 and later).
    """
    if _ISR_WITH_BROKER_EPOCH.search(text):
        return None
    found = {name: pattern.search(text) for name, pattern in _PARTS.items()}
    spans = {name: part.span(1) for name, part in found.items() if part is not None}
    topic = found["topic"]
    if topic is not None:
        spans["partition"] = topic.span(2)
    return spans


def _isr(text: str) -> tuple[int, ...] | None:
    found = _ISR_WITH_BROKER_EPOCH.search(text)
    return tuple(int(broker) for broker in _BROKER_ID.findall(found[1])) if found else ids_in(_ISR, text)
