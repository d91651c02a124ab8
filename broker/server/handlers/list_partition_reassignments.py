"""ListPartitionReassignments (46): what the controller is moving now.

Sources: ``KafkaApis.handleListPartitionReassignmentsRequest`` of release 2.8; KIP-455.
"""

from __future__ import annotations

from broker.server.context import Answer, ServerContext
from broker.server.reassignment_answers import Names, reassignment_answer
from broker.wire.frames import Request, milliseconds
from cluster.model.commands import Refused
from cluster.model.commands_reassignment import ListPartitionReassignments
from cluster.model.ids import TopicPartition

_NAMES = Names(
    "ListPartitionReassignmentsResponse",
    "topics",
    "OngoingTopicReassignment",
    "OngoingPartitionReassignment",
)


async def handle(context: ServerContext, request: Request) -> Answer:
    """The partitions that are being moved, of those asked for or of all, by topic and number."""
    body = request.body
    named = None if body.topics is None else _named(request)
    told = await context.controller.submit(ListPartitionReassignments(named), milliseconds(body.timeout))
    if isinstance(told, Refused):
        return reassignment_answer(request, _NAMES, {}, told.error, told.message)
    return reassignment_answer(
        request,
        _NAMES,
        {
            tp: {
                "replicas": moving.replicas,
                "adding_replicas": moving.adding,
                "removing_replicas": moving.removing,
            }
            for tp, moving in told.reassignments.items()
        },
    )


def _named(request: Request) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(topic.name, number)
        for topic in request.body.topics
        for number in topic.partition_indexes
    )
