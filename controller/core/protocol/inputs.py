"""The inputs of the controller: the entries of its mailbox (Kafka's ``ControllerEvent``).

`controller.core.decide.EVENTS` says how each is handled. Source: docs/kafka/controller.md, Events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Generic, TypeVar

from barnabas.cluster.model.commands.command import Command
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.requests import LeaderAndIsrResponse, UpdateMetadataResponse
from barnabas.controller.core.protocol.effects import Token

C = TypeVar("C", bound=Command[Any])


class ControllerState(IntEnum):
    """The state of the controller: the value of Kafka's gauge of that name."""

    IDLE = 0
    CONTROLLER_CHANGE = 1
    BROKER_CHANGE = 2
    TOPIC_CHANGE = 3
    TOPIC_DELETION = 4
    ALTER_PARTITION_REASSIGNMENT = 5
    AUTO_LEADER_BALANCE = 6
    MANUAL_LEADER_BALANCE = 7
    CONTROLLED_SHUTDOWN = 8
    ISR_CHANGE = 9
    LEADER_AND_ISR_RESPONSE_RECEIVED = 10
    LOG_DIR_CHANGE = 11
    CONTROLLER_SHUTDOWN = 12
    UNCLEAN_LEADER_ELECTION_ENABLE = 13
    TOPIC_UNCLEAN_LEADER_ELECTION_ENABLE = 14
    LIST_PARTITION_REASSIGNMENT = 15
    UPDATE_METADATA_RESPONSE_RECEIVED = 16


@dataclass(frozen=True, slots=True)
class Input:
    """An input of the controller."""


@dataclass(frozen=True, slots=True)
class Startup(Input):
    """A session is open and this broker is registered in it (Kafka: Startup, RegisterBrokerAndReelect)."""


@dataclass(frozen=True, slots=True)
class ControllerChange(Input):
    """``/controller`` was created, changed or deleted (Kafka: ControllerChange, or Reelect)."""


@dataclass(frozen=True, slots=True)
class Reelect(Input):
    """The pause after an election without a winner is over (Kafka: Reelect)."""


@dataclass(frozen=True, slots=True)
class Expire(Input):
    """The session has expired, and with it this broker's claim to be the controller."""


@dataclass(frozen=True, slots=True)
class ShutdownEventThread(Input):
    """This broker stops: resign, delete ``/controller``, take part in no more elections."""


@dataclass(frozen=True, slots=True)
class BrokerChange(Input):
    """The children of ``/brokers/ids`` changed."""


@dataclass(frozen=True, slots=True)
class BrokerModifications(Input):
    """The registration of a broker changed its content."""

    broker_id: BrokerId


@dataclass(frozen=True, slots=True)
class TopicChange(Input):
    """The children of ``/brokers/topics`` changed."""


@dataclass(frozen=True, slots=True)
class PartitionModifications(Input):
    """The node of a topic changed its content."""

    topic: str


@dataclass(frozen=True, slots=True)
class TopicDeletion(Input):
    """The children of ``/admin/delete_topics`` changed."""


@dataclass(frozen=True, slots=True)
class IsrChangeNotification(Input):
    """The children of ``/isr_change_notification`` changed."""


@dataclass(frozen=True, slots=True)
class LogDirEventNotification(Input):
    """The children of ``/log_dir_event_notification`` changed."""


@dataclass(frozen=True, slots=True)
class ZkPartitionReassignment(Input):
    """``/admin/reassign_partitions`` was created, changed or deleted."""


@dataclass(frozen=True, slots=True)
class PartitionReassignmentIsrChange(Input):
    """The states of partitions that are or were being reassigned changed.

    Partitions whose states change while the input waits are added to it. Kafka has an event for each, and
    each event writes the znode of the whole topic.
    """

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class ReplicaLeaderElection(Input):
    """``/admin/preferred_replica_election`` was created, changed or deleted."""


@dataclass(frozen=True, slots=True)
class AutoPreferredReplicaLeaderElection(Input):
    """The next check whether preferred replicas lead is due."""


@dataclass(frozen=True, slots=True)
class UncleanLeaderElectionEnable(Input):
    """This broker's ``unclean.leader.election.enable`` is ``enabled`` from now on."""

    enabled: bool


@dataclass(frozen=True, slots=True)
class TopicUncleanLeaderElectionEnable(Input):
    """The topic's own ``unclean.leader.election.enable`` is true from now on."""

    topic: str


@dataclass(frozen=True, slots=True)
class Draw:
    """The random numbers of one topic's placement, each uniform in [0, 1)."""

    start: float
    shift: float


@dataclass(frozen=True, slots=True)
class CommandReceived(Input, Generic[C]):
    """A command from a broker's handler, which waits for the reply.

    Attributes:
        token: The id of the waiting caller.
        command: The command.
        draws: The random numbers of placement, one `Draw` for each topic to create; none for other commands.
    """

    token: Token
    command: C
    draws: tuple[Draw, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicDeletionStopReplicaResponseReceived(Input):
    """A broker answered a StopReplica that deletes replicas.

    Attributes:
        broker_epoch: The incarnation of the broker that got the request.
        partition_errors: The answer for each replica that it was to delete.
        controller_epoch: The controller epoch of the request; None for the present one.
    """

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    partition_errors: Mapping[TopicPartition, ErrorCode]
    controller_epoch: ControllerEpoch | None = None


@dataclass(frozen=True, slots=True)
class LeaderAndIsrResponseReceived(Input):
    """A broker answered LeaderAndIsr.

    Attributes:
        broker_epoch: The incarnation of the broker that got the request.
        requested: The partitions of the request.
        controller_epoch: The controller epoch of the request; None for the present one.
        parts_to_follow: The number of further messages of the request.
    """

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    response: LeaderAndIsrResponse
    requested: tuple[TopicPartition, ...] = ()
    controller_epoch: ControllerEpoch | None = None
    parts_to_follow: int = 0


@dataclass(frozen=True, slots=True)
class UpdateMetadataResponseReceived(Input):
    """A broker answered the UpdateMetadata request that its incarnation ``broker_epoch`` got.

    Attributes:
        controller_epoch: The controller epoch of the request; None for the present one.
    """

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    response: UpdateMetadataResponse
    controller_epoch: ControllerEpoch | None = None


@dataclass(frozen=True, slots=True)
class ResendRequests(Input):
    """The requests that failed on brokers are to be sent again now."""
