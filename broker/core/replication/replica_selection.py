"""The selection of the replica that a consumer should read from (KIP-392).

Source: ``ReplicaManager.findPreferredReadReplica`` and
``org.apache.kafka.common.replica.RackAwareReplicaSelector`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from barnabas.cluster.model.ids import BrokerId, Offset

RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""The value of ``replica.selector.class`` that names the one selector there is."""


class ReplicaView(NamedTuple):
    """The state of a follower that its leader knows.

    Attributes:
        broker_id: The broker of the replica.
        rack: The broker's rack, or None.
        log_start_offset: Its log start offset.
        log_end_offset: Its log end offset, or -1 if it has not fetched yet.
        lag_ms: The milliseconds since it last had the whole log.
    """

    broker_id: BrokerId
    rack: str | None
    log_start_offset: Offset
    log_end_offset: Offset
    lag_ms: int

    def has(self, offset: Offset) -> bool:
        """Return whether a fetch at ``offset`` is in range there."""
        return self.log_start_offset <= offset <= self.log_end_offset


def rack_aware(
    followers: Iterable[ReplicaView], leader_rack: str | None, client_rack: str, offset: Offset
) -> BrokerId | None:
    """Return the follower in the client's rack that has most of the log, or None if the leader serves.

    The leader serves clients of its own rack, clients without a rack, and those in whose rack no follower has
    ``offset``.
    """
    if not client_rack or client_rack == leader_rack:
        return None
    near = [each for each in followers if each.rack == client_rack and each.has(offset)]
    if not near:
        return None
    return max(near, key=lambda each: (each.log_end_offset, -each.lag_ms, each.broker_id)).broker_id
