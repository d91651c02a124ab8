"""ListPartitionReassignments (46): the reassignments in progress.

Sources: ``KafkaApis.handleListPartitionReassignmentsRequest`` of release 2.8; KIP-455.
"""

from __future__ import annotations

from typing import Any

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.server.portions import PORTION
from barnabas.broker.server.reassignment_answers import Names, reassignment_answer
from barnabas.broker.wire.frames import Request, milliseconds
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.reassignments import ListPartitionReassignments
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.turn import paced

_NAMES = Names(
    "ListPartitionReassignmentsResponse",
    "topics",
    "OngoingTopicReassignment",
    "OngoingPartitionReassignment",
)


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the reassignments in progress, of the requested partitions or of all."""
    body = request.body
    named = None if body.topics is None else await _named(body)
    # More partitions than one portion are not passed to the controller; there are fewer reassignments than
    # that.
    command = ListPartitionReassignments(None if named is None or len(named) > PORTION else tuple(named))
    outcome = await context.controller.submit(command, milliseconds(body.timeout))
    if isinstance(outcome, Refused):
        return await reassignment_answer(request, _NAMES, {}, outcome.error, outcome.message)
    moving = {
        tp: {
            "replicas": assignment.replicas,
            "adding_replicas": assignment.adding,
            "removing_replicas": assignment.removing,
        }
        async for tp, assignment in paced(outcome.reassignments.items())
        if named is None or tp in named
    }
    return await reassignment_answer(request, _NAMES, moving)


async def _named(body: Any) -> dict[TopicPartition, None]:
    """Return the requested partitions, each once."""
    asked = (TopicPartition(topic.name, n) for topic in body.topics for n in topic.partition_indexes)
    return {tp: None async for tp in paced(asked)}
