"""Commands about partition reassignment, and their results, as messages."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.cluster.model.commands_reassignment import (
    AlterPartitionReassignments,
    AlterPartitionReassignmentsResult,
    ListPartitionReassignments,
    ListPartitionReassignmentsResult,
    ReassignmentResult,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.cluster.rpc import control_pb2 as pb


def alter_to_message(command: AlterPartitionReassignments) -> pb.AlterPartitionReassignmentsRequest:
    """The command; the time that its caller is willing to wait is not part of it."""
    return pb.AlterPartitionReassignmentsRequest(
        targets=[
            pb.PartitionTarget(
                partition=_name(tp), replicas=None if target is None else pb.Replicas(broker_ids=target)
            )
            for tp, target in command.targets.items()
        ]
    )


def alter_from_message(message: pb.AlterPartitionReassignmentsRequest) -> AlterPartitionReassignments:
    """The command that ``alter_to_message`` wrote."""
    return AlterPartitionReassignments(
        {
            _partition(each.partition): (
                _ids(each.replicas.broker_ids) if each.HasField("replicas") else None
            )
            for each in message.targets
        }
    )


def alter_result_to_message(
    result: AlterPartitionReassignmentsResult,
) -> pb.AlterPartitionReassignmentsResponse:
    """The results in their order."""
    return pb.AlterPartitionReassignmentsResponse(
        partitions=[
            pb.PartitionReassignmentResult(
                partition=_name(tp), error_code=each.error, error_message=each.message
            )
            for tp, each in result.partitions.items()
        ]
    )


def alter_result_from_message(
    message: pb.AlterPartitionReassignmentsResponse,
) -> AlterPartitionReassignmentsResult:
    """The result that ``alter_result_to_message`` wrote."""
    return AlterPartitionReassignmentsResult(
        {
            _partition(each.partition): ReassignmentResult(
                ErrorCode.from_code(each.error_code),
                each.error_message if each.HasField("error_message") else None,
            )
            for each in message.partitions
        }
    )


def list_to_message(command: ListPartitionReassignments) -> pb.ListPartitionReassignmentsRequest:
    """The command; the time that its caller is willing to wait is not part of it."""
    return pb.ListPartitionReassignmentsRequest(
        all=command.partitions is None, partitions=[_name(tp) for tp in command.partitions or ()]
    )


def list_from_message(message: pb.ListPartitionReassignmentsRequest) -> ListPartitionReassignments:
    """The command that ``list_to_message`` wrote."""
    return ListPartitionReassignments(None if message.all else tuple(map(_partition, message.partitions)))


def list_result_to_message(
    result: ListPartitionReassignmentsResult,
) -> pb.ListPartitionReassignmentsResponse:
    """The reassignments in their order."""
    return pb.ListPartitionReassignmentsResponse(
        partitions=[
            pb.OngoingPartitionReassignment(
                partition=_name(tp),
                replicas=each.replicas,
                adding_replicas=each.adding,
                removing_replicas=each.removing,
            )
            for tp, each in result.reassignments.items()
        ]
    )


def list_result_from_message(
    message: pb.ListPartitionReassignmentsResponse,
) -> ListPartitionReassignmentsResult:
    """The result that ``list_result_to_message`` wrote."""
    return ListPartitionReassignmentsResult(
        {
            _partition(each.partition): Assignment(
                _ids(each.replicas), _ids(each.adding_replicas), _ids(each.removing_replicas)
            )
            for each in message.partitions
        }
    )


def _name(tp: TopicPartition) -> pb.PartitionName:
    return pb.PartitionName(topic=tp.topic, partition=tp.partition)


def _partition(message: pb.PartitionName) -> TopicPartition:
    return TopicPartition(message.topic, message.partition)


def _ids(numbers: Iterable[int]) -> tuple[BrokerId, ...]:
    return tuple(BrokerId(number) for number in numbers)
