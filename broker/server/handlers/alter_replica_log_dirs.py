"""AlterReplicaLogDirs (34): move replicas of this broker to other log directories of it (KIP-113).

Source: ``KafkaApis.handleAlterReplicaLogDirsRequest`` of release 2.8.
"""

from __future__ import annotations

from barnabas.broker.server.by_topic import topic_answers
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.turn import freed_in_turns, paced


async def handle(context: ServerContext, request: Request) -> Answer:
    """Begin to move each replica, without waiting for the end; the last directory of a replica counts."""
    named = (
        (TopicPartition(topic.name, number), log_dir.path)
        for log_dir in request.body.dirs
        for topic in log_dir.topics
        for number in topic.partitions
    )
    paths = {topic_partition: path async for topic_partition, path in paced(named)}
    results: dict[TopicPartition, ErrorCode] = {}
    async for topic_partition, path in paced(paths.items()):
        results[topic_partition] = context.log_dirs.alter(topic_partition, path)
    topics = await topic_answers(
        request,
        "AlterReplicaLogDirTopicResult",
        results,
        lambda tp: request.answer(
            "AlterReplicaLogDirPartitionResult", partition_index=tp.partition, error_code=results[tp]
        ),
        name="topic_name",
    )
    await freed_in_turns(paths, results)
    return request.answer("AlterReplicaLogDirsResponse", throttle_time=NO_THROTTLE, results=topics)
