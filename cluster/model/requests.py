"""What the controller tells the brokers, and what they answer (Kafka: api keys 4, 5, 6 of release 2.8).

Each request carries the controller's epoch and the epoch of the broker it is meant for; the receiver judges
both at the door. ``partition_states`` keep the order in which the controller decided them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicIdentity, TopicPartition
from barnabas.cluster.model.partition import Assignment, PartitionState


@dataclass(frozen=True, slots=True)
class LeaderAndIsrPartition:
    """One partition of a LeaderAndIsr request.

    Attributes:
        topic_partition: Which partition.
        state: Its leadership, with the reign that last wrote it.
        assignment: Its replicas.
        is_new: True where the replica is created by this request: no log of it is there yet, and any log
            directory may take it.
        is_unconfirmed: True where a former request of this controller created the replica and the broker has
            not answered it: a log of it may be there or not.
        topic_identity: Of the partition's topic; None where the controller does not know it.
    """

    topic_partition: TopicPartition
    state: PartitionState
    assignment: Assignment
    is_new: bool = False
    is_unconfirmed: bool = False
    topic_identity: TopicIdentity | None = None


@dataclass(frozen=True, slots=True)
class LeaderAndIsrRequest:
    """Become leader or follower of these partitions.

    Attributes:
        live_leaders: The brokers that lead one of these partitions and are live or shutting down.
        is_full: Whether these are all partitions that the receiver hosts, as in the first request to a
            registration and the first of a controller (KIP-516, type FULL).
        parts_to_follow: Of a full request that is sent in several messages, how many follow this one.
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
    """The answer to LeaderAndIsr: an error for the whole request, else one for each partition."""

    error: ErrorCode
    partition_errors: dict[TopicPartition, ErrorCode] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UpdateMetadataPartition:
    """One partition of an UpdateMetadata request; ``offline_replicas`` are not reachable now."""

    topic_partition: TopicPartition
    state: PartitionState
    replicas: tuple[BrokerId, ...]
    offline_replicas: tuple[BrokerId, ...] = ()


@dataclass(frozen=True, slots=True)
class UpdateMetadataRequest:
    """The partitions that changed, and the complete list of live brokers, which replaces the receiver's.

    Attributes:
        is_complete: Whether this controller has told the receiver of all partitions, with this request or
            before; a broker that starts waits for it.
    """

    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    broker_epoch: BrokerEpoch
    partitions: tuple[UpdateMetadataPartition, ...]
    live_brokers: tuple[Broker, ...]
    is_complete: bool = False


@dataclass(frozen=True, slots=True)
class UpdateMetadataResponse:
    """The answer to UpdateMetadata."""

    error: ErrorCode


@dataclass(frozen=True, slots=True)
class StopReplicaPartition:
    """One replica to stop: fetch it no more, and delete its log where ``delete`` is set.

    Attributes:
        leader_epoch: The current one, ``EPOCH_DURING_DELETE``, or ``UNKNOWN_LEADER_EPOCH``.
    """

    topic_partition: TopicPartition
    leader_epoch: LeaderEpoch
    delete: bool


@dataclass(frozen=True, slots=True)
class StopReplicaRequest:
    """Stop these replicas."""

    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    broker_epoch: BrokerEpoch
    partitions: tuple[StopReplicaPartition, ...]


@dataclass(frozen=True, slots=True)
class StopReplicaResponse:
    """The answer to StopReplica: an error for the whole request, else one for each partition."""

    error: ErrorCode
    partition_errors: dict[TopicPartition, ErrorCode] = field(default_factory=dict)


ControlRequest = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
ControlResponse = LeaderAndIsrResponse | UpdateMetadataResponse | StopReplicaResponse
