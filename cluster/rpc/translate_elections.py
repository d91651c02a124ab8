"""The translation of the command that elects leaders, and of its result."""

from __future__ import annotations

from barnabas.cluster.model.commands.elections import (
    ElectionResult,
    ElectionType,
    ElectLeaders,
    ElectLeadersResult,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.rpc import control_pb2 as pb


def elect_leaders_to_message(command: ElectLeaders) -> pb.ElectLeadersRequest:
    """Translate the command without the caller's timeout."""
    return pb.ElectLeadersRequest(
        election_type=command.election_type,
        partitions=[pb.PartitionName(topic=tp.topic, partition=tp.partition) for tp in command.partitions],
        damaged=command.damaged,
    )


def elect_leaders_from_message(message: pb.ElectLeadersRequest) -> ElectLeaders:
    """Return the command that ``elect_leaders_to_message`` wrote."""
    return ElectLeaders(
        ElectionType(message.election_type),
        tuple(TopicPartition(each.topic, each.partition) for each in message.partitions),
        BrokerId(message.damaged),
    )


def elect_leaders_result_to_message(result: ElectLeadersResult) -> pb.ElectLeadersResponse:
    """Translate the results in their order."""
    return pb.ElectLeadersResponse(
        elections=[
            pb.ElectionResult(
                partition=pb.PartitionName(topic=tp.topic, partition=tp.partition),
                error_code=election.error,
                error_message=election.message,
                leader=election.leader,
            )
            for tp, election in result.elections.items()
        ]
    )


def elect_leaders_result_from_message(message: pb.ElectLeadersResponse) -> ElectLeadersResult:
    """Return the result that ``elect_leaders_result_to_message`` wrote."""
    return ElectLeadersResult(
        {
            TopicPartition(each.partition.topic, each.partition.partition): ElectionResult(
                ErrorCode.from_code(each.error_code),
                each.error_message if each.HasField("error_message") else None,
                BrokerId(each.leader),
            )
            for each in message.elections
        }
    )
