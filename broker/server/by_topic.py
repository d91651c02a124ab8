"""Partitions grouped by topic, as most answers list them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from barnabas.broker.wire.frames import Body, Request
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.turn import FEW, Turn


async def topic_answers(
    request: Request,
    kind: str,
    partitions: Iterable[TopicPartition],
    partition_answer: Callable[[TopicPartition], Body],
    *,
    name: str = "name",
    listed: str = "partitions",
) -> tuple[Body, ...]:
    """Build the entities of topics in an answer, each with those of its partitions.

    Topics and partitions keep the order of their first occurrence.

    Args:
        request: The request.
        kind: The class of a topic in the answer.
        partitions: The partitions that the answer lists.
        partition_answer: Builds the entity of a partition.
        name: The field of a topic's name.
        listed: The field of a topic's partitions.
    """
    turn = Turn(few=FEW)
    topics: dict[str, list[Body]] = {}
    for each in partitions:
        topics.setdefault(each.topic, []).append(partition_answer(each))
        await turn.yield_if_long()
    answers = []
    for topic, entities in topics.items():
        answers.append(request.answer(kind, **{name: topic, listed: tuple(entities)}))
        await turn.yield_if_long()
    return tuple(answers)
