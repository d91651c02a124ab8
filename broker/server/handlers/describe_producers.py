"""DescribeProducers (61): the idempotent producers that this broker's replicas know (KIP-664).

Sources: ``KafkaApis.handleDescribeProducersRequest``, ``ReplicaManager.activeProducerState`` and
``Log.activeProducers`` of release 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from barnabas.broker.core.producer_state import ProducerEntry
from barnabas.broker.replicas.turn import freed_in_turns, paced
from barnabas.broker.server.by_topic import topic_answers
from barnabas.broker.server.context import Answer, Building, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Body, Request
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition

SHORT_ANSWER = 1_000
"""The most partitions and producers of an answer that is built at once."""

_Producers = Mapping[TopicPartition, Sequence[ProducerEntry] | ErrorCode]


async def handle(context: ServerContext, request: Request) -> Answer | Building:
    """Return the producers of each partition once, however often it was requested."""
    names = ((topic.name, number) for topic in request.body.topics for number in topic.partition_indexes)
    asked = {TopicPartition(name, number): None async for name, number in paced(names)}
    found = {each: _producers(context, each) async for each in paced(asked)}
    make = partial(_answer, request, found)
    size = sum(1 if isinstance(each, ErrorCode) else 1 + len(each) for each in found.values())
    return await make() if size <= SHORT_ANSWER else Building(make)


def _producers(context: ServerContext, asked: TopicPartition) -> Sequence[ProducerEntry] | ErrorCode:
    if not context.metadata.partitions(asked.topic):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return context.reads.producers(asked)


async def _answer(request: Request, found: _Producers) -> Answer:
    entities: dict[TopicPartition, Body] = {}
    for topic_partition, producers in found.items():
        error, known = (producers, ()) if isinstance(producers, ErrorCode) else (ErrorCode.NONE, producers)
        entities[topic_partition] = request.answer(
            "PartitionResponse",
            partition_index=topic_partition.partition,
            error_code=error,
            active_producers=tuple([_producer(request, each) async for each in paced(known)]),
        )
    topics = await topic_answers(
        found,
        lambda name, partitions: request.answer("TopicResponse", name=name, partitions=partitions),
        entities.__getitem__,
    )
    await freed_in_turns(entities)
    return request.answer("DescribeProducersResponse", throttle_time=NO_THROTTLE, topics=topics)


def _producer(request: Request, entry: ProducerEntry) -> Body:
    return request.answer(
        "ProducerState",
        producer_id=entry.producer_id,
        producer_epoch=entry.epoch,
        last_sequence=entry.last_sequence,
        last_timestamp=entry.last_timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_start_offset=entry.transaction_first_offset,
    )
