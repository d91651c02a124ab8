"""OffsetCommit (8): a group stores the offsets up to which it has read.

Sources: ``KafkaApis.handleOffsetCommitRequest`` and ``OffsetCommitRequest.json`` of release 2.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from barnabas.broker.core.group.records import NO_EPOCH, NO_TIMESTAMP, OffsetAndMetadata
from barnabas.broker.core.group.requests import MemberCall
from barnabas.broker.server import offsets_in_zookeeper
from barnabas.broker.server.by_topic import topic_answers
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request, milliseconds
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.turn import paced
from barnabas.cluster.runtime.wall_clock import wall_ms

_DEFAULT_RETENTION_MS = -1
_IN_ZOOKEEPER = 0


async def handle(context: ServerContext, request: Request) -> Answer:
    """Answer an error for each partition, once the commit is replicated."""
    body = request.body
    now_ms, expire_ms = wall_ms(), None
    retention = getattr(body, "retention_time", None)
    if retention is not None and milliseconds(retention) != _DEFAULT_RETENTION_MS:
        expire_ms = now_ms + milliseconds(retention)
    errors: dict[TopicPartition, ErrorCode] = {}
    commits: dict[TopicPartition, OffsetAndMetadata] = {}
    async for topic_partition, each in paced(_asked(body)):
        if context.metadata.partition(topic_partition) is None:
            errors[topic_partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            continue
        errors[topic_partition] = ErrorCode.NONE
        commit_ms = getattr(each, "commit_timestamp", NO_TIMESTAMP)
        commits[topic_partition] = OffsetAndMetadata(
            each.committed_offset,
            getattr(each, "committed_leader_epoch", NO_EPOCH),
            each.committed_metadata or "",
            now_ms if commit_ms == NO_TIMESTAMP else commit_ms,
            expire_ms,
        )
    if request.version == _IN_ZOOKEEPER:
        errors |= await offsets_in_zookeeper.commit(context, body.group_id, commits)
    elif commits:
        call = MemberCall(
            body.group_id,
            body.generation_id_or_member_epoch,
            body.member_id,
            getattr(body, "group_instance_id", None),
        )
        errors |= await context.groups.offsets.commit(call, commits)
    return await _answer(request, errors)


def _asked(body: Any) -> Iterator[tuple[TopicPartition, Any]]:
    for topic in body.topics:
        for each in topic.partitions:
            yield TopicPartition(topic.name, each.partition_index), each


async def _answer(request: Request, errors: dict[TopicPartition, ErrorCode]) -> Answer:
    topics = await topic_answers(
        request,
        "OffsetCommitResponseTopic",
        errors,
        lambda tp: request.answer(
            "OffsetCommitResponsePartition", partition_index=tp.partition, error_code=errors[tp]
        ),
    )
    return request.answer("OffsetCommitResponse", throttle_time=NO_THROTTLE, topics=topics)
