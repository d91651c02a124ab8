"""How a leadership is spelled inside a line: who leads, who is in sync, in which epochs.

Kafka prints six classes for it, and most changed their spelling over the releases (kafka-controller.md,
8.2). They are written here as release 2.8 prints them; all of them are read into one ``Leadership``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from cluster.model.ids import TopicPartition
from cluster.model.partition import LeaderAndIsr, PartitionState
from cluster.model.requests import LeaderAndIsrPartition, StopReplicaPartition, UpdateMetadataPartition

LEADERSHIP_PATTERN = (
    r"LeaderAndIsr\(leader=.*?\)(?= |$)"
    r"|\S*PartitionState\([^()]*\)"
    r"|\S*PartitionState@[0-9a-f]+"
    r"|\(LeaderAndIsrInfo:\(.*?\),ReplicationFactor:\d+\),AllReplicas:[\d,]*\)"
    r"|\(Leader:[^()]*\)"
    r'|\{"leader":.*?\}'
)
"""Every spelling; 0.8 to 0.9 print unbalanced parentheses, 0.10.0.0 only an object's hash."""

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


@dataclass(frozen=True, slots=True)
class Leadership:
    """What a line says of a partition's leadership; None where this spelling does not say it.

    Attributes:
        leader: The leader; -1 for none, -2 while the topic is being deleted.
        leader_epoch: The leader epoch.
        isr: The in-sync replicas.
        version: zkVersion, which 3.3 and later call partition epoch.
        controller_epoch: The reign that wrote this state: not always that of the controller who sends it.
        replicas: The assigned replicas.
        topic_partition: The partition, where the class names it itself (2.4 and later).
        delete: Whether StopReplica deletes the log.
    """

    leader: int | None = None
    leader_epoch: int | None = None
    isr: tuple[int, ...] | None = None
    version: int | None = None
    controller_epoch: int | None = None
    replicas: tuple[int, ...] | None = None
    topic_partition: TopicPartition | None = None
    delete: bool | None = None


def read_leadership(text: str) -> Leadership:
    """The leadership that any of the spellings means."""
    topic = _TOPIC.search(text)
    delete = _DELETE.search(text)
    return Leadership(
        leader=_int(_LEADER, text),
        leader_epoch=_int(_LEADER_EPOCH, text),
        isr=_isr(text),
        version=_int(_VERSION, text),
        controller_epoch=_int(_CONTROLLER_EPOCH, text),
        replicas=_ids(_REPLICAS, text),
        topic_partition=TopicPartition(topic[1], int(topic[2])) if topic else None,
        delete=delete[1] == "true" if delete else None,
    )


def locate_leadership(text: str) -> dict[str, tuple[int, int]] | None:
    """Where the parts of a leadership begin and end, by the names of ``Leadership``'s attributes.

    ``topic_partition`` is told as ``topic`` and ``partition``. None where the in-sync replicas are no list of
    numbers (``isrWithBrokerEpoch``, 3.5 and later).
    """
    if _ISR_WITH_BROKER_EPOCH.search(text):
        return None
    found = {name: pattern.search(text) for name, pattern in _PARTS.items()}
    spans = {name: part.span(1) for name, part in found.items() if part is not None}
    topic = found["topic"]
    if topic is not None:
        spans["partition"] = topic.span(2)
    return spans


def write_leader_and_isr(value: LeaderAndIsr) -> str:
    """As ``kafka.api.LeaderAndIsr`` prints, 1.1 to 3.1."""
    isr = _join(value.isr, ", ")
    return (
        f"LeaderAndIsr(leader={value.leader}, leaderEpoch={value.leader_epoch}, isr=List({isr}), "
        f"zkVersion={value.version})"
    )


def write_partition_state(value: PartitionState) -> str:
    """As ``kafka.controller.LeaderIsrAndControllerEpoch`` prints, 2.7 to 3.1."""
    known = value.leader_and_isr
    return (
        f"(Leader:{known.leader},ISR:{_join(known.isr)},LeaderEpoch:{known.leader_epoch},"
        f"ZkVersion:{known.version},ControllerEpoch:{value.controller_epoch})"
    )


def write_leader_and_isr_partition(value: LeaderAndIsrPartition) -> str:
    """As a partition of a LeaderAndIsr request prints, 2.4 to 3.1."""
    assignment = value.assignment
    return (
        f"LeaderAndIsrPartitionState({_head(value.topic_partition, value.state)}, "
        f"replicas=[{_join(assignment.replicas, ', ')}], addingReplicas=[{_join(assignment.adding, ', ')}], "
        f"removingReplicas=[{_join(assignment.removing, ', ')}], isNew={'true' if value.is_new else 'false'})"
    )


def write_update_metadata_partition(value: UpdateMetadataPartition) -> str:
    """As a partition of an UpdateMetadata request prints, 2.4 to 3.9."""
    return (
        f"UpdateMetadataPartitionState({_head(value.topic_partition, value.state)}, "
        f"replicas=[{_join(value.replicas, ', ')}], offlineReplicas=[{_join(value.offline_replicas, ', ')}])"
    )


def write_stop_replica_partition(value: StopReplicaPartition) -> str:
    """As a partition of a StopReplica request prints, 2.6 and later."""
    return (
        f"StopReplicaPartitionState(partitionIndex={value.topic_partition.partition}, "
        f"leaderEpoch={value.leader_epoch}, deletePartition={'true' if value.delete else 'false'})"
    )


def _head(partition: TopicPartition, state: PartitionState) -> str:
    known = state.leader_and_isr
    return (
        f"topicName='{partition.topic}', partitionIndex={partition.partition}, "
        f"controllerEpoch={state.controller_epoch}, leader={known.leader}, leaderEpoch={known.leader_epoch}, "
        f"isr=[{_join(known.isr, ', ')}], zkVersion={known.version}"
    )


def _join(values: Iterable[object], by: str = ",") -> str:
    return by.join(str(value) for value in values)


def _int(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return int(found[1]) if found else None


def _ids(pattern: re.Pattern[str], text: str) -> tuple[int, ...] | None:
    found = pattern.search(text)
    return tuple(int(part) for part in found[1].split(",") if part.strip()) if found else None


def _isr(text: str) -> tuple[int, ...] | None:
    found = _ISR_WITH_BROKER_EPOCH.search(text)
    return tuple(int(broker) for broker in _BROKER_ID.findall(found[1])) if found else _ids(_ISR, text)
