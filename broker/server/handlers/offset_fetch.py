"""OffsetFetch (9): the offsets that a group has committed.

Sources: ``KafkaApis.handleOffsetFetchRequest`` and ``OffsetFetchRequest.json`` of release 2.8; KIP-447.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.broker.coordinator.offsets import FetchedOffset
from barnabas.broker.core.group.records import NO_EPOCH
from barnabas.broker.server import offsets_in_zookeeper
from barnabas.broker.server.by_topic import topic_answers
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.turn import paced

SHORT_ANSWER = 1_000
"""The most partitions of an answer that is built at once."""

_ERROR_OF_REQUEST_SINCE = 2
_NO_OFFSET = -1
_IN_ZOOKEEPER = 0


async def handle(context: ServerContext, request: Request) -> Answer:
    """Answer for the partitions asked, or for all with a commit; -1 where nothing is committed."""
    topics, wanted = request.body.topics, None
    if topics is not None:
        wanted = [
            TopicPartition(topic.name, index)
            async for topic, index in paced(
                (topic, index) for topic in topics for index in topic.partition_indexes
            )
        ]
    error, found = await _found(context, request, wanted)
    if len(found) > SHORT_ANSWER:
        await request.progress.begin_long_answer()
    topics = await topic_answers(
        request, "OffsetFetchResponseTopic", found, lambda tp: _partition(request, tp.partition, found[tp])
    )
    return request.answer("OffsetFetchResponse", throttle_time=NO_THROTTLE, topics=topics, error_code=error)


async def _found(
    context: ServerContext, request: Request, wanted: list[TopicPartition] | None
) -> tuple[ErrorCode, Mapping[TopicPartition, FetchedOffset]]:
    group_id = request.body.group_id
    if request.version == _IN_ZOOKEEPER:
        return ErrorCode.NONE, await offsets_in_zookeeper.fetch(context, group_id, wanted or [])
    require_stable = getattr(request.body, "require_stable", False)
    found = await context.groups.offsets.fetch(group_id, wanted, require_stable=require_stable)
    if not isinstance(found, ErrorCode):
        return ErrorCode.NONE, found
    if request.version >= _ERROR_OF_REQUEST_SINCE:
        return found, {}
    return found, {each: FetchedOffset(found, None) async for each in paced(wanted or ())}


def _partition(request: Request, index: int, fetched: FetchedOffset) -> Answer:
    committed = fetched.committed
    return request.answer(
        "OffsetFetchResponsePartition",
        partition_index=index,
        committed_offset=_NO_OFFSET if committed is None else committed.offset,
        committed_leader_epoch=NO_EPOCH if committed is None else committed.leader_epoch,
        metadata="" if committed is None else committed.metadata,
        error_code=fetched.error,
    )
