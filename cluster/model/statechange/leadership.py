"""The spellings of a leadership inside a line of release 2.8.

Kafka prints five classes for it. All of them are read into one ``Leadership``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import (
    LeaderAndIsrPartition,
    StopReplicaPartition,
    UpdateMetadataPartition,
)

LEADERSHIP_PATTERN = (
    r"LeaderAndIsr\(leader=[^()]*List\([^()]*\)[^()]*\)|\w+PartitionState\([^()]*\)|\(Leader:[^()]*\)"
)
"""The pattern of every spelling."""

_LEADER = re.compile(r"\b[lL]eader[=:](-?\d+)", re.ASCII)
_LEADER_EPOCH = re.compile(r"\b[lL]eaderEpoch[=:](-?\d+)", re.ASCII)
_CONTROLLER_EPOCH = re.compile(r"\b[cC]ontrollerEpoch[=:](-?\d+)", re.ASCII)
_VERSION = re.compile(r"\b[zZ]kVersion[=:](-?\d+)", re.ASCII)
_ISR = re.compile(r"\b(?:isr=List\(|isr=\[|ISR:)((?:-?\d+(?:, ?-?\d+)*)?)", re.ASCII)
_REPLICAS = re.compile(r"\breplicas=\[((?:-?\d+(?:, ?-?\d+)*)?)", re.ASCII)
_DELETE = re.compile(r"\bdeletePartition=(true|false)")
_TOPIC = re.compile(r"\btopicName='([^']*)', partitionIndex=(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Leadership:
    """The leadership of a partition in a line; None for parts that the line leaves out.

    Attributes:
        leader: The leader; -1 for none, -2 while the topic is being deleted.
        leader_epoch: The leader epoch.
        isr: The in-sync replicas.
        version: The version of the partition's state in ZooKeeper (zkVersion).
        controller_epoch: The controller epoch in which the state was written; the sender's epoch may be
            later.
        replicas: The assigned replicas.
        topic_partition: The partition, if the printed class contains it.
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
    """Read a leadership."""
    topic = _TOPIC.search(text)
    delete = _DELETE.search(text)
    return Leadership(
        leader=int_in(_LEADER, text),
        leader_epoch=int_in(_LEADER_EPOCH, text),
        isr=ids_in(_ISR, text),
        version=int_in(_VERSION, text),
        controller_epoch=int_in(_CONTROLLER_EPOCH, text),
        replicas=ids_in(_REPLICAS, text),
        topic_partition=TopicPartition(topic[1], int(topic[2])) if topic else None,
        delete=delete[1] == "true" if delete else None,
    )


def write_leader_and_isr(value: LeaderAndIsr) -> str:
    """Write a leadership as ``kafka.api.LeaderAndIsr`` prints it."""
    isr = _join(value.isr, ", ")
    return (
        f"LeaderAndIsr(leader={value.leader}, leaderEpoch={value.leader_epoch}, isr=List({isr}), "
        f"zkVersion={value.version})"
    )


def write_partition_state(value: PartitionState) -> str:
    """Write a state as ``kafka.controller.LeaderIsrAndControllerEpoch`` prints it."""
    known = value.leader_and_isr
    return (
        f"(Leader:{known.leader},ISR:{_join(known.isr)},LeaderEpoch:{known.leader_epoch},"
        f"ZkVersion:{known.version},ControllerEpoch:{value.controller_epoch})"
    )


def write_leader_and_isr_partition(value: LeaderAndIsrPartition) -> str:
    """Write a partition as a LeaderAndIsr request prints it."""
    assignment = value.assignment
    return (
        f"LeaderAndIsrPartitionState({_head(value.topic_partition, value.state)}, "
        f"replicas=[{_join(assignment.replicas, ', ')}], addingReplicas=[{_join(assignment.adding, ', ')}], "
        f"removingReplicas=[{_join(assignment.removing, ', ')}], isNew={'true' if value.is_new else 'false'})"
    )


def write_update_metadata_partition(value: UpdateMetadataPartition) -> str:
    """Write a partition as an UpdateMetadata request prints it."""
    return (
        f"UpdateMetadataPartitionState({_head(value.topic_partition, value.state)}, "
        f"replicas=[{_join(value.replicas, ', ')}], offlineReplicas=[{_join(value.offline_replicas, ', ')}])"
    )


def write_stop_replica_partition(value: StopReplicaPartition) -> str:
    """Write a partition as a StopReplica request prints it."""
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


def int_in(pattern: re.Pattern[str], text: str) -> int | None:
    """Return the number that the pattern's group finds; None if there is none."""
    found = pattern.search(text)
    return int(found[1]) if found else None


def ids_in(pattern: re.Pattern[str], text: str) -> tuple[int, ...] | None:
    """Return the ids between commas that the pattern's group finds; None if it finds nothing."""
    found = pattern.search(text)
    return tuple(int(part) for part in found[1].split(",") if part.strip()) if found else None
