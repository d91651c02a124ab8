"""The assignment of a consumer, as its group's leader encodes it."""

from __future__ import annotations

import struct

from kafka.protocol.consumer import ConsumerProtocolAssignment

from barnabas.cluster.model.ids import TopicPartition


class BadAssignmentError(ValueError):
    """An error for bytes that are no assignment."""


def decode_assignment(data: bytes) -> tuple[list[TopicPartition], bytes]:
    """Return the partitions and the user data of an assignment; both are empty if ``data`` is.

    Raises:
        BadAssignmentError: ``data`` does not follow the layout.
    """
    if not data:
        return [], b""
    try:
        found = ConsumerProtocolAssignment.decode(data)
    except (struct.error, ValueError) as error:
        raise BadAssignmentError(f"an assignment of {len(data)} bytes cannot be read: {error}") from error
    partitions = [
        TopicPartition(topic.topic, number)
        for topic in found.assigned_partitions
        for number in topic.partitions
    ]
    return partitions, found.user_data or b""
