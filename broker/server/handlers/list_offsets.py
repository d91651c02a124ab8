"""ListOffsets (2): the earliest or latest offset, the first of a time, or that of the largest timestamp.

Version 0 returns the starts of segments instead, by the times of their files. Sources:
``KafkaApis.handleListOffsetRequest`` and ``ListOffsetsRequest.json``, of release 2.8 and for versions 7 and 8
of 3.9; KIP-79, KIP-207, KIP-734.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from barnabas.broker.core.offsets_before import MAX_TIMESTAMP
from barnabas.broker.replicas.interface import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListedOffset,
)
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.turn import Turn, freed_in_turns, paced

_OFFSET_NOT_AVAILABLE_SINCE = 5
_NEVER = 1 << 15
_SINCE = {LATEST_TIMESTAMP: 1, EARLIEST_TIMESTAMP: 1, MAX_TIMESTAMP: 7, EARLIEST_LOCAL_TIMESTAMP: 8}
"""The first version in which a negative timestamp has a meaning."""
_READ_COMMITTED = 1


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return one offset for each partition; a partition requested twice is ``INVALID_REQUEST``."""
    asked: Counter[TopicPartition] = Counter()
    named = ((topic.name, each) for topic in request.body.topics for each in topic.partitions)
    async for name, each in paced(named):
        asked[TopicPartition(name, each.partition_index)] += 1
    read_committed = getattr(request.body, "isolation_level", 0) == _READ_COMMITTED
    topics, turn = [], Turn()
    for topic in request.body.topics:
        partitions = []
        await turn.yield_if_long()
        for partition in topic.partitions:
            await turn.yield_if_long()
            topic_partition = TopicPartition(topic.name, partition.partition_index)
            if request.version == 0:
                partitions.append(_old_style(context, request, topic_partition, partition))
                continue
            if asked[topic_partition] > 1:
                listed = ListedOffset(ErrorCode.INVALID_REQUEST)
            elif partition.timestamp < 0 and request.version < _SINCE.get(partition.timestamp, _NEVER):
                listed = ListedOffset(ErrorCode.UNSUPPORTED_VERSION)
            else:
                epoch = getattr(partition, "current_leader_epoch", UNKNOWN_LEADER_EPOCH)
                listed = await context.reads.list_offset(
                    topic_partition,
                    partition.timestamp,
                    epoch,
                    read_committed=read_committed,
                    replica_id=request.body.replica_id,
                )
            partitions.append(_partition(request, topic_partition.partition, listed))
        topics.append(
            request.answer("ListOffsetsTopicResponse", name=topic.name, partitions=tuple(partitions))
        )
    await freed_in_turns(asked)
    return request.answer("ListOffsetsResponse", throttle_time=NO_THROTTLE, topics=tuple(topics))


def _old_style(
    context: ServerContext, request: Request, topic_partition: TopicPartition, asked: Any
) -> Answer:
    found = context.reads.offsets_before(
        topic_partition, asked.timestamp, asked.max_num_offsets, request.body.replica_id
    )
    error, offsets = (found, ()) if isinstance(found, ErrorCode) else (ErrorCode.NONE, tuple(found))
    return request.answer(
        "ListOffsetsPartitionResponse",
        partition_index=topic_partition.partition,
        error_code=error,
        old_style_offsets=offsets,
    )


def _partition(request: Request, index: int, listed: ListedOffset) -> Answer:
    error = listed.error
    if error is ErrorCode.OFFSET_NOT_AVAILABLE and request.version < _OFFSET_NOT_AVAILABLE_SINCE:
        error = ErrorCode.LEADER_NOT_AVAILABLE  # KIP-207: older clients do not know OFFSET_NOT_AVAILABLE
    return request.answer(
        "ListOffsetsPartitionResponse",
        partition_index=index,
        error_code=error,
        timestamp=listed.timestamp,
        offset=listed.offset,
        leader_epoch=listed.leader_epoch,
    )
