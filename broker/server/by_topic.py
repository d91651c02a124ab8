"""Partitions grouped by topic, as most answers list them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from barnabas.broker.wire.frames import Body
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.turn import paced


async def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    """Group ``partitions`` by topic; topics and partitions keep the order of their first occurrence."""
    found: dict[str, list[TopicPartition]] = {}
    async for partition in paced(partitions):
        found.setdefault(partition.topic, []).append(partition)
    return found


async def topic_answers(
    partitions: Iterable[TopicPartition],
    topic_answer: Callable[[str, tuple[Body, ...]], Body],
    partition_answer: Callable[[TopicPartition], Body],
) -> tuple[Body, ...]:
    """Build the entities of topics in an answer, each with those of its partitions.

    Args:
        partitions: The partitions that the answer lists.
        topic_answer: Builds the entity of a topic from its name and its partitions' entities.
        partition_answer: Builds the entity of a partition.
    """
    return tuple(
        [
            topic_answer(topic, tuple([partition_answer(each) async for each in paced(of_topic)]))
            for topic, of_topic in (await by_topic(partitions)).items()
        ]
    )
