"""LeaderAndIsr's and UpdateMetadata's partitions, encoded by hand as fields of ``control.proto``.

This is the only encoder beside protobuf. After a failover the controller encodes tens of thousands of
partitions; to build a protobuf message of each takes five times as long as to join its few small fields.
Without it ``controller-failover`` needs 1.4 to 1.8 times the CPU time and ``broker-death`` 1.2 to 1.3 times
(docs/decisions/0008). The bytes are those that protobuf writes. Source: protobuf.dev, "Encoding".
"""

from __future__ import annotations

from barnabas.cluster.model.partition import PartitionState
from barnabas.cluster.model.requests import LeaderAndIsrPartition, UpdateMetadataPartition
from barnabas.cluster.rpc import control_pb2 as pb

VARINT = 0
"""The wire type of numbers and booleans."""

LENGTH_DELIMITED = 2
"""The wire type of messages, strings and bytes, and of packed numbers."""

REMEMBERED = 4096
"""Encoded values that are cached per field. Thousands of partitions share few values."""

_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1
_TWO_TO_64 = 2**64


def tag(field_number: int, wire_type: int = LENGTH_DELIMITED) -> int:
    """Return the tag of a field whose number is below 16, so that it takes one byte."""
    return field_number << 3 | wire_type


def varint(number: int) -> bytes:
    """Encode ``number``, which is not negative, in groups of seven bits, the lowest first."""
    if number < 0x80:
        return bytes((number,))
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def head(tag_: int, size: int) -> bytes:
    """Encode the tag of a length-delimited field and the size of its content in bytes."""
    return bytes((tag_,)) + varint(size)


def _int32(number: int) -> bytes:
    """Encode an int32. Protobuf extends a negative one to 64 bits.

    Raises:
        ValueError: It has more than 32 bits.
    """
    if not _INT32_MIN <= number <= _INT32_MAX:
        raise ValueError(f"{number} is out of range, expected a number of 32 bits")
    return varint(number if number >= 0 else number + _TWO_TO_64)


class Heads(dict[int, bytes]):
    """Caches the head of a length-delimited field by the size of its content in bytes."""

    def __init__(self, field_number: int) -> None:
        super().__init__()
        self._tag = tag(field_number)

    def __missing__(self, size: int) -> bytes:
        encoded = head(self._tag, size)
        if len(self) < REMEMBERED:
            self[size] = encoded
        return encoded


class Int32Field(dict[int, bytes]):
    """Caches a field of type int32 by its value; 0 is not written, as in proto3.

    A lookup raises ``ValueError`` for a number of more than 32 bits.
    """

    def __init__(self, field_number: int) -> None:
        super().__init__()
        self._tag = bytes((tag(field_number, VARINT),))

    def __missing__(self, number: int) -> bytes:
        encoded = self._tag + _int32(number) if number else b""
        if len(self) < REMEMBERED:
            self[number] = encoded
        return encoded


class PackedInt32Field(dict[tuple[int, ...], bytes]):
    """Caches a field of type repeated int32 by its values; an empty list is not written.

    A lookup raises ``ValueError`` for a number of more than 32 bits.
    """

    def __init__(self, field_number: int) -> None:
        super().__init__()
        self._tag = tag(field_number)

    def __missing__(self, numbers: tuple[int, ...]) -> bytes:
        content = b"".join(map(_int32, numbers))
        encoded = head(self._tag, len(content)) + content if numbers else b""
        if len(self) < REMEMBERED:
            self[numbers] = encoded
        return encoded


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
    """Encode a partition as an element of the field ``partitions`` of a ``LeaderAndIsrTopic``.

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
    """Encode a partition as an element of the field ``partitions`` of an ``UpdateMetadataTopic``.

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
