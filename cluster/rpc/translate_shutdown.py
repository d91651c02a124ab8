"""The translation of the command for a controlled shutdown, and of its result."""

from __future__ import annotations

from barnabas.cluster.model.commands.shutdown import ControlledShutdown, ControlledShutdownResult
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.rpc import control_pb2 as pb


def controlled_shutdown_to_message(command: ControlledShutdown) -> pb.ControlledShutdownRequest:
    """Translate the command without the caller's timeout."""
    return pb.ControlledShutdownRequest(broker_id=command.broker_id, broker_epoch=command.broker_epoch)


def controlled_shutdown_from_message(message: pb.ControlledShutdownRequest) -> ControlledShutdown:
    """Return the command that ``controlled_shutdown_to_message`` wrote."""
    return ControlledShutdown(BrokerId(message.broker_id), BrokerEpoch(message.broker_epoch))


def controlled_shutdown_result_to_message(result: ControlledShutdownResult) -> pb.ControlledShutdownResponse:
    """Translate the remaining partitions in their order."""
    remaining = [pb.RemainingPartition(topic=topic, partition=number) for topic, number in result.remaining]
    return pb.ControlledShutdownResponse(remaining_partitions=remaining)


def controlled_shutdown_result_from_message(
    message: pb.ControlledShutdownResponse,
) -> ControlledShutdownResult:
    """Return the result that ``controlled_shutdown_result_to_message`` wrote."""
    return ControlledShutdownResult(
        tuple(TopicPartition(each.topic, each.partition) for each in message.remaining_partitions)
    )
