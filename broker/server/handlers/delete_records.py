"""DeleteRecords (21): raise the start offsets of logs.

Sources: ``KafkaApis.handleDeleteRecordsRequest`` and ``DeleteRecordsRequest.json`` of release 2.8; KIP-107.
"""

from __future__ import annotations

from barnabas.broker.replicas.interface import DeleteResults
from barnabas.broker.server.by_topic import topic_answers
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.server.portions import begin_in_portions
from barnabas.broker.wire.frames import NO_THROTTLE, Request, milliseconds
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.runtime.turn import freed_in_turns, paced


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the low watermark of each partition once all live replicas have raised theirs, or an error."""
    body = request.body
    asked = ((topic.name, partition) for topic in body.topics for partition in topic.partitions)
    offsets = {
        TopicPartition(topic, partition.partition_index): Offset(partition.offset)
        async for topic, partition in paced(asked)
    }
    timeout_ms = milliseconds(body.timeout)
    results = await begin_in_portions(offsets, lambda some: context.deletes.delete(some, timeout_ms))
    answer = await _answer(request, results)
    await freed_in_turns(offsets, results)
    return answer


async def _answer(request: Request, results: DeleteResults) -> Answer:
    topics = await topic_answers(
        request,
        "DeleteRecordsTopicResult",
        results,
        lambda tp: request.answer(
            "DeleteRecordsPartitionResult",
            partition_index=tp.partition,
            low_watermark=results[tp].low_watermark,
            error_code=results[tp].error,
        ),
    )
    return request.answer("DeleteRecordsResponse", throttle_time=NO_THROTTLE, topics=topics)
