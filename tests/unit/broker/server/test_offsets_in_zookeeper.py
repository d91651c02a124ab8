"""Offsets of consumers of release 0.8: version 0 of OffsetCommit and OffsetFetch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from barnabas.broker.server import offsets_in_zookeeper as module
from barnabas.broker.server.handlers import offset_commit, offset_fetch
from barnabas.broker.wire.frames import encode
from barnabas.broker.wire.schemas import REQUEST, load_payload_module
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.zk.client.errors import InvalidPath
from barnabas.cluster.zk.schema.body import ZnodeDecodeError

NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
T0 = TopicPartition("t", 0)


@pytest.fixture
def commit(broker: Any, request_of: Any) -> Any:
    """Commit these offsets with metadata, by partition of ``t``; return the errors in that order."""
    schemas = load_payload_module(8, 0, REQUEST)

    async def commit(offsets: dict[int, tuple[int, str | None]]) -> list[ErrorCode]:
        partitions = tuple(
            schemas.OffsetCommitRequestPartition(
                partition_index=number, committed_offset=offset, committed_metadata=metadata
            )
            for number, (offset, metadata) in offsets.items()
        )
        topic = schemas.OffsetCommitRequestTopic(name="t", partitions=partitions)
        request = request_of(8, 0, schemas.OffsetCommitRequest(group_id="g", topics=(topic,)))
        answer = await offset_commit.handle(broker.context, request)
        assert encode(1, answer)
        errors = {each.partition_index: each.error_code for each in answer.topics[0].partitions}
        return [errors[number] for number in offsets]

    return commit


@pytest.fixture
def fetch(broker: Any, request_of: Any) -> Any:
    """Fetch the offsets of these partitions of ``t``; return offset, metadata and error of each."""
    schemas = load_payload_module(9, 0, REQUEST)

    async def fetch(*numbers: int) -> list[tuple[int, str, ErrorCode]]:
        topic = schemas.OffsetFetchRequestTopic(name="t", partition_indexes=numbers)
        request = request_of(9, 0, schemas.OffsetFetchRequest(group_id="g", topics=(topic,)))
        answer = await offset_fetch.handle(broker.context, request)
        assert encode(1, answer)
        return [
            (each.committed_offset, each.metadata, each.error_code) for each in answer.topics[0].partitions
        ]

    return fetch


async def test_what_was_committed_is_fetched_without_its_metadata(
    broker: Any, commit: Any, fetch: Any
) -> None:
    broker.topic("t", 1, 1)
    assert await commit({0: (5, "note"), 1: (0, None), 2: (7, "")}) == [NONE, NONE, UNKNOWN]
    assert broker.consumer_offsets.offsets == {("g", T0): 5, ("g", TopicPartition("t", 1)): 0}
    assert await fetch(0, 1, 2) == [(5, "", NONE), (0, "", NONE), (-1, "", UNKNOWN)]
    assert broker.groups.offsets.asked == [], "the coordinator knows nothing of them"


async def test_nothing_committed_is_an_unknown_partition(broker: Any, fetch: Any) -> None:
    broker.topic("t", 1)
    assert await fetch(0) == [(-1, "", UNKNOWN)]


async def test_metadata_that_is_too_long_is_refused(broker: Any, commit: Any) -> None:
    broker.topic("t", 1, 1)
    broker.settings = replace(broker.settings, offset_metadata_max_bytes=2)
    assert await commit({0: (5, "ab"), 1: (5, "a\U0001f600")}) == [NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert list(broker.consumer_offsets.offsets) == [("g", T0)]


async def test_an_error_of_zookeeper_is_an_error_of_each_partition(
    broker: Any, commit: Any, fetch: Any
) -> None:
    broker.topic("t", 1)
    broker.consumer_offsets.error = InvalidPath("/consumers//offsets/t/0")
    with capture_logs() as logs:
        assert await commit({0: (5, "")}) == [ErrorCode.UNKNOWN_SERVER_ERROR]
        assert await fetch(0) == [(-1, "", ErrorCode.UNKNOWN_SERVER_ERROR)]
    assert [each["event"].split(":")[0] for each in logs] == [
        f"The offsets of group 'g' in ZooKeeper cannot be {what}" for what in ("written", "read")
    ]


async def test_a_node_with_something_else_is_an_error_of_its_partition(broker: Any, fetch: Any) -> None:
    broker.topic("t", 1, 1)
    broker.consumer_offsets.offsets["g", T0] = ZnodeDecodeError("/consumers/g", b"x", "an offset")
    broker.consumer_offsets.offsets["g", TopicPartition("t", 1)] = 3
    assert await fetch(0, 1) == [(-1, "", ErrorCode.UNKNOWN_SERVER_ERROR), (3, "", NONE)]


async def test_many_are_read_in_portions(broker: Any, fetch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_READ_AT_ONCE", 2)
    broker.topic("t", 1, 1, 1)
    broker.consumer_offsets.offsets = {("g", TopicPartition("t", number)): number for number in range(3)}
    assert [offset for offset, _, _ in await fetch(0, 1, 2)] == [0, 1, 2]
    assert broker.consumer_offsets.portions == [2, 1]
