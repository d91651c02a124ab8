"""ListPartitionReassignments (46): what the controller is moving now.

Sources: ``KafkaApis.handleListPartitionReassignmentsRequest`` of release 2.8; KIP-455.
"""

from __future__ import annotations

from typing import Any

from barnabas.broker.replicas.turn import paced
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.server.portions import PORTION
from barnabas.broker.server.reassignment_answers import Names, reassignment_answer
from barnabas.broker.wire.frames import Request, milliseconds
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.reassignments import ListPartitionReassignments
from barnabas.cluster.model.ids import TopicPartition

_NAMES = Names(
    "ListPartitionReassignmentsResponse",
    "topics",
    "OngoingTopicReassignment",
    "OngoingPartitionReassignment",
)


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the partitions that are being moved, of those asked for or of all, by topic and number."""
    body = request.body
    named = None if body.topics is None else await _named(body)
    # The controller is not told of more than it takes in one portion: what it moves is less than that.
    command = ListPartitionReassignments(None if named is None or len(named) > PORTION else tuple(named))
    told = await context.controller.submit(command, milliseconds(body.timeout))
    if isinstance(told, Refused):
        return await reassignment_answer(request, _NAMES, {}, told.error, told.message)
    moving = {
        tp: {
            "replicas": assignment.replicas,
            "adding_replicas": assignment.adding,
            "removing_replicas": assignment.removing,
        }
        async for tp, assignment in paced(told.reassignments.items())
        if named is None or tp in named
    }
    return await reassignment_answer(request, _NAMES, moving)


async def _named(body: Any) -> dict[TopicPartition, None]:
    """Return the partitions asked for, each once."""
    asked = (TopicPartition(topic.name, n) for topic in body.topics for n in topic.partition_indexes)
    return {tp: None async for tp in paced(asked)}
