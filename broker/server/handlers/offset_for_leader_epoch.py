"""OffsetForLeaderEpoch (23): the end of a leader epoch, by which a client detects truncation.

Sources: ``KafkaApis.handleOffsetForLeaderEpochRequest`` of release 2.8; KIP-101, KIP-320.
"""

from __future__ import annotations

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.turn import Turn


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the end of the requested epoch, for each partition."""
    topics, turn = [], Turn()
    for topic in request.body.topics:
        partitions = []
        await turn.yield_if_long()
        for asked in topic.partitions:
            await turn.yield_if_long()
            end = context.reads.end_offset_for(
                TopicPartition(topic.topic, asked.partition),
                asked.leader_epoch,
                getattr(asked, "current_leader_epoch", UNKNOWN_LEADER_EPOCH),
            )
            partitions.append(
                request.answer(
                    "EpochEndOffset",
                    error_code=end.error,
                    partition=asked.partition,
                    leader_epoch=end.leader_epoch,
                    end_offset=end.end_offset,
                )
            )
        topics.append(
            request.answer("OffsetForLeaderTopicResult", topic=topic.topic, partitions=tuple(partitions))
        )
    return request.answer("OffsetForLeaderEpochResponse", throttle_time=NO_THROTTLE, topics=tuple(topics))
