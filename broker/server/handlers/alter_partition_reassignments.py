"""AlterPartitionReassignments (45): hand the moves to the controller, which answers when they have begun.

Sources: ``KafkaApis.handleAlterPartitionReassignmentsRequest`` of release 2.8; KIP-455.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby

from broker.server.context import Answer, ServerContext
from broker.wire.frames import NO_THROTTLE, Request, milliseconds
from cluster.model.commands import Refused
from cluster.model.commands_reassignment import AlterPartitionReassignments, ReassignmentResult
from cluster.model.errors import ErrorCode
from cluster.model.ids import BrokerId, TopicPartition


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
        return _answer(request, told.error, told.message, {})
    return _answer(request, ErrorCode.NONE, None, {**told.partitions, **results})


def _named_twice(tp: TopicPartition) -> ReassignmentResult:
    return ReassignmentResult(
        ErrorCode.INVALID_REQUEST, f"The partition {tp} is named more than once; expected once"
    )


def _answer(
    request: Request, error: ErrorCode, message: str | None, results: dict[TopicPartition, ReassignmentResult]
) -> Answer:
    by_topic = groupby(sorted(results), key=lambda tp: tp.topic)
    return request.answer(
        "AlterPartitionReassignmentsResponse",
        throttle_time=NO_THROTTLE,
        error_code=error,
        error_message=message,
        responses=tuple(
            request.answer(
                "ReassignableTopicResponse",
                name=topic,
                partitions=tuple(
                    request.answer(
                        "ReassignablePartitionResponse",
                        partition_index=tp.partition,
                        error_code=results[tp].error,
                        error_message=results[tp].message,
                    )
                    for tp in tps
                ),
            )
            for topic, tps in by_topic
        ),
    )
