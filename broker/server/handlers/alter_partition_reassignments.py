"""AlterPartitionReassignments (45): hand the moves to the controller, which answers when they have begun.

Sources: ``KafkaApis.handleAlterPartitionReassignmentsRequest`` of release 2.8; KIP-455.
"""

from __future__ import annotations

from collections import Counter

from broker.server.context import Answer, ServerContext
from broker.server.reassignment_answers import Names, reassignment_answer
from broker.wire.frames import Request, milliseconds
from cluster.model.commands import Refused
from cluster.model.commands_reassignment import AlterPartitionReassignments, ReassignmentResult
from cluster.model.errors import ErrorCode
from cluster.model.ids import BrokerId, TopicPartition

_NAMES = Names(
    "AlterPartitionReassignmentsResponse",
    "responses",
    "ReassignableTopicResponse",
    "ReassignablePartitionResponse",
)


async def handle(context: ServerContext, request: Request) -> Answer:
    """What became of each partition, by topic and number; where nobody is asked, one error for all."""
    body = request.body
    asked = [
        (TopicPartition(topic.name, partition.partition_index), partition.replicas)
        for topic in body.topics
        for partition in topic.partitions
    ]
    times = Counter(tp for tp, _ in asked)
    results = {tp: _named_twice(tp) for tp, count in times.items() if count > 1}
    command = AlterPartitionReassignments(
        {
            tp: None if replicas is None else tuple(map(BrokerId, replicas))
            for tp, replicas in asked
            if tp not in results
        }
    )
    told = await context.controller.submit(command, milliseconds(body.timeout))
    if isinstance(told, Refused):
        return reassignment_answer(request, _NAMES, {}, told.error, told.message)
    return reassignment_answer(
        request,
        _NAMES,
        {
            tp: {"error_code": result.error, "error_message": result.message}
            for tp, result in {**told.partitions, **results}.items()
        },
    )


def _named_twice(tp: TopicPartition) -> ReassignmentResult:
    return ReassignmentResult(
        ErrorCode.INVALID_REQUEST, f"The partition {tp} is named more than once; expected once"
    )
