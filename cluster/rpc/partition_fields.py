"""One partition of LeaderAndIsr or UpdateMetadata as the bytes of its field in ``control.proto``.

After a failover there are tens of thousands, and to build a message of each for protobuf to encode takes five
times as long as to put its few small fields together here. The bytes are those that protobuf writes.
"""

from __future__ import annotations

from barnabas.cluster.model.partition import PartitionState
from barnabas.cluster.model.requests import LeaderAndIsrPartition, UpdateMetadataPartition
from barnabas.cluster.rpc import control_pb2 as pb
from barnabas.cluster.rpc.framing import VARINT, Heads, Int32Field, PackedInt32Field, tag

_STATE = Heads(pb.LeaderAndIsrPartition.STATE_FIELD_NUMBER)
_CONTROLLER_EPOCH = Int32Field(pb.LeadershipState.CONTROLLER_EPOCH_FIELD_NUMBER)
_LEADER = Int32Field(pb.LeadershipState.LEADER_FIELD_NUMBER)
_LEADER_EPOCH = Int32Field(pb.LeadershipState.LEADER_EPOCH_FIELD_NUMBER)
_ISR = PackedInt32Field(pb.LeadershipState.ISR_FIELD_NUMBER)
_ZK_VERSION = Int32Field(pb.LeadershipState.ZK_VERSION_FIELD_NUMBER)

# The first three fields of both are the same, number by number.
_PARTITION = Int32Field(pb.LeaderAndIsrPartition.PARTITION_FIELD_NUMBER)
_REPLICAS = PackedInt32Field(pb.LeaderAndIsrPartition.REPLICAS_FIELD_NUMBER)

_LEADER_AND_ISR = Heads(pb.LeaderAndIsrTopic.PARTITIONS_FIELD_NUMBER)
_ADDING_REPLICAS = PackedInt32Field(pb.LeaderAndIsrPartition.ADDING_REPLICAS_FIELD_NUMBER)
_REMOVING_REPLICAS = PackedInt32Field(pb.LeaderAndIsrPartition.REMOVING_REPLICAS_FIELD_NUMBER)
_IS_NEW = bytes((tag(pb.LeaderAndIsrPartition.IS_NEW_FIELD_NUMBER, VARINT), 1))
_IS_UNCONFIRMED = bytes((tag(pb.LeaderAndIsrPartition.IS_UNCONFIRMED_FIELD_NUMBER, VARINT), 1))

_UPDATE_METADATA = Heads(pb.UpdateMetadataTopic.PARTITIONS_FIELD_NUMBER)
_OFFLINE_REPLICAS = PackedInt32Field(pb.UpdateMetadataPartition.OFFLINE_REPLICAS_FIELD_NUMBER)


def leader_and_isr_field(partition: LeaderAndIsrPartition) -> bytes:
    """The partition as one of the field ``partitions`` of a ``LeaderAndIsrTopic``.

    Raises:
        ValueError: A number has more than 32 bits.
    """
    assignment = partition.assignment
    content = (
        _PARTITION[partition.topic_partition.partition]
        + _state(partition.state)
        + _REPLICAS[assignment.replicas]
        + _ADDING_REPLICAS[assignment.adding]
        + _REMOVING_REPLICAS[assignment.removing]
    )
    if partition.is_new:
        content += _IS_NEW
    if partition.is_unconfirmed:
        content += _IS_UNCONFIRMED
    return _LEADER_AND_ISR[len(content)] + content


def update_metadata_field(partition: UpdateMetadataPartition) -> bytes:
    """The partition as one of the field ``partitions`` of an ``UpdateMetadataTopic``.

    Raises:
        ValueError: A number has more than 32 bits.
    """
    content = (
        _PARTITION[partition.topic_partition.partition]
        + _state(partition.state)
        + _REPLICAS[partition.replicas]
        + _OFFLINE_REPLICAS[partition.offline_replicas]
    )
    return _UPDATE_METADATA[len(content)] + content


def _state(state: PartitionState) -> bytes:
    leadership = state.leader_and_isr
    content = (
        _CONTROLLER_EPOCH[state.controller_epoch]
        + _LEADER[leadership.leader]
        + _LEADER_EPOCH[leadership.leader_epoch]
        + _ISR[leadership.isr]
        + _ZK_VERSION[leadership.version]
    )
    return _STATE[len(content)] + content
