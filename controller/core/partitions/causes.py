"""The causes that state-change.log prints below a failed transition, as Kafka 2.8 words them.

Each is the class and the text of the exception that Kafka throws there. Source:
``PartitionStateMachine.scala`` and ``ReplicaStateMachine.scala`` of release 2.8.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.context.machines import PartitionMachineState, ReplicaMachineState
from barnabas.controller.core.partitions.elections import Strategy

_FAILED = "kafka.common.StateChangeFailedException: "
_ILLEGAL = "java.lang.IllegalStateException: "


def is_failed_change(cause: str) -> bool:
    """Return whether ``cause`` is neither an invalid transition nor an error of ZooKeeper."""
    return cause.startswith(_FAILED)


def message_of(cause: str) -> str:
    """Return ``cause`` without the class of its exception."""
    return cause.partition(": ")[2]


def no_leader(tp: TopicPartition, strategy: Strategy) -> str:
    """Return the cause: an election found no leader."""
    return f"{_FAILED}Failed to elect leader for partition {tp} under strategy {strategy}"


def no_leadership(tp: TopicPartition, state: PartitionMachineState) -> str:
    """Return the cause: a partition to elect a leader for has no state in ZooKeeper."""
    return f"{_FAILED}LeaderAndIsr information doesn't exist for partition {tp} in {state} state"


def other_controller(ours: ControllerEpoch, theirs: ControllerEpoch) -> str:
    """Return the cause: a later controller wrote the state in ZooKeeper."""
    return (
        f"{_FAILED}Leader and isr path written by another controller. This probably means the current "
        f"controller "
        f"with epoch {ours} went through a soft failure and another controller was elected with epoch "
        f"{theirs}. "
        "Aborting state change by this controller"
    )


def no_isr(replica: BrokerId, tp: TopicPartition) -> str:
    """Return the cause: a replica is to leave the ISR of a partition without a state in ZooKeeper."""
    return (
        f"{_FAILED}Failed to change state of replica {replica} for partition {tp} since the leader and isr "
        f"path in "
        "zookeeper is empty"
    )


def no_replica_alive(
    tp: TopicPartition,
    assigned: Iterable[BrokerId],
    live: Iterable[BrokerId],
    controller_id: BrokerId,
    epoch: ControllerEpoch,
) -> str:
    """Return the cause: a new partition has no live replica to lead it."""
    return (
        f"{_FAILED}Controller {controller_id} epoch {epoch} encountered error during state change of "
        f"partition {tp} "
        f"from New to Online, assigned replicas are [{_join(assigned)}], live brokers are [{_join(live)}]. "
        "No assigned replica is alive."
    )


def new_replica_leads(replica: BrokerId, tp: TopicPartition) -> str:
    """Return the cause: a replica to be created is the leader already."""
    return (
        f"{_FAILED}Replica {replica} for partition {tp} cannot be moved to NewReplica state as it is being "
        "requested to become leader"
    )


def invalid_partition_move(
    tp: TopicPartition,
    source: PartitionMachineState,
    target: PartitionMachineState,
    allowed: Iterable[PartitionMachineState],
) -> str:
    """Return the cause: the partition state machine has no such transition."""
    return (
        f"{_ILLEGAL}Partition {tp} should be in one of {_join(allowed)} states before moving to {target} "
        f"state. "
        f"Instead it is in {source} state"
    )


def invalid_replica_move(
    replica: object,
    source: ReplicaMachineState,
    target: ReplicaMachineState,
    allowed: Iterable[ReplicaMachineState],
) -> str:
    """Return the cause: the replica state machine has no such transition."""
    return (
        f"{_ILLEGAL}Replica {replica} should be in the {_join(allowed)} states before moving to {target} "
        f"state. "
        f"Instead it is in {source} state"
    )


def _join(values: Iterable[object]) -> str:
    return ",".join(str(value) for value in values)
