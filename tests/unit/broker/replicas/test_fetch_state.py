"""What is asked of a leader, and what is made of its answers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from unittest.mock import Mock

import pytest
from structlog.testing import capture_logs

from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.replicas.fetch_state import FetchState
from barnabas.broker.replicas.settings import ReplicaSettings
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.rpc import replication_pb2 as pb

TP, OTHER = TopicPartition("t", 0), TopicPartition("u", 0)


@pytest.fixture
def due():
    return asyncio.Event()


@pytest.fixture
def followed(room, due):
    return FetchState(room.hosted, lambda: 77, due.set)


@pytest.fixture
def partition(room, followed):
    """Followed in epoch 5: six records, 0-2 of epoch 1, 3-5 of epoch 3; all but the last committed."""
    partition = room.lead(epoch=1)
    room.write(partition, b"a", b"b", b"c")
    room.lead(epoch=3)
    room.write(partition, b"d")
    room.write(partition, b"e")
    room.write(partition, b"f")
    partition = room.follow(epoch=5)
    partition.replica.high_watermark = 5
    followed.add(TP, 5)
    followed.next_request()
    return partition


DATA = {"topic": "t", "leader_epoch": 5, "high_watermark": 6, "fetch_id": 1, "fetch_offset": 6}


def data(**fields):
    return pb.PartitionData(**(DATA | fields))


def named(followed):
    return [
        (TopicPartition(p.topic, p.partition), p.fetch_offset) for p in followed.next_request().partitions
    ]


async def test_a_request_names_what_changed(room, followed):
    room.follow(epoch=5)
    room.follow(epoch=5, topic_partition=OTHER)
    followed.add(TP, 5)
    followed.add(OTHER, 5)
    request = followed.next_request()
    assert (request.replica_id, request.broker_epoch, request.min_bytes) == (1, 77, 1)
    assert [
        (p.topic, p.current_leader_epoch, p.fetch_offset, p.last_fetched_epoch) for p in request.partitions
    ] == [
        ("t", 5, 0, -1),
        ("u", 5, 0, -1),
    ]
    assert len(followed.next_request().partitions) == 0
    followed.remove(TP)
    followed.remove(TP)
    request = followed.next_request()
    assert [f.topic for f in request.forgotten] == ["t"]
    assert dict(followed.epochs) == {OTHER: 5}
    assert len(followed.next_request().forgotten) == 0


async def test_records_are_appended_and_asked_on_from(room, followed, partition):
    leader = room.lead(topic_partition=OTHER)
    room.write(leader, b"x", b"y")
    batch = bytearray(leader.log.read(0, 1 << 20, 2).records)
    batch[:8] = (6).to_bytes(8, "big")
    batch[12:16] = (5).to_bytes(4, "big")
    followed.take(data(records=bytes(batch), high_watermark=7, log_start_offset=1))
    assert (partition.log.log_end_offset, partition.log.latest_epoch, partition.log.log_start_offset) == (
        8,
        5,
        1,
    )
    assert partition.replica.high_watermark == 7
    assert named(followed) == [(TP, 8)]


async def test_a_later_log_start_is_sent_to_the_leader_once(followed, partition):
    followed.take(data(high_watermark=6, log_start_offset=3))
    assert partition.log.log_start_offset == 3
    assert followed.has_changes
    request = followed.next_request()
    assert list(request.partitions) == []
    assert [(moved.topic, moved.partition, moved.log_start_offset) for moved in request.log_starts] == [
        ("t", 0, 3)
    ]
    followed.take(data(high_watermark=6, log_start_offset=3))
    assert not followed.has_changes
    assert list(followed.next_request().log_starts) == []


async def test_a_later_log_start_of_the_follower_is_sent_with_the_next_request(followed, partition):
    partition.log.raise_log_start(4)
    followed.take(data(high_watermark=6, log_start_offset=3))
    assert [moved.log_start_offset for moved in followed.next_request().log_starts] == [4]


async def test_a_partition_that_is_named_tells_its_log_start_there(followed, partition):
    followed.take(data(high_watermark=6, log_start_offset=3))
    followed.begin_session()
    request = followed.next_request()
    assert [asked.log_start_offset for asked in request.partitions] == [3]
    assert list(request.log_starts) == []


async def test_a_high_watermark_alone_is_taken_over_and_not_asked_on(followed, partition):
    followed.take(data(high_watermark=9))
    assert partition.replica.high_watermark == 6
    assert named(followed) == []


async def test_answers_to_an_older_question_are_ignored(followed, partition):
    followed.take(data(leader_epoch=4, high_watermark=6))
    followed.remove(TP)
    followed.take(data(high_watermark=6))
    assert partition.replica.high_watermark == 5


async def test_a_divergence_truncates_and_asks_again(followed, partition):
    followed.take(data(diverging_epoch=pb.EpochEndOffset(epoch=3, end_offset=4)))
    assert (partition.log.log_end_offset, partition.replica.high_watermark) == (4, 4)
    assert named(followed) == [(TP, 4)]
    followed.take(data(diverging_epoch=pb.EpochEndOffset(epoch=2, end_offset=9)))
    assert partition.log.log_end_offset == 3


@pytest.mark.parametrize(
    ("start", "end", "own_start", "own_end"),
    [(0, 4, 0, 4), (9, 12, 9, 9)],
)
async def test_out_of_range_truncates_or_starts_over(followed, partition, *, start, end, own_start, own_end):
    followed.take(data(error_code=ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=start, log_end_offset=end))
    assert (partition.log.log_start_offset, partition.log.log_end_offset) == (own_start, own_end)
    assert partition.replica.high_watermark in {own_end, 4}
    assert named(followed) == [(TP, own_end)]


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
async def test_others_back_off_and_come_back(followed, partition, due, answer):
    due.clear()
    followed.take(answer)
    assert partition.log.log_end_offset == 6
    assert named(followed) == []
    await asyncio.wait_for(due.wait(), 60)
    assert named(followed) == [(TP, 6)]


@pytest.mark.usefixtures("partition")
async def test_an_answer_ends_a_row_of_refusals(followed):
    followed._settings = ReplicaSettings()
    for wait_ms in (50, 100, 200):
        followed.take(data(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
        assert followed._wait_ms == {TP: 2 * wait_ms}
    followed.take(data())
    assert followed._wait_ms == {}


@pytest.mark.usefixtures("partition")
async def test_one_that_was_removed_while_it_backs_off_stays_away(followed):
    followed.take(data(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    followed.remove(TP)
    assert followed._backing_off == {}


@pytest.mark.usefixtures("partition")
async def test_a_fenced_partition_is_asked_for_again(followed):
    """Its leader may be that of a former topic of the same name, and about to lead the new one."""
    followed.take(data(error_code=ErrorCode.FENCED_LEADER_EPOCH))
    assert list(followed.epochs) == list(followed._backing_off) == [TP]


async def test_a_disk_that_fails_drops_the_partition(room, followed, partition, monkeypatch, tmp_path):
    monkeypatch.setattr(
        partition.log, "append_as_follower", Mock(side_effect=KafkaStorageError(tmp_path, "test"))
    )
    followed.take(data(records=bytes(61)))
    assert dict(followed.epochs) == {}
    assert list(room.hosted.offline) == [TP]


async def test_a_session_begins_by_naming_all_and_ends_what_waits(followed, partition, due):
    followed.take(data(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    followed.begin_session()
    assert named(followed) == [(TP, 6)]
    followed.take(data(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    due.clear()
    followed.close()
    await asyncio.sleep(0.02)
    assert not due.is_set()
    assert partition.log.log_end_offset == 6


def fetched(room, base_offset, *values):
    """A batch as a leader sends it, of epoch 5."""
    leader = room.lead(topic_partition=OTHER)
    room.write(leader, *values)
    log = leader.log
    found = bytearray(log.read(log.log_end_offset - len(values), 1 << 20, log.log_end_offset).records)
    found[:8] = base_offset.to_bytes(8, "big")
    found[12:16] = (5).to_bytes(4, "big")
    return bytes(found)


async def test_a_late_answer_about_a_topic_that_is_gone_is_dropped(room, followed):
    """The next topic of that name begins in the same leader epoch, at the same offset."""
    room.follow(epoch=5)
    followed.add(TP, 5)
    assert [asked.fetch_id for asked in followed.next_request().partitions] == [1]
    followed.remove(TP)
    room.hosted.remove(TP, delete=True)
    partition = room.follow(epoch=5)
    followed.add(TP, 5)
    assert [asked.fetch_id for asked in followed.next_request().partitions] == [2]
    records = fetched(room, 0, b"old")
    followed.take(data(records=records, fetch_offset=0))
    assert (partition.log.log_end_offset, named(followed)) == (0, [])
    followed.take(data(records=records, fetch_offset=0, fetch_id=2))
    assert (partition.log.log_end_offset, named(followed)) == (1, [(TP, 1)])


async def test_records_that_were_asked_for_elsewhere_are_dropped_and_asked_for_again(
    room, followed, partition
):
    followed.take(data(records=fetched(room, 6, b"x"), fetch_offset=5))
    assert partition.log.log_end_offset == 6
    assert named(followed) == [(TP, 6)]


COMPACTED = frozenset({"compact"})


async def test_a_gap_is_refused_unless_the_leader_says_that_its_log_has_gaps_there(room, followed, partition):
    records = fetched(room, 8, b"x")
    for policy in (frozenset({"delete"}), COMPACTED):
        partition.log.config = replace(partition.log.config, cleanup_policy=policy)
        with capture_logs() as said:
            followed.take(data(records=records, gaps_end=7))
        assert partition.log.log_end_offset == 6
        assert "a gap from 6 to 8, which compaction does not explain" in said[0]["reason"]
    partition.log.config = replace(partition.log.config, cleanup_policy=frozenset({"delete"}))
    followed.take(data(records=records, gaps_end=8))
    assert partition.log.log_end_offset == 9
    assert partition.log.compaction.gaps_end == 8


async def test_a_leader_of_an_older_release_does_not_say_so_and_the_policy_decides(room, followed, partition):
    records = fetched(room, 8, b"x")
    followed.take(data(records=records))
    assert partition.log.log_end_offset == 6
    partition.log.config = replace(partition.log.config, cleanup_policy=COMPACTED)
    followed.take(data(records=records))
    assert partition.log.log_end_offset == 9


async def test_consumers_here_hear_of_a_high_watermark_that_rises(room, followed, partition):
    notified = []
    room.hosted.fetches.check_and_complete = notified.append
    followed.take(data(high_watermark=5))
    assert notified == []
    followed.take(data(high_watermark=6))
    assert notified == [TP]
    assert partition.replica.high_watermark == 6


@pytest.fixture
def throttled(room, partition):
    """The follower's rate of this partition is exceeded by whatever it fetches."""
    everyone = frozenset({"0:1"})
    partition.log.config = replace(partition.log.config, follower_replication_throttled_replicas=everyone)
    room.hosted.throttles.follower.limit = 1.0
    return partition


async def test_a_throttled_follower_that_lags_fetches_on_when_the_rate_has_fallen(
    room, followed, throttled, due
):
    due.clear()
    followed.take(data(records=fetched(room, 6, b"x"), high_watermark=100))
    assert throttled.log.log_end_offset == 7
    assert (named(followed), list(followed._backing_off)) == ([], [TP])
    followed._fetch_if_allowed(TP)
    assert (named(followed), due.is_set()) == ([], False)
    room.hosted.throttles.follower.limit = None
    followed._fetch_if_allowed(TP)
    assert (named(followed), due.is_set()) == ([(TP, 7)], True)
    assert followed._backing_off == {}


async def test_a_throttled_follower_that_has_everything_asks_on(room, followed, throttled):
    followed.take(data(records=fetched(room, 6, b"x"), high_watermark=7))
    assert named(followed) == [(TP, 7)]
    assert throttled.log.log_end_offset == 7


async def test_the_lag_is_what_is_missing_up_to_the_leaders_high_watermark(partition, followed):
    assert followed.max_lag == 0
    followed.take(data(high_watermark=9))
    assert followed.max_lag == 3
    followed.remove(TP)
    assert followed.max_lag == 0
