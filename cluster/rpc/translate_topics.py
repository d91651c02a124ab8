"""CreateTopics and its result as messages."""

from __future__ import annotations

from barnabas.cluster.model.commands.topics import CreateTopics, CreateTopicsResult, NewTopic, TopicResult
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.rpc import control_pb2 as pb


def create_topics_to_message(command: CreateTopics) -> pb.CreateTopicsRequest:
    """Translate the command without the caller's timeout."""
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
    """Return the command that ``create_topics_to_message`` wrote."""
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
    """Translate the results in their order."""
    return pb.CreateTopicsResponse(topics=[_topic_to_message(topic) for topic in result.topics])


def create_topics_result_from_message(message: pb.CreateTopicsResponse) -> CreateTopicsResult:
    """Return the result that ``create_topics_result_to_message`` wrote."""
    return CreateTopicsResult(tuple(_topic_from_message(topic) for topic in message.topics))


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
