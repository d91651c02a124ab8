"""The assignment of a consumer, as its group's leader encodes it.

Source: ``ConsumerProtocolAssignment.json`` of Kafka 2.8. Later versions begin as version 0 does.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError  # noqa: N812  (it is a class)

from barnabas.cluster.model.ids import TopicPartition

_INT16 = Struct(">h")
_INT32 = Struct(">i")


class BadAssignmentError(ValueError):
    """An error for bytes that are no assignment."""


def decode_assignment(data: bytes) -> tuple[list[TopicPartition], bytes]:
    """Return the partitions and the user data of an assignment; both are empty if ``data`` is.

    Raises:
        BadAssignmentError: ``data`` does not follow the layout.
    """
    if not data:
        return [], b""
    partitions: list[TopicPartition] = []
    try:
        (topics,) = _INT32.unpack_from(data, _INT16.size)
        at = _INT16.size + _INT32.size
        for _ in range(topics):
            (length,) = _INT16.unpack_from(data, at)
            start, at = at + _INT16.size, at + _INT16.size + length
            topic = data[start:at].decode()
            (count,) = _INT32.unpack_from(data, at)
            for slot in range(1, count + 1):
                (number,) = _INT32.unpack_from(data, at + slot * _INT32.size)
                partitions.append(TopicPartition(topic, number))
            at += (count + 1) * _INT32.size
        (size,) = _INT32.unpack_from(data, at)
    except (StructError, UnicodeDecodeError) as error:
        raise BadAssignmentError(f"an assignment of {len(data)} bytes cannot be read: {error}") from error
    return partitions, data[at + _INT32.size :][: max(size, 0)]
