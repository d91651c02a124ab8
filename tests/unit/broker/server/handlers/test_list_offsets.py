from __future__ import annotations

import pytest

from barnabas.broker.replicas.interface import ListedOffset
from barnabas.broker.server.handlers.list_offsets import handle
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition

ORDERS_0 = TopicPartition("orders", 0)


@pytest.fixture
def list_offsets(schema, request_of):
    def build(version, *partitions_and_times, isolation_level=0, replica_id=-1):
        s = schema(2, version)
        newer = {"isolation_level": isolation_level} if version >= 2 else {}
        epochs = {"current_leader_epoch": 3} if version >= 4 else {}
        partitions = tuple(
            s.ListOffsetsPartition(partition_index=number, timestamp=time, **epochs)
            for number, time in partitions_and_times
        )
        topic = s.ListOffsetsTopic(name="orders", partitions=partitions)
        return request_of(2, version, s.request(replica_id=replica_id, topics=(topic,), **newer))

    return build


@pytest.mark.parametrize("version", range(1, 9))
async def test_each_partition_gets_its_offset(broker, list_offsets, version):
    broker.reads.offsets[ORDERS_0, -2] = ListedOffset(ErrorCode.NONE, 1234, 5, 6)
    (topic,) = (await handle(broker.context, list_offsets(version, (0, -2), (1, -1)))).topics
    found, unknown = topic.partitions
    assert (found.error_code, found.timestamp, found.offset) == (ErrorCode.NONE, 1234, 5)
    assert (unknown.error_code, unknown.offset) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert broker.reads.epochs == [3 if version >= 4 else -1] * 2
    if version >= 4:
        assert found.leader_epoch == 6


@pytest.mark.parametrize(
    ("version", "error"), [(4, ErrorCode.LEADER_NOT_AVAILABLE), (5, ErrorCode.OFFSET_NOT_AVAILABLE)]
)
async def test_a_new_leader_is_excused_in_the_words_of_the_version(broker, list_offsets, version, error):
    broker.reads.offsets[ORDERS_0, -1] = ListedOffset(ErrorCode.OFFSET_NOT_AVAILABLE)
    (topic,) = (await handle(broker.context, list_offsets(version, (0, -1)))).topics
    assert topic.partitions[0].error_code == error


@pytest.mark.parametrize(("timestamp", "since"), [(-3, 7), (-4, 8), (-5, 9)])
async def test_negative_times_have_a_meaning_from_a_version_on(broker, list_offsets, timestamp, since):
    """2.8 takes -3 for an ordinary time, and answers the first record's offset."""
    broker.reads.offsets[ORDERS_0, timestamp] = ListedOffset(ErrorCode.NONE, 1234, 5, 6)
    for version in range(1, 9):
        (topic,) = (await handle(broker.context, list_offsets(version, (0, timestamp)))).topics
        expected = ErrorCode.NONE if version >= since else ErrorCode.UNSUPPORTED_VERSION
        assert topic.partitions[0].error_code == expected


async def test_a_partition_asked_twice_is_refused(broker, list_offsets):
    (topic,) = (await handle(broker.context, list_offsets(6, (0, -1), (0, -2)))).topics
    assert [partition.error_code for partition in topic.partitions] == [ErrorCode.INVALID_REQUEST] * 2
    assert broker.reads.epochs == []


@pytest.mark.parametrize(("isolation_level", "read_committed"), [(0, False), (1, True)])
async def test_the_isolation_level_is_passed_on(broker, list_offsets, isolation_level, read_committed):
    await handle(broker.context, list_offsets(2, (0, -1), isolation_level=isolation_level))
    assert broker.reads.read_committed is read_committed


@pytest.mark.parametrize("replica_id", [-2, -1, 3])
async def test_the_replica_id_is_passed_on(broker, list_offsets, replica_id):
    await handle(broker.context, list_offsets(1, (0, -1), replica_id=replica_id))
    assert broker.reads.replica_id == replica_id


async def test_version_0_gives_several_offsets(broker, schema, request_of):
    s = schema(2, 0)
    partitions = tuple(
        s.ListOffsetsPartition(partition_index=number, timestamp=-1, max_num_offsets=2) for number in (0, 1)
    )
    topic = s.ListOffsetsTopic(name="orders", partitions=partitions)
    broker.reads.old_offsets[ORDERS_0, -1, 2, -1] = (9, 4)
    answer = await handle(broker.context, request_of(2, 0, s.request(replica_id=-1, topics=(topic,))))
    found, unknown = answer.topics[0].partitions
    assert (found.error_code, found.old_style_offsets) == (ErrorCode.NONE, (9, 4))
    assert (unknown.error_code, unknown.old_style_offsets) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ())
