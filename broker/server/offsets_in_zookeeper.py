"""The offsets of consumers of release 0.8, which OffsetCommit 0 and OffsetFetch 0 keep in ZooKeeper.

Sources: the branches for version 0 of ``KafkaApis.handleOffsetCommitRequest`` and
``handleOffsetFetchRequest`` of release 2.8. No group coordinator takes part, so every broker answers.
"""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from barnabas.broker.coordinator.offsets import FetchedOffset, java_length
from barnabas.broker.core.group.records import NO_EPOCH, NO_TIMESTAMP, OffsetAndMetadata
from barnabas.broker.server.context import ServerContext
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.runtime.turn import paced
from barnabas.cluster.zk.client.errors import ZooKeeperError
from barnabas.cluster.zk.schema.body import ZnodeDecodeError

_log = structlog.get_logger(__name__)

_READ_AT_ONCE = 500
"""The most offsets that are read, and so decoded, in one go."""

_UNKNOWN = FetchedOffset(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)


async def commit(
    context: ServerContext, group_id: str, commits: Mapping[TopicPartition, OffsetAndMetadata]
) -> dict[TopicPartition, ErrorCode]:
    """Write the offsets of a group one after the other, without their metadata; return the errors."""
    longest = context.settings.offset_metadata_max_bytes
    errors: dict[TopicPartition, ErrorCode] = {}
    async for topic_partition, each in paced(commits.items()):
        if java_length(each.metadata) > longest:
            errors[topic_partition] = ErrorCode.OFFSET_METADATA_TOO_LARGE
            continue
        try:
            await context.consumer_offsets().write(group_id, topic_partition, each.offset)
        except ZooKeeperError as error:
            errors[topic_partition] = _failed("written", group_id, error)
        else:
            errors[topic_partition] = ErrorCode.NONE
    return errors


async def fetch(
    context: ServerContext, group_id: str, wanted: list[TopicPartition]
) -> dict[TopicPartition, FetchedOffset]:
    """Read the offsets of a group; one that is not there is UNKNOWN_TOPIC_OR_PARTITION, as in Kafka."""
    found: dict[TopicPartition, FetchedOffset] = {each: _UNKNOWN async for each in paced(wanted)}
    known = [each async for each in paced(found) if context.metadata.partition(each) is not None]
    for start in range(0, len(known), _READ_AT_ONCE):
        portion = known[start : start + _READ_AT_ONCE]
        try:
            offsets = await context.consumer_offsets().read(group_id, portion)
        except ZooKeeperError as error:
            refused = FetchedOffset(_failed("read", group_id, error), None)
            found |= dict.fromkeys(portion, refused)
            continue
        found |= {each: _fetched(group_id, offset) for each, offset in zip(portion, offsets, strict=True)}
    return found


def _fetched(group_id: str, offset: Offset | ZnodeDecodeError | None) -> FetchedOffset:
    if offset is None:
        return _UNKNOWN
    if isinstance(offset, ZnodeDecodeError):
        return FetchedOffset(_failed("read", group_id, offset), None)
    return FetchedOffset(ErrorCode.NONE, OffsetAndMetadata(offset, NO_EPOCH, "", NO_TIMESTAMP, None))


def _failed(what: str, group_id: str, error: Exception) -> ErrorCode:
    _log.warning(f"The offsets of group {group_id!r} in ZooKeeper cannot be {what}: {error}")
    return ErrorCode.UNKNOWN_SERVER_ERROR
