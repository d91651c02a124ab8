"""The requests that wait for one broker, merged so that each kind has a partition at most once.

Kafka's ``RequestSendThread`` has a queue that grows without bound. At most four requests wait in ours: an
UpdateMetadata, a LeaderAndIsr, a second UpdateMetadata, a StopReplica. Merging moves requests past each other
only if the receiver cannot notice it:

* UpdateMetadata may overtake LeaderAndIsr, but LeaderAndIsr may not overtake UpdateMetadata: a follower must
  know its leader's address before it follows. So a later LeaderAndIsr moves an earlier one back to its own
  place.
* Of two states of a partition the one with the higher leader epoch stays, and of equal ones the later.
* A waiting StopReplica for a partition is void once a LeaderAndIsr in a higher leader epoch follows it.
* A waiting LeaderAndIsr for a partition is void once its replica is to be deleted: the next LeaderAndIsr
  would move it behind the deletion, and create the replica again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from barnabas.cluster.model.epochs import INITIAL_LEADER_EPOCH
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.requests import (
    ControlRequest,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataPartition,
    UpdateMetadataRequest,
)


class Queue:
    """The requests of one controller to one incarnation of one broker."""

    def __init__(self) -> None:
        self._waiting: list[ControlRequest] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def take(self) -> ControlRequest | None:
        """Remove and return the request to send next; None if none waits."""
        return self._waiting.pop(0) if self._waiting else None

    def put(self, request: ControlRequest) -> None:
        """Queue ``request``, merged with the waiting requests where the rules above allow it."""
        match request:
            case LeaderAndIsrRequest():
                self._put_leader_and_isr(request)
            case UpdateMetadataRequest():
                self._put_update_metadata(request)
            case StopReplicaRequest():
                self._put_stop_replica(request)
            case unknown:
                assert_never(unknown)

    def _put_leader_and_isr(self, request: LeaderAndIsrRequest) -> None:
        # Rebuild the queue without the waiting LeaderAndIsr, and append the merged one at its end:
        # A. An earlier LeaderAndIsr moves back to the new one's place, merged with it.
        # B. UpdateMetadata stay in front. Two that the removed LeaderAndIsr separated are merged.
        # C. An earlier StopReplica stays in front, without the partitions that the new leader epoch voids.
        epochs = {p.topic_partition: p.state.leader_and_isr.leader_epoch for p in request.partitions}
        waiting, self._waiting = self._waiting, []
        for earlier in waiting:
            if isinstance(earlier, LeaderAndIsrRequest):
                request = merge_leader_and_isr(earlier, request)
            elif isinstance(earlier, UpdateMetadataRequest):
                self._put_update_metadata(earlier)
            else:
                left = tuple(p for p in earlier.partitions if not _is_void(p, epochs.get(p.topic_partition)))
                if left:
                    self._waiting.append(replace(earlier, partitions=left))
        self._waiting.append(request)

    def _put_update_metadata(self, request: UpdateMetadataRequest) -> None:
        # Merge into an UpdateMetadata that waits behind every LeaderAndIsr. One in front of a LeaderAndIsr
        # is left as it is, so the two kinds are sent in the order in which the controller decided.
        for place, earlier in reversed(list(enumerate(self._waiting))):
            if isinstance(earlier, LeaderAndIsrRequest):
                break
            if isinstance(earlier, UpdateMetadataRequest):
                self._waiting[place] = merge_update_metadata(earlier, request)
                return
        self._waiting.append(request)

    def _put_stop_replica(self, request: StopReplicaRequest) -> None:
        # Rebuild the queue with the merged StopReplica at its end. A LeaderAndIsr in front loses the
        # partitions to be deleted; a full list is sent even without any, because its receiver waits for it.
        deleted = {p.topic_partition for p in request.partitions if p.delete}
        waiting, self._waiting = self._waiting, []
        for earlier in waiting:
            if isinstance(earlier, StopReplicaRequest):
                request = merge_stop_replica(earlier, request)
            elif isinstance(earlier, LeaderAndIsrRequest):
                left = tuple(p for p in earlier.partitions if p.topic_partition not in deleted)
                if left or earlier.is_full:
                    self._waiting.append(replace(earlier, partitions=left))
            else:
                self._waiting.append(earlier)
        self._waiting.append(request)


def merge_leader_and_isr(earlier: LeaderAndIsrRequest, later: LeaderAndIsrRequest) -> LeaderAndIsrRequest:
    """Merge two requests; ``is_new`` stays once it is set, because the replica has not been created yet.

    If the earlier request is a full list, so is the result: both together list all that the receiver hosts.
    """
    partitions = {p.topic_partition: p for p in earlier.partitions}
    for partition in later.partitions:
        waiting = partitions.get(partition.topic_partition)
        if waiting is None or _supersedes(partition, waiting):
            is_new = partition.is_new or (waiting is not None and waiting.is_new)
            partitions[partition.topic_partition] = replace(partition, is_new=is_new)
    leaders = {broker.id: broker for broker in (*earlier.live_leaders, *later.live_leaders)}
    return replace(
        later,
        partitions=tuple(partitions.values()),
        live_leaders=tuple(leaders.values()),
        is_full=earlier.is_full or later.is_full,
    )


def merge_update_metadata(
    earlier: UpdateMetadataRequest, later: UpdateMetadataRequest
) -> UpdateMetadataRequest:
    """Merge two requests, with the later list of live brokers; complete if one of them is.

    The later state of a partition always stays, even with a lower leader epoch: its topic was created again.
    """
    return replace(
        later,
        partitions=_latest((*earlier.partitions, *later.partitions)),
        is_complete=earlier.is_complete or later.is_complete,
    )


def merge_stop_replica(earlier: StopReplicaRequest, later: StopReplicaRequest) -> StopReplicaRequest:
    """Merge two requests; ``delete`` stays once it is set."""
    partitions = {p.topic_partition: p for p in earlier.partitions}
    for partition in later.partitions:
        waiting = partitions.get(partition.topic_partition)
        delete = partition.delete or (waiting is not None and waiting.delete)
        partitions[partition.topic_partition] = replace(partition, delete=delete)
    return replace(later, partitions=tuple(partitions.values()))


def _supersedes(later: LeaderAndIsrPartition, earlier: LeaderAndIsrPartition) -> bool:
    """Return whether ``later`` replaces ``earlier``; for one topic, the higher leader epoch stays."""
    if later.topic_identity != earlier.topic_identity:
        return True
    return later.state.leader_and_isr.leader_epoch >= earlier.state.leader_and_isr.leader_epoch


def _latest(partitions: Iterable[UpdateMetadataPartition]) -> tuple[UpdateMetadataPartition, ...]:
    latest: dict[TopicPartition, UpdateMetadataPartition] = {}
    for partition in partitions:
        latest[partition.topic_partition] = partition
    return tuple(latest.values())


def _is_void(stop: StopReplicaPartition, leader_epoch: int | None) -> bool:
    """Return whether a LeaderAndIsr in ``leader_epoch`` voids ``stop``; a deletion is never voided."""
    return leader_epoch is not None and INITIAL_LEADER_EPOCH <= stop.leader_epoch < leader_epoch
