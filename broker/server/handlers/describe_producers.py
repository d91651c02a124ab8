"""DescribeProducers (61): the idempotent producers that this broker's replicas know (KIP-664).

Sources: ``KafkaApis.handleDescribeProducersRequest``, ``ReplicaManager.activeProducerState`` and
``Log.activeProducers`` of release 2.8.
"""

from __future__ import annotations

from barnabas.broker.core.records.producer_state import ProducerEntry, ProducerSnapshot
from barnabas.broker.server.by_topic import topic_answers
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Body, Request
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.turn import freed_in_turns, paced

SHORT_ANSWER = 1_000
"""The most partitions and producers of an answer that is built at once."""

_Producers = ProducerSnapshot | ErrorCode


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the producers of each partition once, however often it was requested."""
    names = ((topic.name, number) for topic in request.body.topics for number in topic.partition_indexes)
    found: dict[TopicPartition, _Producers] = {}
    size = 0
    async for name, number in paced(names):
        asked = TopicPartition(name, number)
        if asked not in found:
            found[asked] = known = _producers(context, asked)
            size += 1 if isinstance(known, ErrorCode) else 1 + len(known)
    if size > SHORT_ANSWER:
        await request.progress.begin_long_answer()
    entities = {each: await _partition(request, each, known) async for each, known in paced(found.items())}
    topics = await topic_answers(request, "TopicResponse", found, entities.__getitem__)
    await freed_in_turns(entities, found)
    return request.answer("DescribeProducersResponse", throttle_time=NO_THROTTLE, topics=topics)


def _producers(context: ServerContext, asked: TopicPartition) -> _Producers:
    if not context.metadata.partitions(asked.topic):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return context.reads.producers(asked)


async def _partition(request: Request, asked: TopicPartition, known: _Producers) -> Body:
    error, producers = (known, ()) if isinstance(known, ErrorCode) else (ErrorCode.NONE, known)
    return request.answer(
        "PartitionResponse",
        partition_index=asked.partition,
        error_code=error,
        active_producers=tuple([_producer(request, each) async for each in paced(producers)]),
    )


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
