"""What is hosted, what is answered where it is not, and who is notified."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from barnabas.broker.core.replication.log_expectation import LogExpectation
from barnabas.broker.disk.errors import (
    ClosedLogError,
    KafkaStorageError,
    LogNameError,
    MissingLogError,
    OtherTopicsLogError,
)
from barnabas.broker.disk.log.topic_identity import read_identity
from barnabas.broker.replicas.hosted import HostedPartitions
from barnabas.broker.replicas.interface import FetchPartition
from barnabas.broker.replicas.read import Reader
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicIdentity, TopicPartition

TP, OTHER = TopicPartition("t", 0), TopicPartition("u", 3)


class Listener:
    """Takes down what a partition tells its followers' sessions."""

    def __init__(self):
        self.notified = []

    def data_appended(self, topic_partition):
        self.notified.append(("data", topic_partition))

    def high_watermark_rose(self, topic_partition):
        self.notified.append(("high watermark", topic_partition))

    def log_start_rose(self, topic_partition):
        self.notified.append(("log start", topic_partition))

    def leadership_changed(self, topic_partition):
        self.notified.append(("leadership", topic_partition))


async def test_absence_has_three_names(room, tmp_path):
    assert room.hosted.led(TP, UNKNOWN_LEADER_EPOCH) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    room.know(TP)
    assert room.hosted.led(TP, UNKNOWN_LEADER_EPOCH) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    room.lead()
    room.hosted.disk_failed(KafkaStorageError(tmp_path, "test"))
    assert room.hosted.led(TP, UNKNOWN_LEADER_EPOCH) is ErrorCode.KAFKA_STORAGE_ERROR
    assert list(room.hosted.offline) == [TP]


async def test_led_asks_for_role_and_epoch(room):
    partition = room.lead(epoch=4)
    assert room.hosted.led(TP, 4) is partition
    assert room.hosted.led(TP, 3) is ErrorCode.FENCED_LEADER_EPOCH
    room.follow(epoch=5)
    assert room.hosted.led(TP, 5) is ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_a_partition_starts_at_its_checkpointed_high_watermark(room):
    partition = room.lead(isr=(1,))
    room.write(partition, b"a", b"b")
    partition.replica.high_watermark = 1
    room.hosted.checkpoint_high_watermarks()
    room.hosted.remove(TP, delete=False)
    assert room.hosted.get(TP) is None
    assert room.hosted.host(TP).replica.high_watermark in {0, 1}


async def test_followers_get_data_and_the_high_watermark(room):
    partition, feed = room.lead(isr=(1,)), Listener()
    partition.feeds[2] = feed
    room.write(partition, b"a")
    partition.replica.remote(2).caught_up_ms = partition.replica.remote(3).caught_up_ms = -(10**9)
    room.hosted.grew(partition)
    assert feed.notified == [("data", TP), ("high watermark", TP)]


@pytest.mark.parametrize("delete", [True, False])
async def test_removal_tells_and_deletes_only_where_asked(room, delete):
    partition, feed = room.lead(), Listener()
    partition.feeds[2] = feed
    room.hosted.remove(TP, delete=delete)
    assert feed.notified == [("leadership", TP)]
    assert (room.logs.get(TP) is None) == delete


async def test_removing_what_is_not_hosted_still_deletes_its_log(room):
    room.logs.get_or_create(OTHER)
    room.hosted.remove(OTHER, delete=True)
    assert room.logs.get(OTHER) is None
    room.hosted.remove(OTHER, delete=True)


async def test_counts(room):
    room.lead(isr=(1, 2))
    room.follow(topic_partition=OTHER)
    hosted = room.hosted
    assert len(hosted.all) == 2
    assert (hosted.leader_count, hosted.under_replicated_count, hosted.under_min_isr_count) == (1, 1, 0)


async def test_a_failed_directory_is_reported_once(room, tmp_path):
    failed = []
    room.hosted.on_directory_failed = failed.append
    room.lead()
    for _ in range(2):
        room.hosted.disk_failed(KafkaStorageError(tmp_path, "test"))
    assert failed == [(TP,)]


async def test_followers_get_a_later_log_start_and_fetches_below_it_complete(room):
    partition, feed = room.lead(isr=(1,)), Listener()
    room.write(partition, b"a", b"b")
    room.hosted.grew(partition)
    reader, wanted = Reader(room.hosted), {TP: FetchPartition(Offset(0), 1 << 20)}
    waiting = asyncio.create_task(reader.wait(wanted, max_wait_ms=60_000, min_bytes=1 << 20))
    await asyncio.sleep(0)
    partition.feeds[2] = feed
    partition.log.raise_log_start(Offset(2))
    assert not waiting.done()
    room.hosted.log_start_rose(partition)
    assert feed.notified == [("log start", TP)]
    await waiting
    assert reader.read(wanted, 1 << 20)[TP].error is ErrorCode.OFFSET_OUT_OF_RANGE


async def test_a_log_that_cannot_be_made_for_its_name_takes_no_other_with_it(room):
    partition = room.lead()
    with pytest.raises(LogNameError) as caught:
        room.hosted.host(TopicPartition("x" * 300, 0))
    room.hosted.disk_failed(caught.value)
    assert room.hosted.led(TP, UNKNOWN_LEADER_EPOCH) is partition
    assert list(room.hosted.offline) == []


async def test_a_log_that_is_closed_takes_no_other_with_it(room, tmp_path):
    partition = room.lead()
    room.hosted.disk_failed(ClosedLogError(tmp_path, OTHER))
    assert room.hosted.led(TP, UNKNOWN_LEADER_EPOCH) is partition
    assert list(room.hosted.offline) == []
    assert not room.logs.offline


