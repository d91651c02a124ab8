"""``/brokers/topics/<topic>`` and ``/brokers/topics/<topic>/partitions/<partition>/state``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from barnabas.cluster.model.epochs import ControllerEpoch, LeaderEpoch, PartitionVersion, Zxid
from barnabas.cluster.model.ids import LEADER_DURING_DELETE, BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.body import Body, encode_json

NO_ZXID = Zxid(0)

TOPIC_VERSION = 2
"""What releases 2.4 to 2.7 write, and 2.8 with an IBP below 2.8: no topic id (version 3)."""


@dataclass(frozen=True, slots=True)
class TopicAssignment:
    """A topic's partitions as its znode holds them.

    Attributes:
        partitions: Partition number to its replicas.
        topic_id: The id that an IBP of 2.8 or later gave it, else None; kept when the node is rewritten.
        version: The znode's data version.
        czxid: The transaction that created the znode; 0 where nobody asked.
    """

    partitions: dict[int, Assignment] = field(default_factory=dict)
    topic_id: str | None = None
    version: int = 0
    czxid: Zxid = NO_ZXID


def encode_topic(partitions: Mapping[int, Assignment], topic_id: str | None = None) -> bytes:
    """A topic's assignment: version 2, or 3 where the topic has an id that must not be lost."""
    fields: dict[str, object] = {
        "version": TOPIC_VERSION if topic_id is None else 3,
        "partitions": {str(p): list(a.replicas) for p, a in partitions.items()},
        "adding_replicas": {str(p): list(a.adding) for p, a in partitions.items() if a.adding},
        "removing_replicas": {str(p): list(a.removing) for p, a in partitions.items() if a.removing},
    }
    if topic_id is not None:
        fields["topic_id"] = topic_id
    return encode_json(fields)


def decode_topic(name: str, content: bytes, version: int = 0, czxid: Zxid = NO_ZXID) -> TopicAssignment:
    """A topic's assignment of version 1 to 3; ``version`` is the znode's data version."""
    body = Body(paths.topic(name), content)
    adding = body.replicas_by_partition("adding_replicas") if body.has("adding_replicas") else {}
    removing = body.replicas_by_partition("removing_replicas") if body.has("removing_replicas") else {}
    replicas_by_partition = body.replicas_by_partition("partitions")
    # Many partitions have the same replicas, and then one object for their assignment.
    assignments = {
        replicas: Assignment(_broker_ids(replicas)) for replicas in set(replicas_by_partition.values())
    }
    partitions = {partition: assignments[replicas] for partition, replicas in replicas_by_partition.items()}
    for partition in partitions.keys() & (adding.keys() | removing.keys()):
        partitions[partition] = Assignment(
            partitions[partition].replicas,
            _broker_ids(adding.get(partition, ())),
            _broker_ids(removing.get(partition, ())),
        )
    topic_id = body.text("topic_id") if body.has("topic_id") else None
    return TopicAssignment(partitions, topic_id, version, czxid)


def encode_state(leader_and_isr: LeaderAndIsr, controller_epoch: ControllerEpoch) -> bytes:
    """A partition's state, version 1; the data version is not part of it."""
    return b'{"controller_epoch":%d,"leader":%d,"version":1,"leader_epoch":%d,"isr":[%b]}' % (
        controller_epoch,
        leader_and_isr.leader,
        leader_and_isr.leader_epoch,
        ",".join(map(str, leader_and_isr.isr)).encode(),
    )


_WRITTEN_STATE = re.compile(
    rb'\{"controller_epoch":(%b),"leader":(-[12]|%b),"version":1,"leader_epoch":(%b),"isr":\[(%b(?:,%b)*)\]\}'
    % ((rb"(?:0|[1-9]\d{0,8})",) * 5)
)
"""A state to the letter as `encode_state` and Kafka write it, of numbers that 32 bits surely hold."""


def decode_state(tp: TopicPartition, content: bytes, version: int) -> PartitionState:
    """A partition's state; ``version`` is the znode's data version."""
    written = _WRITTEN_STATE.fullmatch(content)
    # Nearly all are, and a failover reads tens of thousands: JSON would take twice as long.
    return _decode_other_state(tp, content, version) if written is None else _state_of(written, version)


def _state_of(written: re.Match[bytes], version: int) -> PartitionState:
    controller_epoch, leader, leader_epoch, isr = written.groups()
    leader_and_isr = LeaderAndIsr(
        BrokerId(int(leader)),
        LeaderEpoch(int(leader_epoch)),
        _broker_ids(tuple(map(int, isr.split(b",")))),
        PartitionVersion(version),
    )
    return PartitionState(leader_and_isr, ControllerEpoch(int(controller_epoch)))


def _decode_other_state(tp: TopicPartition, content: bytes, version: int) -> PartitionState:
    body = Body(paths.partition_state(tp), content)
    leader_and_isr = LeaderAndIsr(
        BrokerId(body.int32("leader", least=LEADER_DURING_DELETE)),
        LeaderEpoch(body.int32("leader_epoch")),
        _broker_ids(body.broker_ids("isr")),
        PartitionVersion(version),
    )
    return PartitionState(leader_and_isr, ControllerEpoch(body.int32("controller_epoch")))


def _broker_ids(numbers: tuple[int, ...]) -> tuple[BrokerId, ...]:
    return cast("tuple[BrokerId, ...]", numbers)
