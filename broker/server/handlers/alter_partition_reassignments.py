"""AlterPartitionReassignments (45): pass them to the controller, which answers once they have begun.

Sources: ``KafkaApis.handleAlterPartitionReassignmentsRequest`` of release 2.8; KIP-455.
"""

from __future__ import annotations

from collections import Counter

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.server.portions import RequestDeadline, submit
from barnabas.broker.server.reassignment_answers import Names, reassignment_answer
from barnabas.broker.wire.frames import Request, milliseconds
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.reassignments import AlterPartitionReassignments, ReassignmentResult
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.runtime.turn import freed_in_turns, paced

_NAMES = Names(
    "AlterPartitionReassignmentsResponse",
    "responses",
    "ReassignableTopicResponse",
    "ReassignablePartitionResponse",
)


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the result of each partition, or one error for all if this broker is not the controller."""
    body = request.body
    deadline = RequestDeadline(milliseconds(body.timeout))
    times: Counter[TopicPartition] = Counter()
    targets: dict[TopicPartition, tuple[BrokerId, ...] | None] = {}
    async for name, partition in paced(
        (topic.name, each) for topic in body.topics for each in topic.partitions
    ):
        tp = TopicPartition(name, partition.partition_index)
        times[tp] += 1
        targets[tp] = None if partition.replicas is None else tuple(map(BrokerId, partition.replicas))
    results = {tp: _named_twice(tp) async for tp in paced(times) if times[tp] > 1}
    async for portion, outcome in submit(
        context.controller,
        [tp async for tp in paced(times) if times[tp] == 1],
        lambda some: AlterPartitionReassignments({tp: targets[tp] for tp in some}),
        deadline,
    ):
        if not isinstance(outcome, Refused):
            results |= outcome.partitions
        elif outcome.error is ErrorCode.NOT_CONTROLLER:
            return await reassignment_answer(request, _NAMES, {}, outcome.error, outcome.message)
        else:
            results |= dict.fromkeys(portion, ReassignmentResult(outcome.error, outcome.message))
    said = {
        tp: {"error_code": results[tp].error, "error_message": results[tp].message}
        async for tp in paced(times)
        if tp in results
    }
    answer = await reassignment_answer(request, _NAMES, said)
    await freed_in_turns(times, targets, results, said)
    return answer


def _named_twice(tp: TopicPartition) -> ReassignmentResult:
    return ReassignmentResult(
        ErrorCode.INVALID_REQUEST, f"The partition {tp} is named more than once; expected once"
    )
