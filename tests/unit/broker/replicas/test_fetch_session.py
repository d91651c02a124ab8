"""One follower's session at its leader: what a request changes, what an answer holds."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import Mock

import pytest

from barnabas.broker.disk.errors import CorruptLogError, KafkaStorageError
from barnabas.broker.replicas.fetch_session import FetchSession
from barnabas.broker.replicas.hosted import monotonic_ms
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.rpc import replication_pb2 as pb

TP, OTHER = TopicPartition("t", 0), TopicPartition("u", 0)
MB = 1 << 20


class Follower:
    """Broker 2 as the session sees it."""

    def __init__(self, room):
        self.joined = []
        self.lost = []
        self.session = FetchSession(
            2,
            room.hosted,
            lambda p, who: self.joined.append((p.topic_partition, who)),
            lambda p: self.lost.append(p.topic_partition),
        )

    def starts_at(self, offset, topic_partition=TP):
        request = pb.FetchRequest(replica_id=2, max_bytes=MB, min_bytes=1)
        topic, number = topic_partition
        request.log_starts.add(topic=topic, partition=number, log_start_offset=offset)
        self.session.take(request)

    def ask(self, *partitions, forget=()):
        request = pb.FetchRequest(replica_id=2, max_bytes=MB, min_bytes=1)
        request.partitions.extend(partitions)
        for name in forget:
            request.forgotten.add(topic=name.topic, partition=name.partition)
        self.session.take(request)

    def answer(self, max_bytes=MB):
        found = {}
        for data in self.session.answer(max_bytes).partitions:
            found[TopicPartition(data.topic, data.partition)] = data
        return found


def named(offset, topic_partition=TP, *, epoch=0, last_epoch=-1, max_bytes=MB):
    return pb.FetchPartition(
        topic=topic_partition.topic,
        partition=topic_partition.partition,
        current_leader_epoch=epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_epoch,
        max_bytes=max_bytes,
    )


@pytest.fixture
def follower(room):
    return Follower(room)


async def test_a_request_moves_the_high_watermark_and_an_answer_tells_it(room, follower):
    partition = room.lead(isr=(1, 2))
    partition.replica.remote(3).caught_up_ms = -(10**9)
    follower.ask(named(0))
    assert not follower.session.has_enough(1)
    room.write(partition, b"a")
    room.hosted.grew(partition)
    assert follower.session.has_enough(1)
    data = follower.answer()[TP]
    assert (bytes(data.records), data.high_watermark, data.log_end_offset) == (
        partition.log.read(0, MB, 1).records,
        0,
        1,
    )
    assert (data.HasField("gaps_end"), data.gaps_end) == (True, 0)
    follower.ask(named(1, last_epoch=0))
    assert partition.replica.high_watermark == 1
    assert not follower.session.has_enough(1)
    data = follower.answer()[TP]
    assert (bytes(data.records), data.high_watermark) == (b"", 1)
    assert follower.answer() == {}


async def test_a_high_watermark_is_told_at_once_where_consumers_read_from_followers(room, follower):
    selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    room.hosted.settings = replace(room.hosted.settings, replica_selector_class=selector)
    partition = room.lead(isr=(1, 2))
    follower.ask(named(0))
    assert not follower.session.has_enough(1)
    room.hosted.high_watermark_rose(partition)
    assert follower.session.has_enough(1)
    follower.answer()
    assert not follower.session.has_enough(1)


async def test_the_first_answer_about_a_partition_tells_its_high_watermark(room, follower):
    """A follower that had everything when it came kept its low high watermark until the next record."""
    partition = room.lead(epoch=3)
    room.write(partition, b"a", b"b")
    partition.replica.high_watermark = 2
    partition.replica.sent(2, 2)
    for epoch in (3, 4):
        follower.ask(named(2, epoch=epoch, last_epoch=3))
        assert not follower.session.has_enough(1)
        assert follower.answer()[TP].high_watermark == 2
        assert follower.answer() == {}
        follower.ask(named(2, epoch=epoch, last_epoch=3))
        assert follower.answer() == {}
        room.lead(epoch=4)
        follower.answer()


async def test_records_in_flight_are_not_sent_again(room, follower):
    partition = room.lead()
    room.write(partition, b"a")
    follower.ask(named(0))
    assert follower.answer()[TP].records
    room.write(partition, b"b")
    room.hosted.grew(partition)
    assert not follower.session.has_enough(1)
    assert follower.answer() == {}
    follower.ask(named(1, last_epoch=0))
    assert follower.session.has_enough(1)
    assert len(follower.answer()[TP].records) == len(partition.log.read(1, MB, 2).records)


async def test_bytes_are_bounded_and_the_one_left_out_comes_first(room, follower):
    first, second = room.lead(), room.lead(topic_partition=OTHER)
    for partition in (first, second):
        room.write(partition, b"x" * 100)
        room.write(partition, b"y" * 100)
    size = len(first.log.read(0, 1, 2).records)
    follower.ask(named(0), named(0, OTHER))
    assert set(follower.answer(size)) == {TP}
    follower.ask(named(1, last_epoch=0))
    assert set(follower.answer(size)) == {OTHER}
    follower.ask(named(1, OTHER, last_epoch=0))
    both = follower.answer(2 * size)
    assert list(both) == [TP, OTHER]
    assert sum(len(data.records) for data in both.values()) == 2 * size


async def test_no_partition_starves_where_one_always_has_more(room, follower):
    """Answers have room for one small batch; some batches are larger, and the first partition never ends."""
    names = [TopicPartition("t", number) for number in range(5)]
    sizes = dict(zip(names, (10, 900, 20, 4000, 30), strict=True))
    partitions = {name: room.lead(topic_partition=name) for name in names}
    ends = dict.fromkeys(names, 0)
    follower.ask(*(named(0, name) for name in names))
    for name in names[1:]:
        for _ in range(8):
            room.write(partitions[name], b"x" * sizes[name])
        room.hosted.grew(partitions[name])
    served = []
    for _ in range(40):
        room.write(partitions[names[0]], b"x" * sizes[names[0]])
        room.hosted.grew(partitions[names[0]])
        answered = list(follower.answer(150))
        assert answered
        served.append(set(answered))
        for name in answered:
            ends[name] += 1
            follower.ask(named(ends[name], name, last_epoch=0, max_bytes=1))
    waits = [set().union(*served[n : n + len(names)]) for n in range(len(names) * 4)]
    assert all(served_in == set(names) for served_in in waits)


async def test_one_batch_comes_however_large(room, follower):
    partition = room.lead()
    room.write(partition, b"x" * 5000)
    follower.ask(named(0, max_bytes=10))
    assert len(follower.answer(10)[TP].records) > 5000


@pytest.mark.parametrize(
    ("epoch", "offset", "last_epoch", "error"),
    [
        (1, 0, -1, ErrorCode.FENCED_LEADER_EPOCH),
        (3, 0, -1, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (2, 9, -1, ErrorCode.OFFSET_OUT_OF_RANGE),
        (2, 1, 9, ErrorCode.OFFSET_OUT_OF_RANGE),
    ],
)
async def test_refusals_are_returned_once_and_move_nothing(
    room, follower, *, epoch, offset, last_epoch, error
):
    partition = room.lead(epoch=2)
    room.write(partition, b"a")
    follower.ask(named(offset, epoch=epoch, last_epoch=last_epoch))
    assert follower.session.has_enough(1)
    data = follower.answer()[TP]
    assert (data.error_code, data.leader_epoch, data.log_end_offset) == (error, epoch, 1)
    assert partition.replica.remote(2).log_end_offset == -1
    assert follower.answer() == {}
    assert partition.feeds == {}


async def test_a_diverging_fetch_moves_nothing(room, follower):
    """KAFKA-13141: the leader counted the offset of a follower whose log diverges."""
    partition = room.lead(epoch=1)
    room.write(partition, b"a", b"b")
    room.lead(epoch=4)
    room.write(partition, b"c")
    follower.ask(named(3, epoch=4, last_epoch=2))
    data = follower.answer()[TP]
    assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset, data.error_code) == (1, 2, 0)
    assert partition.replica.remote(2).log_end_offset == -1
    assert partition.replica.high_watermark == 0


async def test_what_the_leader_has_dropped_is_out_of_range_whatever_its_epoch(room, follower):
    partition = room.lead(epoch=1)
    room.write(partition, b"a", b"b", b"c")
    room.lead(epoch=4)
    partition.log.raise_log_start(3)
    follower.ask(named(2, epoch=4, last_epoch=3))
    data = follower.answer()[TP]
    assert (data.error_code, data.HasField("diverging_epoch")) == (ErrorCode.OFFSET_OUT_OF_RANGE, False)
    assert (data.log_start_offset, data.log_end_offset) == (3, 3)


async def test_what_is_not_here(room, follower):
    follower.ask(named(0))
    assert follower.answer()[TP].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    room.follow()
    follower.ask(named(0))
    assert follower.answer()[TP].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_a_broker_that_is_no_replica(room):
    room.lead()
    stranger = FetchSession(9, room.hosted, lambda *_: None)
    stranger.take(pb.FetchRequest(replica_id=9, partitions=[named(0)]))
    (data,) = stranger.answer(MB).partitions
    assert data.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


async def test_a_change_of_leadership_is_sent_without_a_fetch(room, follower):
    room.lead()
    follower.ask(named(0))
    assert not follower.session.has_enough(1)
    room.lead(epoch=1)
    assert follower.session.has_enough(1)
    assert follower.answer()[TP].error_code == ErrorCode.FENCED_LEADER_EPOCH


async def test_what_was_refused_is_fetched_no_more_until_it_is_named_again(room, follower):
    partition = room.lead()
    room.write(partition, b"a")
    follower.ask(named(0))
    room.lead(epoch=1)
    data = follower.answer()[TP]
    assert (data.error_code, len(data.records)) == (ErrorCode.FENCED_LEADER_EPOCH, 0)
    room.write(partition, b"b")
    room.hosted.grew(partition)
    room.lead(epoch=2)
    assert follower.answer() == {}
    follower.ask(named(0, epoch=2))
    assert len(follower.answer()[TP].records) == partition.log.size


async def test_a_removed_partition_is_reported(room, follower):
    room.lead()
    follower.ask(named(0))
    room.hosted.remove(TP, delete=True)
    assert follower.answer()[TP].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_disk_failure_during_the_count_of_bytes_is_reported(room, follower, monkeypatch, tmp_path):
    partition = room.lead()
    room.write(partition, b"a")
    follower.ask(named(0))
    monkeypatch.setattr(partition.log, "bytes_between", Mock(side_effect=KafkaStorageError(tmp_path, "test")))
    assert follower.session.has_enough(MB)
    assert follower.answer()[TP].error_code == ErrorCode.KAFKA_STORAGE_ERROR


async def test_a_batch_that_cannot_be_read_is_reported(room, follower, monkeypatch, tmp_path):
    partition = room.lead()
    room.write(partition, b"a")
    follower.ask(named(0))
    monkeypatch.setattr(
        partition.log, "read", Mock(side_effect=CorruptLogError(tmp_path / "0.log", 0, 0, "test"))
    )
    assert follower.answer()[TP].error_code == ErrorCode.CORRUPT_MESSAGE
    assert room.hosted.get(TP) is partition


async def test_forgotten_partitions_and_closed_sessions_get_nothing(room, follower):
    first, second = room.lead(), room.lead(topic_partition=OTHER)
    follower.ask(named(0), named(0, OTHER))
    assert set(first.feeds) == set(second.feeds) == {2}
    follower.ask(forget=[TP])
    assert (set(first.feeds), set(second.feeds)) == (set(), {2})
    assert first.replica.remote(2).session is None
    follower.session.close()
    assert second.feeds == {}
    assert follower.session.has_enough(1)


async def test_one_that_caught_up_outside_the_isr_may_join(room, follower):
    room.lead(isr=(1,))
    follower.ask(named(0))
    assert follower.joined == [(TP, 2)]


async def test_min_bytes_counts_all_that_is_ready(room, follower):
    partition = room.lead()
    room.write(partition, b"a")
    follower.ask(named(0))
    size = len(partition.log.read(0, MB, 1).records)
    assert follower.session.has_enough(size)
    assert not follower.session.has_enough(size + 1)
    assert follower.session.has_enough(0)


async def test_a_disk_that_fails_takes_all_its_partitions_along(room, follower, monkeypatch, tmp_path):
    for name in (TP, OTHER):
        room.write(room.lead(topic_partition=name), b"a")
    follower.ask(named(0), named(0, OTHER))
    monkeypatch.setattr(
        room.hosted.get(TP).log, "read", Mock(side_effect=KafkaStorageError(tmp_path, "test"))
    )
    answer = follower.answer()
    assert {name: data.error_code for name, data in answer.items()} == dict.fromkeys(
        (TP, OTHER), ErrorCode.KAFKA_STORAGE_ERROR
    )


async def test_an_answer_tells_of_a_log_that_starts_later(room, follower):
    partition = room.lead(isr=(1, 2))
    room.write(partition, b"a", b"b")
    partition.replica.sent(2, 2)
    follower.ask(named(2, last_epoch=0))
    follower.answer()
    partition.log.raise_log_start(2)
    room.hosted.log_start_rose(partition)
    assert not follower.session.has_enough(1)
    assert follower.answer()[TP].log_start_offset == 2
    assert follower.answer() == {}


async def test_a_followers_log_that_starts_later_is_taken_down_and_nothing_is_sent_for_it(room, follower):
    partition = room.lead(isr=(1, 2))
    room.write(partition, b"a", b"b")
    follower.starts_at(1)
    partition.replica.sent(2, 1)
    follower.ask(named(1, last_epoch=0))
    sent = follower.answer()[TP]
    follower.starts_at(1)
    follower.starts_at(1, OTHER)
    assert partition.replica.remote(2).log_start_offset == 1
    assert len(sent.records) > 0
    assert follower.answer() == {}


async def test_a_followers_log_start_of_an_old_epoch_says_nothing(room, follower):
    partition = room.lead(isr=(1, 2))
    follower.ask(named(0))
    room.lead(epoch=1, isr=(1, 2))
    follower.starts_at(5)
    assert partition.replica.remote(2).log_start_offset == 0


async def test_one_that_asks_again_for_what_it_was_sent_has_not_taken_it(room, follower):
    partition = room.lead(isr=(1, 2))
    room.write(partition, b"a")
    refetched = []
    room.hosted.on_refetch = lambda where, offset: refetched.append((where, offset))
    follower.ask(named(0))
    follower.ask(named(0))
    assert refetched == []
    follower.answer()
    follower.ask(named(0))
    assert refetched == [(partition, 0)]
    follower.answer()
    follower.ask(named(1))
    assert refetched == [(partition, 0)]


async def test_a_fetch_from_beyond_what_was_sent_moves_nothing(room, follower):
    """Such as a delayed one, of a topic of this name that was deleted."""
    partition = room.lead(isr=(1, 2))
    partition.replica.remote(3).caught_up_ms = -(10**9)
    room.write(partition, b"a", b"b")
    follower.ask(named(2, last_epoch=0))
    assert follower.answer()[TP].error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (partition.replica.high_watermark, partition.replica.remote(2).log_end_offset) == (0, -1)
    assert (follower.joined, follower.lost) == ([], [])
    follower.ask(named(0))
    data = follower.answer()[TP]
    assert (data.error_code, data.fetch_offset) == (ErrorCode.NONE, 0)
    follower.ask(named(2, last_epoch=0))
    assert partition.replica.high_watermark == 2


async def test_what_former_leaders_sent_a_follower_may_have(room, follower):
    partition = room.lead(epoch=0, isr=(1, 2))
    room.write(partition, b"a", b"b")
    room.follow(epoch=1)
    partition = room.lead(epoch=2, isr=(1, 2))
    room.write(partition, b"c")
    follower.ask(named(3, epoch=2, last_epoch=2))
    assert follower.answer()[TP].error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    follower.ask(named(2, epoch=2, last_epoch=0))
    assert follower.answer()[TP].error_code == ErrorCode.NONE


async def test_a_member_that_lost_committed_records_is_reported_at_once(room, follower):
    partition = room.lead(epoch=0, isr=(1, 2))
    room.write(partition, b"a", b"b")
    partition.replica.high_watermark = 2
    follower.ask(named(0))
    assert follower.lost == [TP]


async def test_an_answer_repeats_what_was_asked(room, follower):
    room.write(room.lead(), b"a")
    asked = named(0)
    asked.fetch_id = 7
    follower.ask(asked)
    data = follower.answer()[TP]
    assert (data.fetch_id, data.fetch_offset) == (7, 0)


@pytest.fixture
def throttled(room):
    """Led with two followers, 2 of them not in sync; whatever is sent exceeds the leader's rate."""
    partition = room.lead(isr=(1, 3))
    everyone = frozenset({"*"})
    partition.log.config = replace(partition.log.config, leader_replication_throttled_replicas=everyone)
    room.hosted.throttles.leader.limit = 1.0
    room.write(partition, b"a" * 100)
    return partition


@pytest.mark.parametrize("min_bytes", [1, 2])
async def test_a_throttled_follower_waits_for_its_records_while_the_rate_is_exceeded(
    room, follower, throttled, min_bytes
):
    follower.ask(named(0))
    assert follower.session.has_enough(min_bytes)
    assert TP in follower.answer()
    room.write(throttled, b"b")
    follower.ask(named(0))
    assert not follower.session.has_enough(min_bytes)
    assert follower.answer() == {}
    room.hosted.throttles.leader.limit = None
    assert follower.session.has_enough(min_bytes)
    assert TP in follower.answer()
    assert room.hosted.throttles.leader.rate.measure(monotonic_ms()).per_second > 0


async def test_a_follower_in_sync_never_waits_and_another_topic_is_sent(room, follower, throttled):
    throttled.replica.isr = (1, 2)
    room.hosted.throttles.leader.rate.record(10**6, monotonic_ms())
    follower.ask(named(0))
    assert TP in follower.answer()
    throttled.replica.isr = (1,)
    other = room.lead(topic_partition=OTHER)
    room.write(other, b"b")
    follower.ask(named(0), named(0, OTHER))
    assert set(follower.answer()) == {OTHER}
