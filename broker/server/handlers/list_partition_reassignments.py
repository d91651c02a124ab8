"""ListPartitionReassignments (46): what the controller is moving now.

Sources: ``KafkaApis.handleListPartitionReassignmentsRequest`` of release 2.8; KIP-455.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from broker.server.context import Answer, ServerContext
from broker.wire.frames import NO_THROTTLE, Request, milliseconds
from cluster.model.commands import Refused
from cluster.model.commands_reassignment import ListPartitionReassignments
from cluster.model.errors import ErrorCode
from cluster.model.ids import TopicPartition
from cluster.model.partition import Assignment


async def handle(context: ServerContext, request: Request) -> Answer:
    """The partitions that are being moved, of those asked for or of all, by topic and number."""
    body = request.body
    named = None if body.topics is None else _named(request)
    told = await context.controller.submit(ListPartitionReassignments(named), milliseconds(body.timeout))
    if isinstance(told, Refused):
        return _answer(request, told.error, told.message, {})
    return _answer(request, ErrorCode.NONE, None, told.reassignments)


def _named(request: Request) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(topic.name, number)
        for topic in request.body.topics
        for number in topic.partition_indexes
    )


def _answer(
    request: Request, error: ErrorCode, message: str | None, running: Mapping[TopicPartition, Assignment]
) -> Answer:
    by_topic = groupby(sorted(running), key=lambda tp: tp.topic)
    return request.answer(
        "ListPartitionReassignmentsResponse",
        throttle_time=NO_THROTTLE,
        error_code=error,
        error_message=message,
        topics=tuple(
            request.answer(
                "OngoingTopicReassignment",
                name=topic,
                partitions=tuple(
                    request.answer(
                        "OngoingPartitionReassignment",
                        partition_index=tp.partition,
                        replicas=running[tp].replicas,
                        adding_replicas=running[tp].adding,
                        removing_replicas=running[tp].removing,
                    )
                    for tp in tps
                ),
            )
            for topic, tps in by_topic
        ),
    )
