"""DeleteRecords (21): have logs start later.

Sources: ``KafkaApis.handleDeleteRecordsRequest`` and ``DeleteRecordsRequest.json`` of release 2.8; KIP-107.
"""

from __future__ import annotations

from itertools import groupby

from broker.replicas.interface import DeleteResults
from broker.server.context import Answer, ServerContext
from broker.wire.frames import NO_THROTTLE, Request, milliseconds
from cluster.model.ids import Offset, TopicPartition


async def handle(context: ServerContext, request: Request) -> Answer:
    """Where the records of each partition begin at every live replica once they have moved, or why not."""
    body = request.body
    offsets = {
        TopicPartition(topic.name, partition.partition_index): Offset(partition.offset)
        for topic in body.topics
        for partition in topic.partitions
    }
    return _answer(request, await context.deletes.delete(offsets, milliseconds(body.timeout)))


def _answer(request: Request, results: DeleteResults) -> Answer:
    by_topic = groupby(results.items(), key=lambda item: item[0].topic)
    return request.answer(
        "DeleteRecordsResponse",
        throttle_time=NO_THROTTLE,
        topics=tuple(
            request.answer(
                "DeleteRecordsTopicResult",
                name=topic,
                partitions=tuple(
                    request.answer(
                        "DeleteRecordsPartitionResult",
                        partition_index=topic_partition.partition,
                        low_watermark=deleted.low_watermark,
                        error_code=deleted.error,
                    )
                    for topic_partition, deleted in partitions
                ),
            )
            for topic, partitions in by_topic
        ),
    )
