"""The consumers' paths: the high watermark bounds everything."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.transactions import AbortedTransaction
from barnabas.broker.disk.errors import CorruptLogError, KafkaStorageError
from barnabas.broker.disk.segment.file_records import FileRecords
from barnabas.broker.replicas.interface import LATEST_TIMESTAMP, FetchPartition
from barnabas.broker.replicas.read import Reader
from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.requests import UpdateMetadataRequest
from barnabas.cluster.runtime import turn
from tests.unit.broker.conftest import marker
from tests.unit.broker.replicas.conftest import fetching

TP, OTHER = TopicPartition("t", 0), TopicPartition("u", 0)


MB = 1 << 20


def fetch(reader, offset=0, *, max_wait_ms=0, min_bytes=1, max_bytes=MB, size=MB, **more):
    wanted = {TP: FetchPartition(offset, size, **more)}
    return fetching(reader, wanted, max_wait_ms=max_wait_ms, min_bytes=min_bytes, max_bytes=max_bytes)


async def test_what_is_committed_is_read(reader, partition):
    fetched = fetch(reader).result()[TP]
    expected = partition.log.read(0, MB, 4).records
    assert (fetched.error, bytes(fetched.records)) == (ErrorCode.NONE, expected)
    assert (fetched.high_watermark, fetched.last_stable_offset, fetched.log_start_offset) == (4, 4, 0)


async def test_beyond_its_bytes_a_read_gives_nothing_or_one_batch(reader, partition):
    wanted = {TP: FetchPartition(0, MB)}
    one = len(partition.log.read(0, 1, 4, min_one_batch=True).records)
    assert len(reader.read(wanted, 0)[TP].records) == one
    assert len(reader.read(wanted, 0, at_least_one=False)[TP].records) == 0


@pytest.mark.parametrize(
    ("offset", "error"), [(4, ErrorCode.NONE), (6, ErrorCode.NONE), (7, ErrorCode.OFFSET_OUT_OF_RANGE)]
)
@pytest.mark.usefixtures("partition")
async def test_beyond_the_high_watermark_there_is_nothing(reader, offset, error):
    fetched = fetch(reader, offset).result()[TP]
    assert (fetched.error, bytes(fetched.records)) == (error, b"")


@pytest.mark.parametrize(
    ("epoch", "error"),
    [(2, ErrorCode.FENCED_LEADER_EPOCH), (4, ErrorCode.UNKNOWN_LEADER_EPOCH), (3, ErrorCode.NONE)],
)
@pytest.mark.usefixtures("partition")
async def test_epochs_are_checked(reader, epoch, error):
    assert fetch(reader, current_leader_epoch=epoch).result()[TP].error is error
    assert (await reader.list_offset(TP, LATEST_TIMESTAMP, epoch)).error is error
    assert reader.end_offset_for(TP, 3, epoch).error is error


async def test_a_broker_that_is_no_replica_gets_no_records_and_no_error(reader, partition):
    assert 9 not in partition.replica.assignment.replicas
    fetched = fetch(reader, replica_id=9).result()[TP]
    assert (fetched.error, bytes(fetched.records)) == (ErrorCode.NONE, b"")
    assert (fetched.high_watermark, fetched.log_start_offset) == (4, 0)
    assert fetch(reader, 7, replica_id=9).result()[TP].error is ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("replica_id", [2, -2, -7])
async def test_replicas_and_consumers_by_any_id_get_what_is_committed(reader, partition, replica_id):
    assert 2 in partition.replica.assignment.replicas
    fetched = fetch(reader, replica_id=replica_id).result()[TP]
    assert bytes(fetched.records) == partition.log.read(0, MB, 4).records


async def test_many_records_stay_in_their_file(reader, partition, room):
    for _ in range(100):
        room.write(partition, bytes(1000))
    end = partition.log.log_end_offset
    partition.replica.high_watermark = end
    fetched = fetch(reader).result()[TP]
    assert isinstance(fetched.records, FileRecords)
    assert bytes(fetched.records) == partition.log.read(0, MB, end).records


async def test_a_diverging_reader_gets_the_diverging_epoch(reader, partition):
    fetched = fetch(reader, 6, max_wait_ms=1000, current_leader_epoch=3, last_fetched_epoch=2).result()[TP]
    assert fetched.error is ErrorCode.NONE
    assert fetched.diverging_epoch == partition.log.end_offset_for(2)
    assert bytes(fetched.records) == b""


async def test_a_reader_beyond_the_end_diverges_where_epochs_are_compared(reader, partition):
    """It has what an unclean election has cut off: told where, it need not begin anew."""
    fetched = fetch(reader, 9, current_leader_epoch=3, last_fetched_epoch=3).result()[TP]
    assert (fetched.error, fetched.diverging_epoch) == (ErrorCode.NONE, (3, 6))
    assert partition.log.log_end_offset == 6


async def test_a_long_poll_waits_for_enough(room, reader, partition):
    committed = len(partition.log.read(0, MB, 4).records)
    poll = fetch(reader, max_wait_ms=60_000, min_bytes=committed + 1)
    assert not poll.done()
    assert room.hosted.fetches.delayed == 1
    partition.replica.high_watermark = 6
    room.hosted.high_watermark_rose(partition)
    assert len((await poll)[TP].records) > committed


async def test_only_a_long_poll_whose_time_was_up_counts_as_expired(room, partition):
    expired = []
    reader = Reader(room.hosted, lambda: expired.append(True))
    fetch(reader, 0, max_wait_ms=60_000)
    ended = fetch(reader, 4, max_wait_ms=60_000)
    await fetch(reader, 4, max_wait_ms=1)
    assert expired == [True]
    partition.replica.high_watermark = 6
    room.hosted.high_watermark_rose(partition)
    await ended
    assert expired == [True]


@pytest.mark.parametrize("log_config", [LogConfig(segment_bytes=200, segment_index_bytes=16 * 1024)])
async def test_a_long_poll_ends_where_more_lies_in_another_segment(reader, partition):
    log, partition.replica.high_watermark = partition.log, 6
    assert log.in_one_segment(0, 3)
    assert not log.in_one_segment(0, 6)
    poll = fetch(reader, max_wait_ms=60_000, min_bytes=MB)
    assert len(poll.result()[TP].records) == log.bytes_between(0, 4)
    assert not fetch(reader, 4, max_wait_ms=60_000, min_bytes=MB).done()


async def test_a_long_poll_ends_with_the_leadership(room, reader, partition):
    poll = fetch(reader, 4, max_wait_ms=60_000)
    room.follow(epoch=4)
    assert (await poll)[TP].error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert not partition.replica.is_leader


async def test_an_error_ends_it_at_once(reader):
    assert fetch(reader, max_wait_ms=60_000).result()[TP].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_partition_that_the_metadata_lacks_ends_no_long_poll(room, reader, partition):
    wanted = {OTHER: FetchPartition(0, MB), TP: FetchPartition(4, MB)}
    found = fetching(reader, wanted, max_wait_ms=60_000, min_bytes=1, max_bytes=MB)
    assert not found.done()
    partition.replica.high_watermark = 6
    room.hosted.high_watermark_rose(partition)
    unknown, known = (await found).values()
    assert (unknown.error, bool(known.records)) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True)


async def test_nothing_asked_for_is_answered_at_once(reader):
    assert fetching(reader, {}, max_wait_ms=60_000, min_bytes=1, max_bytes=MB).result() == {}


async def test_bytes_are_shared_in_the_order_of_the_request(room, reader, partition):
    second = room.lead(topic_partition=OTHER)
    room.write(second, b"z")
    second.replica.high_watermark = 1
    size = len(partition.log.read(0, 1, 4).records)
    wanted = {TP: FetchPartition(0, MB), OTHER: FetchPartition(0, MB)}
    results = fetching(reader, wanted, max_wait_ms=0, min_bytes=1, max_bytes=size).result()
    assert (len(results[TP].records), len(results[OTHER].records)) == (size, 0)
    turned = fetching(
        reader, dict(reversed(wanted.items())), max_wait_ms=0, min_bytes=1, max_bytes=1
    ).result()
    # One batch comes, however large; then the room is used up.
    assert (len(turned[OTHER].records) > 1, len(turned[TP].records)) == (True, 0)


@pytest.mark.parametrize("max_wait_ms", [0, 60_000])
async def test_a_disk_that_fails(reader, partition, monkeypatch, tmp_path, max_wait_ms):
    def fail(*_, **__):
        raise KafkaStorageError(tmp_path, "test")

    monkeypatch.setattr(partition.log, "find", fail)
    monkeypatch.setattr(partition.log, "bytes_between", fail)
    assert fetch(reader, max_wait_ms=max_wait_ms).result()[TP].error is ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize(
    "error", [KafkaStorageError(Path("logs"), "test"), CorruptLogError(Path("0.log"), 0, 0, "test")]
)
async def test_a_failed_lookup_is_reported(reader, partition, monkeypatch, error):
    monkeypatch.setattr(partition.log, "batch_since", Mock(side_effect=error))
    assert (await reader.list_offset(TP, 1_700_000_000_001)).error is error.error


@pytest.mark.parametrize("max_wait_ms", [0, 60_000])
async def test_unreadable_batches_are_reported_and_the_others_served(reader, partition, max_wait_ms):
    segment = next(partition.log.directory.glob("*.log"))
    size = partition.log.size // 3
    with segment.open("r+b") as file:
        file.seek(size + 16)
        file.write(b"\0")
    corrupt = fetch(reader, 3, max_wait_ms=max_wait_ms, min_bytes=MB).result()[TP]
    assert (corrupt.error, corrupt.records) == (ErrorCode.CORRUPT_MESSAGE, b"")
    assert fetch(reader, 0, size=size).result()[TP].error is ErrorCode.NONE


async def test_the_end_of_an_epoch(reader, partition):
    assert partition.log.latest_epoch == 3
    found = reader.end_offset_for(TP, 3)
    assert (found.error, found.leader_epoch, found.end_offset) == (ErrorCode.NONE, 3, 6)
    assert reader.end_offset_for(TP, 9).end_offset == -1
    assert reader.end_offset_for(OTHER, 3).error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_the_producers_of_a_log(room, reader):
    assert reader.producers(TP) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    partition = room.lead()
    partition.log.append_as_leader(room.batch(b"x", b"y", producer=(7, 2, 5)), 0)
    (found,) = reader.producers(TP)
    assert (found.producer_id, found.epoch, found.last_sequence) == (7, 2, 6)


async def test_topics_compressed_with_zstd_are_for_clients_that_know_it(room, reader):
    partition = room.lead(isr=(1,))
    room.write(partition, b"a")
    room.hosted.grew(partition)
    for type_, allow_zstd, error in (
        ("zstd", False, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        ("zstd", True, ErrorCode.NONE),
        ("gzip", False, ErrorCode.NONE),
    ):
        partition.log.config = replace(partition.log.config, compression_type=type_)
        wanted = {TP: FetchPartition(0, MB, allow_zstd=allow_zstd)}
        answer = fetching(reader, wanted, max_wait_ms=60_000, min_bytes=1, max_bytes=MB)
        assert answer.result()[TP].error is error


async def test_read_committed_ends_at_the_last_stable_offset_and_gets_aborted_transactions(
    reader, with_transactions
):
    log = with_transactions.log
    everything = fetch(reader).result()[TP]
    assert (everything.high_watermark, everything.last_stable_offset) == (5, 3)
    assert everything.records == log.read(0, MB, 5).records
    assert everything.aborted_transactions == []
    committed = fetch(reader, read_committed=True).result()[TP]
    assert (committed.high_watermark, committed.last_stable_offset) == (5, 3)
    assert committed.records == log.read(0, MB, 3).records
    assert committed.aborted_transactions == [AbortedTransaction(7, 1, 2, 3)]
    nothing = fetch(reader, 3, read_committed=True).result()[TP]
    assert (nothing.records, nothing.aborted_transactions) == (b"", [])
    # A long poll there waits: nothing is committed yet.
    waiting = fetch(reader, 3, read_committed=True, max_wait_ms=60_000)
    assert not waiting.done()
    log.append_as_follower(marker(1, (7, 0), 5))
    with_transactions.replica.high_watermark = 6
    reader._hosted.high_watermark_rose(with_transactions)
    assert (await waiting)[TP].last_stable_offset == 6


@pytest.fixture
def followed(room):
    """Followed in epoch 4: three batches of two records, four records of which are committed."""
    partition = room.lead(epoch=3)
    for _ in range(3):
        room.write(partition, b"x", b"y")
    partition.replica.high_watermark = 4
    room.know(TP)
    return room.follow(epoch=4)


@pytest.mark.parametrize("replica_id", [-1, -2])
async def test_a_follower_serves_consumers_that_know_racks_up_to_its_high_watermark(
    reader, followed, replica_id
):
    fetched = fetch(reader, rack="", replica_id=replica_id, current_leader_epoch=4).result()[TP]
    assert bytes(fetched.records) == followed.log.read(0, MB, 4).records
    assert (fetched.high_watermark, fetched.preferred_read_replica) == (4, -1)
    beyond = fetch(reader, 6, rack="").result()[TP]
    assert (beyond.error, bytes(beyond.records)) == (ErrorCode.NONE, b"")
    assert fetch(reader, 7, rack="").result()[TP].error is ErrorCode.OFFSET_OUT_OF_RANGE
    assert fetch(reader, rack="", current_leader_epoch=3).result()[TP].error is ErrorCode.FENCED_LEADER_EPOCH


@pytest.mark.parametrize(("rack", "replica_id"), [(None, -1), (None, -2), ("", 3)])
@pytest.mark.usefixtures("followed")
async def test_a_follower_serves_neither_older_consumers_nor_replicas(reader, rack, replica_id):
    fetched = fetch(reader, rack=rack, replica_id=replica_id).result()[TP]
    assert fetched.error is ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_a_consumer_that_waits_at_a_follower_is_woken(room, reader, followed):
    waiting = fetch(reader, 4, rack="", max_wait_ms=60_000)
    assert not waiting.done()
    followed.replica.follow_high_watermark(6, 0, 6)
    room.hosted.follower_may_give_more(TP)
    assert len((await waiting)[TP].records)


RACKS = {1: "far", 2: "near", 3: "near"}


@pytest.fixture
def racks(room):
    """Broker 1 leads in another rack than its followers 2 and 3, of which 3 has more."""
    room.hosted.settings = replace(
        room.hosted.settings,
        replica_selector_class="org.apache.kafka.common.replica.RackAwareReplicaSelector",
    )
    brokers = tuple(Broker(BrokerId(n), 10, (), rack=rack) for n, rack in RACKS.items())
    room.metadata.apply(UpdateMetadataRequest(9, 1, 1, (), brokers))


def caught_up(partition, broker_id, offset):
    partition.replica.follower_fetched(
        broker_id, offset, log_start_offset=0, log_end_offset=6, now_ms=0, session=None
    )


@pytest.mark.usefixtures("racks")
async def test_a_leader_sends_a_consumer_to_the_follower_in_its_rack_at_once(reader, partition):
    waiting = fetch(reader, 4, rack="near", max_wait_ms=60_000)
    assert not waiting.done()
    caught_up(partition, 3, 4)
    notified = fetch(reader, 4, rack="near", max_wait_ms=60_000).result()[TP]
    assert (notified.error, notified.preferred_read_replica) == (ErrorCode.NONE, 3)
    assert (bytes(notified.records), notified.high_watermark, notified.log_start_offset) == (b"", 4, 0)
    assert fetch(reader, 5, rack="near").result()[TP].preferred_read_replica == -1


@pytest.mark.usefixtures("racks")
@pytest.mark.parametrize(("rack", "replica_id"), [("far", -1), ("", -1), (None, -1), ("near", 2)])
async def test_a_leader_serves_the_others_itself(reader, partition, rack, replica_id):
    caught_up(partition, 2, 6)
    notified = fetch(reader, rack=rack, replica_id=replica_id).result()[TP]
    assert notified.preferred_read_replica == -1
    assert len(notified.records)


@pytest.mark.usefixtures("racks")
async def test_a_dead_follower_is_not_preferred(room, reader, partition):
    caught_up(partition, 2, 4)
    room.forget_brokers()
    assert fetch(reader, rack="near").result()[TP].preferred_read_replica == -1


async def test_without_a_selector_the_leader_serves_all(room, reader, partition):
    room.know(TP)
    caught_up(partition, 2, 4)
    assert fetch(reader, rack="near").result()[TP].preferred_read_replica == -1


async def test_a_fetch_whose_client_has_gone_does_not_wait_for_days(room):
    """Its client had asked for 24 days; Kafka keeps such an operation all that time."""
    room.lead()
    reader, wanted = Reader(room.hosted), {TP: FetchPartition(0, 1_000)}
    for _ in range(5_000):
        wait = asyncio.ensure_future(reader.wait(wanted, max_wait_ms=2**31 - 1, min_bytes=1))
        await asyncio.sleep(0)
        assert not wait.done()
        wait.cancel()
        await asyncio.wait([wait])
    await asyncio.sleep(0)
    assert room.hosted.fetches.delayed == 0
    assert room.hosted.fetches.watched < 2_000


async def test_many_partitions_are_not_looked_up_in_one_turn(room, monkeypatch):
    """100,000 partitions that nobody knows took 74 ms of CPU time."""
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    loop, passes, looked_up = asyncio.get_running_loop(), 0, Counter()

    def count():
        nonlocal passes
        passes += 1
        loop.call_soon(count)

    known = room.hosted.absence
    monkeypatch.setattr(room.hosted, "absence", lambda tp: looked_up.update([passes]) or known(tp))
    count()
    wanted = {TopicPartition("nobody's", number): FetchPartition(0, 1_000) for number in range(100)}
    await Reader(room.hosted).wait(wanted, max_wait_ms=60_000, min_bytes=1)
    assert sum(looked_up.values()) == 100
    assert max(looked_up.values()) < 10


async def test_who_does_not_wait_reads_at_once(room):
    partition = room.lead()
    await Reader(room.hosted).wait({TP: FetchPartition(0, 1_000)}, max_wait_ms=0, min_bytes=1)
    assert partition.replica.high_watermark == 0