async def test_a_stray_is_not_adopted_by_a_new_partition(room, tmp_path):
    stray = room.logs.get_or_create(TP)
    stray.append_as_leader(room.batch(b"old"), 0)
    with capture_logs() as said:
        partition = room.hosted.host(TP, LogExpectation.NEW)
    assert partition.log.log_end_offset == 0
    assert partition.replica.high_watermark == 0
    (line,) = (line for line in said if line["log_level"] == "warning")
    assert line["event"].startswith("Log for partition t-0 is a stray, because the partition is new")
    (aside,) = tmp_path.glob("t-0.*-stray")
    assert (aside / f"{0:020d}.log").stat().st_size > 0


async def test_a_partition_that_is_hosted_is_no_stray(room):
    partition = room.lead()
    room.write(partition, b"a")
    assert room.hosted.host(TP, LogExpectation.NEW) is partition
    assert partition.log.log_end_offset == 1


async def test_a_replica_that_lost_its_log_is_refused_alone(room):
    partition = room.lead()
    with pytest.raises(
        MissingLogError, match="there is no log of u-3, though the partition is not new"
    ) as caught:
        room.hosted.host(OTHER, LogExpectation.REQUIRED)
    with capture_logs() as said:
        room.hosted.disk_failed(caught.value)
    assert [line["log_level"] for line in said] == ["error"]
    assert room.hosted.led(TP, UNKNOWN_LEADER_EPOCH) is partition
    assert room.logs.get(OTHER) is None
    assert room.hosted.host(OTHER, LogExpectation.OPTIONAL).log.log_end_offset == 0


FIRST, SECOND = TopicIdentity(1700, 8), TopicIdentity(1700, 9)


def log_of(room, identity):
    """A log with a record, that is of that topic."""
    log = room.logs.get_or_create(TP)
    log.append_as_leader(room.batch(b"old"), 0)
    if identity is not None:
        room.logs.get(TP).identify(identity)
    return log


async def test_the_log_of_a_former_topic_of_that_name_is_a_stray(room, tmp_path):
    log_of(room, FIRST)
    with capture_logs() as said:
        partition = room.hosted.host(TP, LogExpectation.OPTIONAL, SECOND)
    assert (partition.log.log_end_offset, partition.replica.high_watermark) == (0, 0)
    (line,) = (line["event"] for line in said if line["log_level"] == "warning")
    assert line.startswith("Log for partition t-0 is a stray, because it is of another topic of that name")
    assert room.logs.get(TP).topic == SECOND
    (aside,) = tmp_path.glob("t-0.*-stray")
    assert (aside / f"{0:020d}.log").stat().st_size > 0


@pytest.mark.parametrize("recorded", [None, SECOND, TopicIdentity(1600, 3)])
async def test_a_log_of_this_topic_or_of_an_unknown_one_is_adopted_and_identified(room, recorded):
    log = log_of(room, recorded)
    assert room.hosted.host(TP, LogExpectation.REQUIRED, SECOND).log is log
    assert room.logs.get(TP).topic == SECOND


async def test_an_empty_log_of_a_topic_that_is_gone_serves_the_next_one_of_its_name(
    room, open_dirs, tmp_path
):
    """It has no identity after a restart, and nothing that could be mistaken for the new topic's records."""
    room.logs.get_or_create(TP).identify(FIRST)
    room.logs.close()
    (tmp_path / "meta.properties").unlink()
    again = open_dirs(tmp_path)
    hosted = HostedPartitions(room.hosted.broker_id, again, room.metadata, room.hosted.settings)
    log = hosted.host(TP, LogExpectation.OPTIONAL, SECOND).log
    assert (log.topic, log.log_end_offset, log.latest_epoch) == (SECOND, 0, None)
    log.append_as_leader(room.batch(b"new"), 0)
    assert read_identity(log.directory) == SECOND


async def test_a_new_log_is_identified(room):
    room.hosted.host(TP, LogExpectation.NEW, FIRST)
    assert room.logs.get(TP).topic == FIRST


async def test_the_log_of_another_topic_is_refused_and_kept_where_the_replica_is_in_sync(room, tmp_path):
    partition = room.lead(topic_partition=OTHER)
    log = log_of(room, FIRST)
    file = tmp_path / "t-0" / "topic-identity-checkpoint"
    with pytest.raises(OtherTopicsLogError, match=f"is that of another topic .*remove {file}") as caught:
        room.hosted.host(TP, LogExpectation.REQUIRED, SECOND)
    room.hosted.disk_failed(caught.value)
    assert room.hosted.led(OTHER, UNKNOWN_LEADER_EPOCH) is partition
    assert (room.logs.get(TP), room.logs.get(TP).topic, room.hosted.get(TP)) == (log, FIRST, None)


async def test_a_controller_that_tells_no_identity_changes_none(room):
    log = log_of(room, FIRST)
    assert room.hosted.host(TP).log is log
    room.hosted.identify(TP, None)
    assert room.logs.get(TP).topic == FIRST


async def test_what_is_hosted_of_another_topic_is_put_aside_too(room):
    former = room.hosted.host(TP, LogExpectation.NEW, FIRST)
    listener = Listener()
    former.feeds[2] = listener
    assert room.hosted.host(TP, LogExpectation.REQUIRED, SECOND) is former
    room.hosted.identify(TP, SECOND)
    assert room.logs.get(TP).topic == FIRST
    assert room.hosted.host(TP, LogExpectation.OPTIONAL, SECOND) is not former
    assert listener.notified == [("leadership", TP)]
