"""The controller's requests to brokers, and their responses (api keys 4, 5 and 6 of release 2.8).

Each request carries the controller epoch and the epoch of the receiving broker, which the receiver checks
first. ``partition_states`` are in the order of the controller's decisions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.epochs import INITIAL_LEADER_EPOCH, BrokerEpoch, ControllerEpoch, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicIdentity, TopicPartition
from barnabas.cluster.model.partition import Assignment, PartitionState


@dataclass(frozen=True, slots=True)
class LeaderAndIsrPartition:
    """A partition of a LeaderAndIsr request.

    Attributes:
        topic_partition: The partition.
        state: The leadership, with the controller epoch of its last write.
        assignment: The replicas.
        is_new: Whether this request creates the replica, so that no log of it exists yet and any log
            directory may be chosen.
        is_unconfirmed: Whether an earlier request of this controller created the replica and got no response,
            so that a log may exist or not.
        topic_identity: The identity of the topic; None if the controller does not know it.
    """

    topic_partition: TopicPartition
    state: PartitionState
    assignment: Assignment
    is_new: bool = False
    is_unconfirmed: bool = False
    topic_identity: TopicIdentity | None = None


@dataclass(frozen=True, slots=True)
class LeaderAndIsrRequest:
    """The request to become leader or follower of partitions.

    Attributes:
        live_leaders: The leaders of these partitions that are live or shutting down.
        is_full: Whether these are all partitions of the receiver, as in the first request to a registration
            and the first request of a controller (KIP-516, type FULL).
        parts_to_follow: The number of further messages, if a full request is sent in several.
    """

    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    broker_epoch: BrokerEpoch
    partitions: tuple[LeaderAndIsrPartition, ...]
    live_leaders: tuple[Broker, ...] = ()
    is_full: bool = False
    parts_to_follow: int = 0


@dataclass(frozen=True, slots=True)
class LeaderAndIsrResponse:
    """The response to LeaderAndIsr: an error of the whole request, else one of each partition."""

    error: ErrorCode
    partition_errors: dict[TopicPartition, ErrorCode] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UpdateMetadataPartition:
    """A partition of an UpdateMetadata request; ``offline_replicas`` are those on dead brokers or disks.

    The state of a new partition has no leader until its first one has confirmed that it leads.
    """

    topic_partition: TopicPartition
    state: PartitionState
    replicas: tuple[BrokerId, ...]
    offline_replicas: tuple[BrokerId, ...] = ()

    @property
    def awaits_first_leader(self) -> bool:
        """Return whether no broker has confirmed yet that it leads the new partition."""
        known = self.state.leader_and_isr
        return not known.has_leader and known.leader_epoch == INITIAL_LEADER_EPOCH


@dataclass(frozen=True, slots=True)
class UpdateMetadataRequest:
    """The request with changed partitions and the complete list of live brokers, for the metadata cache.

    Attributes:
        is_complete: Whether this controller has sent all partitions to the receiver, with this request or
            before; a starting broker waits for that.
    """

    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    broker_epoch: BrokerEpoch
    partitions: tuple[UpdateMetadataPartition, ...]
    live_brokers: tuple[Broker, ...]
    is_complete: bool = False


@dataclass(frozen=True, slots=True)
class UpdateMetadataResponse:
    """The response to UpdateMetadata."""

    error: ErrorCode


@dataclass(frozen=True, slots=True)
class StopReplicaPartition:
    """A replica to stop fetching, whose log is deleted if ``delete`` is set.

    Attributes:
        leader_epoch: The current leader epoch, ``EPOCH_DURING_DELETE``, or ``UNKNOWN_LEADER_EPOCH``.
    """

    topic_partition: TopicPartition
    leader_epoch: LeaderEpoch
    delete: bool


@dataclass(frozen=True, slots=True)
class StopReplicaRequest:
    """The request to stop replicas."""

    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    broker_epoch: BrokerEpoch
    partitions: tuple[StopReplicaPartition, ...]


@dataclass(frozen=True, slots=True)
class StopReplicaResponse:
    """The response to StopReplica: an error of the whole request, else one of each partition."""

    error: ErrorCode
    partition_errors: dict[TopicPartition, ErrorCode] = field(default_factory=dict)


ControlRequest = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
ControlResponse = LeaderAndIsrResponse | UpdateMetadataResponse | StopReplicaResponse
