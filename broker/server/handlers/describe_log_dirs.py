"""DescribeLogDirs (35): the log directories of this broker and the size of each log in them (KIP-113).

Source: ``KafkaApis.handleDescribeLogDirsRequest`` and ``ReplicaManager.describeLogDirs`` of release 2.8.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from barnabas.broker.replicas.interface import DescribedLog
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.turn import freed_in_turns, paced


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return every configured directory, with the requested logs, or all logs.

    Each topic of a directory is listed, even without a requested partition, as in 2.8.
    """
    asked: set[TopicPartition] | None = None
    if request.body.topics is not None:
        named = ((topic.topic, number) for topic in request.body.topics for number in topic.partitions)
        asked = {TopicPartition(topic, number) async for topic, number in paced(named)}
    results = [
        request.answer(
            "DescribeLogDirsResult",
            error_code=described.error,
            log_dir=described.path,
            topics=await _topics(request, described.logs, asked),
        )
        for described in context.log_dirs.describe()
    ]
    if asked:
        await freed_in_turns(asked)
    return request.answer("DescribeLogDirsResponse", throttle_time=NO_THROTTLE, results=tuple(results))


async def _topics(
    request: Request, logs: Iterable[DescribedLog], asked: set[TopicPartition] | None
) -> tuple[Answer, ...]:
    topics: dict[str, list[Answer]] = defaultdict(list)
    async for log in paced(logs):
        partitions = topics[log.topic_partition.topic]
        if asked is None or log.topic_partition in asked:
            partitions.append(
                request.answer(
                    "DescribeLogDirsPartition",
                    partition_index=log.topic_partition.partition,
                    partition_size=log.size,
                    offset_lag=log.offset_lag,
                    is_future_key=log.is_future,
                )
            )
    return tuple(
        request.answer("DescribeLogDirsTopic", name=name, partitions=tuple(partitions))
        for name, partitions in topics.items()
    )
