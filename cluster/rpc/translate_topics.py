"""Commands about topics, and their results, as messages."""

from __future__ import annotations

from barnabas.cluster.model.commands import CreateTopics, CreateTopicsResult, NewTopic, TopicResult
from barnabas.cluster.model.commands_topics import (
    CreatePartitions,
    CreatePartitionsResult,
    DeleteTopics,
    DeleteTopicsResult,
    NewPartitions,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.rpc import control_pb2 as pb


def create_topics_to_message(command: CreateTopics) -> pb.CreateTopicsRequest:
    """The command; the time that its caller is willing to wait is not part of it."""
    return pb.CreateTopicsRequest(
        topics=[
            pb.NewTopic(
                name=topic.name,
                partitions=topic.partitions,
                replication_factor=topic.replication_factor,
                assignments={n: pb.Replicas(broker_ids=ids) for n, ids in topic.assignments.items()},
                configs=topic.configs,
            )
            for topic in command.topics
        ],
        validate_only=command.validate_only,
    )


def create_topics_from_message(message: pb.CreateTopicsRequest) -> CreateTopics:
    """The command that ``create_topics_to_message`` wrote."""
    return CreateTopics(
        topics=tuple(
            NewTopic(
                name=topic.name,
                partitions=topic.partitions,
                replication_factor=topic.replication_factor,
                assignments={
                    n: tuple(map(BrokerId, topic.assignments[n].broker_ids))
                    for n in sorted(topic.assignments)
                },
                configs=dict(topic.configs),
            )
            for topic in message.topics
        ),
        validate_only=message.validate_only,
    )


def create_topics_result_to_message(result: CreateTopicsResult) -> pb.CreateTopicsResponse:
    """The results in their order."""
    return pb.CreateTopicsResponse(topics=[_topic_to_message(topic) for topic in result.topics])


def create_topics_result_from_message(message: pb.CreateTopicsResponse) -> CreateTopicsResult:
    """The result that ``create_topics_result_to_message`` wrote."""
    return CreateTopicsResult(tuple(_topic_from_message(topic) for topic in message.topics))


def create_partitions_to_message(command: CreatePartitions) -> pb.CreatePartitionsRequest:
    """The command."""
    return pb.CreatePartitionsRequest(
        topics=[
            pb.NewPartitions(
                topic=topic.topic,
                count=topic.count,
                is_by_hand=topic.assignments is not None,
                assignments=[pb.Replicas(broker_ids=ids) for ids in topic.assignments or ()],
            )
            for topic in command.topics
        ],
        validate_only=command.validate_only,
    )


def create_partitions_from_message(message: pb.CreatePartitionsRequest) -> CreatePartitions:
    """The command that ``create_partitions_to_message`` wrote."""
    return CreatePartitions(
        tuple(
            NewPartitions(
                topic.topic,
                topic.count,
                tuple(tuple(map(BrokerId, one.broker_ids)) for one in topic.assignments)
                if topic.is_by_hand
                else None,
            )
            for topic in message.topics
        ),
        message.validate_only,
    )


def create_partitions_result_to_message(result: CreatePartitionsResult) -> pb.CreatePartitionsResponse:
    """The results in their order."""
    return pb.CreatePartitionsResponse(topics=[_topic_to_message(topic) for topic in result.topics])


def create_partitions_result_from_message(message: pb.CreatePartitionsResponse) -> CreatePartitionsResult:
    """The result that ``create_partitions_result_to_message`` wrote."""
    return CreatePartitionsResult(tuple(_topic_from_message(topic) for topic in message.topics))


def delete_topics_to_message(command: DeleteTopics) -> pb.DeleteTopicsRequest:
    """The command."""
    return pb.DeleteTopicsRequest(topics=command.topics)


def delete_topics_from_message(message: pb.DeleteTopicsRequest) -> DeleteTopics:
    """The command that ``delete_topics_to_message`` wrote."""
    return DeleteTopics(tuple(message.topics))


def delete_topics_result_to_message(result: DeleteTopicsResult) -> pb.DeleteTopicsResponse:
    """The results in their order."""
    return pb.DeleteTopicsResponse(topics=[_topic_to_message(topic) for topic in result.topics])


def delete_topics_result_from_message(message: pb.DeleteTopicsResponse) -> DeleteTopicsResult:
    """The result that ``delete_topics_result_to_message`` wrote."""
    return DeleteTopicsResult(tuple(_topic_from_message(topic) for topic in message.topics))


def _topic_to_message(topic: TopicResult) -> pb.TopicResult:
    return pb.TopicResult(
        name=topic.name,
        error_code=topic.error,
        error_message=topic.message,
        partitions=topic.partitions,
        replication_factor=topic.replication_factor,
    )


def _topic_from_message(topic: pb.TopicResult) -> TopicResult:
    return TopicResult(
        name=topic.name,
        error=ErrorCode.from_code(topic.error_code),
        message=topic.error_message if topic.HasField("error_message") else None,
        partitions=topic.partitions,
        replication_factor=topic.replication_factor,
    )
