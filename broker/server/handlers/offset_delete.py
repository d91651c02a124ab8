"""OffsetDelete (47): an administrator deletes offsets of a group (KIP-496).

Sources: ``KafkaApis.handleOffsetDeleteRequest`` and ``OffsetDeleteRequest.json`` of release 2.8.
"""

from __future__ import annotations

from barnabas.broker.server.by_topic import topic_answers
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.turn import paced


async def handle(context: ServerContext, request: Request) -> Answer:
    """Answer an error for each partition, or one for the whole request and no partitions."""
    body = request.body
    errors: dict[TopicPartition, ErrorCode] = {}
    known: list[TopicPartition] = []
    async for name, each in paced((topic.name, each) for topic in body.topics for each in topic.partitions):
        topic_partition = TopicPartition(name, each.partition_index)
        errors[topic_partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if context.metadata.partition(topic_partition) is not None:
            known.append(topic_partition)
    deleted = await context.groups.offsets.delete(body.group_id, known)
    if isinstance(deleted, ErrorCode):
        return request.answer(
            "OffsetDeleteResponse", error_code=deleted, throttle_time=NO_THROTTLE, topics=()
        )
    errors |= deleted
    topics = await topic_answers(
        request,
        "OffsetDeleteResponseTopic",
        errors,
        lambda tp: request.answer(
            "OffsetDeleteResponsePartition", partition_index=tp.partition, error_code=errors[tp]
        ),
    )
    return request.answer(
        "OffsetDeleteResponse",
        error_code=ErrorCode.NONE,
        throttle_time=NO_THROTTLE,
        topics=topics,
    )
