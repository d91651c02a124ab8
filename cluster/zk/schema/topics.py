"""The bodies of ``/brokers/topics/<topic>`` and of a partition's ``state``."""

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
"""The version that 2.4 to 2.7 write, and 2.8 with an older IBP; version 3 adds a topic id."""


@dataclass(frozen=True, slots=True)
class TopicAssignment:
    """The content of a topic's znode.

    Attributes:
        partitions: The assignment of each partition by number.
        topic_id: The topic id, which an IBP of 2.8 or later assigned, else None; it is kept in later writes.
        version: The data version of the znode.
        czxid: The transaction that created the znode; 0 where nobody asked.
    """

    partitions: dict[int, Assignment] = field(default_factory=dict)
    topic_id: str | None = None
    version: int = 0
    czxid: Zxid = NO_ZXID


def encode_topic(partitions: Mapping[int, Assignment], topic_id: str | None = None) -> bytes:
    """Encode a topic's assignment in version 2, or in version 3 if the topic has an id."""
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
    """Decode a topic's assignment of version 1 to 3; ``version`` is the znode's data version."""
    body = Body(paths.topic(name), content)
    adding = body.replicas_by_partition("adding_replicas") if body.has("adding_replicas") else {}
    removing = body.replicas_by_partition("removing_replicas") if body.has("removing_replicas") else {}
    replicas_by_partition = body.replicas_by_partition("partitions")
    # Many partitions have the same replicas; they share one assignment object.
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
    """Encode a partition's state, version 1, without its data version."""
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
"""A pattern of states exactly as `encode_state` and Kafka write them, with numbers below 32 bits."""


def decode_state(tp: TopicPartition, content: bytes, version: int) -> PartitionState:
    """Decode a partition's state; ``version`` is the znode's data version."""
    written = _WRITTEN_STATE.fullmatch(content)
    # Nearly all states match the pattern, and a failover reads tens of thousands: JSON takes twice as long.
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
