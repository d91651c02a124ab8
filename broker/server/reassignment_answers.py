"""The answers to AlterPartitionReassignments and ListPartitionReassignments: one error, and each partition.

Their schemas differ only in names (KIP-455).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barnabas.broker.server.by_topic import topic_answers
from barnabas.broker.server.context import Answer
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class Names:
    """The names in one of the answers.

    Attributes:
        response: The answer.
        topics: Its field of topics.
        topic: The entity of a topic.
        partition: The entity of a partition.
    """

    response: str
    topics: str
    topic: str
    partition: str


async def reassignment_answer(
    request: Request,
    names: Names,
    partitions: Mapping[TopicPartition, Mapping[str, Any]],
    error: ErrorCode = ErrorCode.NONE,
    message: str | None = None,
) -> Answer:
    """Build the answer, grouped by topic.

    Args:
        request: The request.
        names: The names in its answer.
        partitions: The fields of each partition except its number.
        error: The error of the whole request.
        message: The message of that error.
    """
    topics = await topic_answers(
        request,
        names.topic,
        partitions,
        lambda tp: request.answer(names.partition, partition_index=tp.partition, **partitions[tp]),
    )
    return request.answer(
        names.response,
        throttle_time=NO_THROTTLE,
        error_code=error,
        error_message=message,
        **{names.topics: topics},
    )
