"""A fetcher's requests, and what it makes of answers; streams are tried in tests/integration/replication."""

from __future__ import annotations

import asyncio

import pytest

from broker.disk.errors import KafkaStorageError
from broker.replicas.follower import LeaderFetcher
from cluster.model.brokers import Endpoint
from cluster.model.errors import ErrorCode
from cluster.model.ids import TopicPartition
from cluster.rpc import replication_pb2 as pb
from cluster.rpc.translate_replication import PartitionData

TP, OTHER = TopicPartition("t", 0), TopicPartition("u", 0)


@pytest.fixture
def fetcher(room):
    return LeaderFetcher(2, Endpoint("GRPC", "127.0.0.1", 1), room.hosted, lambda: 77)


@pytest.fixture
def partition(room, fetcher):
    """Followed in epoch 5: six records, 0-2 of epoch 1, 3-5 of epoch 3; all but the last committed."""
    partition = room.lead(epoch=1)
    room.write(partition, b"a", b"b", b"c")
    room.lead(epoch=3)
    room.write(partition, b"d")
    room.write(partition, b"e")
    room.write(partition, b"f")
    partition = room.follow(epoch=5)
    partition.replica.high_watermark = 5
    fetcher.add(TP, 5)
    fetcher._next_request()
    return partition


def data(**fields):
    return PartitionData(**({"topic": "t", "leader_epoch": 5, "high_watermark": 6} | fields))


def named(fetcher):
    return [
        (TopicPartition(p.topic, p.partition), p.fetch_offset) for p in fetcher._next_request().partitions
    ]


async def test_a_request_names_what_changed(room, fetcher):
    room.follow(epoch=5)
    room.follow(epoch=5, topic_partition=OTHER)
    fetcher.add(TP, 5)
    fetcher.add(OTHER, 5)
    request = fetcher._next_request()
    assert (request.replica_id, request.broker_epoch, request.min_bytes) == (1, 77, 1)
    assert [
        (p.topic, p.current_leader_epoch, p.fetch_offset, p.last_fetched_epoch) for p in request.partitions
    ] == [
        ("t", 5, 0, -1),
        ("u", 5, 0, -1),
    ]
    assert len(fetcher._next_request().partitions) == 0
    fetcher.remove(TP)
    fetcher.remove(TP)
    request = fetcher._next_request()
    assert [f.topic for f in request.forgotten] == ["t"]
    assert dict(fetcher.partitions) == {OTHER: 5}
    assert len(fetcher._next_request().forgotten) == 0


async def test_records_are_appended_and_asked_on_from(room, fetcher, partition):
    leader = room.lead(topic_partition=OTHER)
    room.write(leader, b"x", b"y")
    batch = bytearray(leader.log.read(0, 1 << 20, 2).records)
    batch[:8] = (6).to_bytes(8, "big")
    batch[12:16] = (5).to_bytes(4, "big")
    fetcher._take(data(records=bytes(batch), high_watermark=7, log_start_offset=1))
    assert (partition.log.log_end_offset, partition.log.latest_epoch, partition.log.log_start_offset) == (
        8,
        5,
        1,
    )
    assert partition.replica.high_watermark == 7
    assert named(fetcher) == [(TP, 8)]


async def test_a_high_watermark_alone_is_taken_over_and_not_asked_on(fetcher, partition):
    fetcher._take(data(high_watermark=9))
    assert partition.replica.high_watermark == 6
    assert named(fetcher) == []


async def test_answers_to_an_older_question_are_ignored(fetcher, partition):
    fetcher._take(data(leader_epoch=4, high_watermark=6))
    fetcher.remove(TP)
    fetcher._take(data(high_watermark=6))
    assert partition.replica.high_watermark == 5


async def test_a_divergence_truncates_and_asks_again(fetcher, partition):
    fetcher._take(data(diverging_epoch=pb.EpochEndOffset(epoch=3, end_offset=4)))
    assert (partition.log.log_end_offset, partition.replica.high_watermark) == (4, 4)
    assert named(fetcher) == [(TP, 4)]
    fetcher._take(data(diverging_epoch=pb.EpochEndOffset(epoch=2, end_offset=9)))
    assert partition.log.log_end_offset == 3


@pytest.mark.parametrize(
    ("start", "end", "own_start", "own_end"),
    [(0, 4, 0, 4), (9, 12, 9, 9)],
)
async def test_out_of_range_truncates_or_starts_over(fetcher, partition, *, start, end, own_start, own_end):
    fetcher._take(data(error_code=ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=start, log_end_offset=end))
    assert (partition.log.log_start_offset, partition.log.log_end_offset) == (own_start, own_end)
    assert partition.replica.high_watermark in {own_end, 4}
    assert named(fetcher) == [(TP, own_end)]


@pytest.mark.parametrize(
    "answer",
    [
        data(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER),
        data(error_code=ErrorCode.UNKNOWN_LEADER_EPOCH),
        data(error_code=ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=0, log_end_offset=6),
        data(records=bytes(61)),
    ],
    ids=["not leader", "unknown epoch", "in range after all", "corrupt"],
)
async def test_others_back_off_and_come_back(fetcher, partition, answer):
    fetcher._due.clear()
    fetcher._take(answer)
    assert partition.log.log_end_offset == 6
    assert named(fetcher) == []
    await asyncio.wait_for(fetcher._due.wait(), 5)
    assert named(fetcher) == [(TP, 6)]


@pytest.mark.usefixtures("partition")
async def test_one_that_was_removed_while_it_backs_off_stays_away(fetcher):
    fetcher._take(data(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    fetcher.remove(TP)
    assert fetcher._backing_off == {}


@pytest.mark.usefixtures("partition")
async def test_a_fenced_partition_is_dropped_until_the_next_order(fetcher):
    fetcher._take(data(error_code=ErrorCode.FENCED_LEADER_EPOCH))
    assert dict(fetcher.partitions) == {}


async def test_a_disk_that_fails_drops_the_partition(room, fetcher, partition, monkeypatch, tmp_path):
    def fail(*_):
        raise KafkaStorageError(tmp_path, "test")

    monkeypatch.setattr(partition.log, "append_as_follower", fail)
    fetcher._take(data(records=bytes(61)))
    assert dict(fetcher.partitions) == {}
    assert list(room.hosted.offline) == [TP]


async def test_it_goes_on_dialling_a_leader_that_is_away(fetcher, partition):
    running = asyncio.ensure_future(fetcher.run())
    await asyncio.sleep(0.1)
    assert not running.done()
    assert partition.log.log_end_offset == 6
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
