"""The produce path: checks in their order, what waits, and what ends the wait."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from crc32c import crc32c

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.record_batch import Codec
from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.replicas import append as append_module
from barnabas.broker.replicas.append import MAX_RECOMPRESSIONS, Appender
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import Assignment
from tests.batches import keyed_batch
from tests.unit.broker.conftest import build_batch

TP, OTHER = TopicPartition("t", 0), TopicPartition("u", 0)


@pytest.fixture
def log_config():
    return LogConfig(segment_index_bytes=16 * 1024, min_insync_replicas=2)


@pytest.fixture
def append(room):
    appender = Appender(room.hosted)

    def append(records, topic_partition=TP, *, acks=-1, timeout_ms=60_000, **options):
        return appender.append({topic_partition: records}, acks=acks, timeout_ms=timeout_ms, **options)

    return append


def fetched(partition, broker_id, offset):
    return partition.replica.follower_fetched(
        broker_id,
        offset,
        log_start_offset=0,
        log_end_offset=partition.log.log_end_offset,
        now_ms=0,
        session=None,
    ).high_watermark_rose


async def test_acks_all_waits_for_the_high_watermark(room, append):
    partition = room.lead()
    answer = append(room.batch(b"a", b"b"))
    assert not answer.done()
    assert room.hosted.produces.delayed == 1
    fetched(partition, 2, 2)
    assert fetched(partition, 3, 2)
    room.hosted.high_watermark_rose(partition)
    assert answer.done()
    assert answer.result()[TP].error is ErrorCode.NONE
    assert (answer.result()[TP].base_offset, answer.result()[TP].log_start_offset) == (0, 0)
    assert room.hosted.produces.delayed == 0


async def test_a_duplicate_is_answered_with_its_first_offset_once_that_is_committed(room, append):
    partition = room.lead()
    first, other = room.batch(b"a", producer=(7, 0, 0)), room.batch(b"b", producer=(7, 0, 1))
    append(first)
    append(other)
    answer = append(first)
    assert partition.log.log_end_offset == 2
    assert not answer.done()
    fetched(partition, 2, 1)
    fetched(partition, 3, 1)
    room.hosted.high_watermark_rose(partition)
    assert (answer.result()[TP].error, answer.result()[TP].base_offset) == (ErrorCode.NONE, 0)
    assert append(first, acks=1).result()[TP].base_offset == 0


@pytest.mark.parametrize(
    ("producer", "error"),
    [
        ((7, 1, 4), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ((7, 2, 1), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ((7, 0, 3), ErrorCode.INVALID_PRODUCER_EPOCH),
        ((7, 1, 2), ErrorCode.NONE),
        ((7, 2, 0), ErrorCode.NONE),
        # Release 2.8 answers UNKNOWN_PRODUCER_ID to no produce: who is not known may start anywhere.
        ((8, 3, 4711), ErrorCode.NONE),
    ],
)
async def test_gaps_and_epochs_of_idempotent_producers_have_their_errors(room, append, producer, error):
    partition = room.lead()
    append(room.batch(b"a", b"b", producer=(7, 1, 0)), acks=1)
    answer = append(room.batch(b"c", producer=producer), acks=1)
    assert answer.result()[TP].error is error
    assert partition.log.log_end_offset == (3 if error is ErrorCode.NONE else 2)


async def test_what_was_not_committed_in_time_times_out_by_partition(room):
    expired = []
    appender = Appender(room.hosted, expired.append)
    committed, late = room.lead(), room.lead(topic_partition=OTHER)
    records = {TP: room.batch(b"a"), OTHER: room.batch(b"b")}
    answer = appender.append(records, acks=-1, timeout_ms=1)
    fetched(committed, 2, 1)
    fetched(committed, 3, 1)
    room.hosted.high_watermark_rose(committed)
    results = await answer
    assert (results[TP].error, results[OTHER].error) == (ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT)
    await room.until(lambda: expired)
    assert expired == [OTHER]
    assert late.log.log_end_offset == 1


@pytest.mark.parametrize("acks", [0, 1])
async def test_others_are_answered_at_once(room, append, acks):
    room.lead(isr=(1,))
    answer = append(room.batch(b"a"), acks=acks)
    assert answer.result()[TP].error is ErrorCode.NONE
    # min.insync.replicas is 2 and the ISR is the leader alone: only acks=all asks.
    assert append(room.batch(b"a"), acks=-1).result()[TP].error is ErrorCode.NOT_ENOUGH_REPLICAS
    assert room.hosted.get(TP).log.log_end_offset == 1


@pytest.mark.parametrize("adding", [(), (2, 3)])
async def test_acks_all_needs_no_more_than_all_replicas(room, append, adding):
    """KAFKA-15583: a topic of one replica, also while it gets others, where the brokers' setting is 2."""
    partition = room.lead(isr=(1,))
    partition.replica.assignment = Assignment((1, *adding), adding=adding)
    answer = append(room.batch(b"a"))
    for follower in adding:
        fetched(partition, follower, 1)
    room.hosted.high_watermark_rose(partition)
    assert answer.result()[TP].error is ErrorCode.NONE
    assert (room.hosted.under_min_isr_count, room.hosted.at_min_isr_count) == (0, 1)


async def test_leadership_lost_ends_the_wait(room, append):
    room.know(TP)
    room.lead()
    answer = append(room.batch(b"a"))
    room.follow(epoch=1)
    assert answer.result()[TP].error is ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_a_disk_that_fails_ends_the_wait(room, append, tmp_path):
    room.lead()
    answer = append(room.batch(b"a"))
    room.hosted.disk_failed(KafkaStorageError(tmp_path, "test"))
    assert answer.result()[TP].error is ErrorCode.KAFKA_STORAGE_ERROR


async def test_committed_by_too_few_is_said(room, append):
    partition = room.lead()
    answer = append(room.batch(b"a"))
    proposal = partition.replica.propose_shrink(1, 10**12)
    assert partition.replica.isr_written(proposal, 1, 1, 10**12)
    room.hosted.high_watermark_rose(partition)
    assert answer.result()[TP].error is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


async def test_several_partitions_wait_for_the_last(room):
    appender = Appender(room.hosted)
    first, second = room.lead(), room.lead(topic_partition=OTHER)
    unknown = TopicPartition("unknown", 0)
    answer = appender.append(
        {TP: room.batch(b"a"), unknown: room.batch(b"x"), OTHER: room.batch(b"b")}, acks=-1, timeout_ms=60_000
    )
    for partition in (first, second):
        assert not answer.done()
        fetched(partition, 2, 1)
        fetched(partition, 3, 1)
        room.hosted.high_watermark_rose(partition)
    errors = {name: appended.error for name, appended in answer.result().items()}
    assert errors == {
        TP: ErrorCode.NONE,
        unknown: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        OTHER: ErrorCode.NONE,
    }


@pytest.mark.parametrize(
    ("topic", "records", "options", "error"),
    [
        ("t", b"", {"acks": 2}, ErrorCode.INVALID_REQUIRED_ACKS),
        ("__consumer_offsets", b"", {}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("__consumer_offsets", b"", {"allow_internal_topics": True}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", None, {}, ErrorCode.INVALID_RECORD),
        ("t", b"", {}, ErrorCode.INVALID_RECORD),
    ],
)
async def test_refusals(room, append, *, topic, records, options, error):
    if not options.get("allow_internal_topics"):
        room.know(TopicPartition(topic, 0))
    room.lead()
    result = append(records, TopicPartition(topic, 0), **options).result()[TopicPartition(topic, 0)]
    assert result.error is error
    assert room.hosted.get(TP).log.log_end_offset == 0


async def test_zstd_needs_a_newer_produce(room, append):
    room.lead()
    records = bytearray(room.batch(b"a"))
    records[22] |= 4
    result = append(bytes(records), allow_zstd=False).result()[TP]
    assert result.error is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert append(bytes(records)).result()[TP].error is ErrorCode.CORRUPT_MESSAGE


async def test_an_answer_nobody_waits_for_any_more(room, append):
    partition = room.lead()
    answer = append(room.batch(b"a"))
    answer.cancel()
    room.follow(epoch=1)
    assert partition.replica.role.value == "follower"
    assert room.hosted.produces.delayed == 0


def refusals(batch, patched):
    """What a leader refuses, in the order of Kafka's ``LogValidator``: records, settings, error."""
    good, two = batch(1), batch(2)
    limit = {"message_timestamp_difference_max_ms": 1000}
    shorter = good[:8] + (40).to_bytes(4) + good[12:52]
    fewer = patched(patched(two, 57, (1).to_bytes(4)), 23, bytes(4))
    flipped = good[:-1] + bytes([good[-1] ^ 1])
    uncompressed = {"compression_type": "uncompressed", "max_message_bytes": 600}
    return {
        "null": (None, {}, ErrorCode.INVALID_RECORD),
        "two batches": (good + good, {}, ErrorCode.INVALID_RECORD),
        "format 0": (good[:16] + b"\0" + good[17:], {}, ErrorCode.INVALID_RECORD),
        "format 1": (good[:16] + b"\1" + good[17:], {}, ErrorCode.INVALID_RECORD),
        "format 3": (good[:16] + b"\3" + good[17:], {}, ErrorCode.CORRUPT_MESSAGE),
        "length 13": (good[:8] + (13).to_bytes(4) + good[12:], {}, ErrorCode.CORRUPT_MESSAGE),
        "partial": (good[:-1], {}, ErrorCode.INVALID_RECORD),
        "base offset": (b"\0" * 7 + b"\1" + good[8:], {}, ErrorCode.INVALID_RECORD),
        "too large": (good, {"max_message_bytes": len(good) - 1}, ErrorCode.MESSAGE_TOO_LARGE),
        "shorter than a header": (shorter, {}, ErrorCode.CORRUPT_MESSAGE),
        "checksum": (flipped, {}, ErrorCode.CORRUPT_MESSAGE),
        "negative last offset": (patched(two, 23, b"\xff" * 4), {}, ErrorCode.INVALID_RECORD),
        "no records": (patched(two, 57, bytes(4)), {}, ErrorCode.INVALID_RECORD),
        "another count": (patched(two, 57, (3).to_bytes(4)), {}, ErrorCode.INVALID_RECORD),
        "control": (patched(good, 21, b"\0\x20"), {}, ErrorCode.INVALID_RECORD),
        "transaction": (
            patched(batch(1, producer=(7, 0, 0)), 21, b"\0\x10"),
            {},
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ),
        "no sequence": (batch(1, producer=(7, 0, -1)), {}, ErrorCode.INVALID_RECORD),
        "codec 5": (patched(good, 21, b"\0\5"), {}, ErrorCode.UNKNOWN_SERVER_ERROR),
        "a record too long": (patched(good, 61, b"\x7e"), {}, ErrorCode.INVALID_RECORD),
        "more records than counted": (fewer, {}, ErrorCode.INVALID_RECORD),
        "too old": (good, limit, ErrorCode.INVALID_TIMESTAMP),
        "append time": (patched(good, 21, b"\0\x08"), {}, ErrorCode.INVALID_TIMESTAMP),
        "larger than a segment": (good, {"segment_bytes": len(good) - 1}, ErrorCode.RECORD_LIST_TOO_LARGE),
        "too large unpacked": (
            batch(1, value=bytes(600), codec=4),
            uncompressed,
            ErrorCode.MESSAGE_TOO_LARGE,
        ),
        "not to be unpacked": (patched(good, 21, b"\0\1"), uncompressed, ErrorCode.INVALID_RECORD),
        "a gap": (batch(1, producer=(9, 1, 5)), {}, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        "an old producer epoch": (batch(1, producer=(9, 0, 1)), {}, ErrorCode.INVALID_PRODUCER_EPOCH),
    }


async def test_each_check_of_a_leader_has_its_error(room, append, batch, patch_batch):
    partition = room.lead()
    assert append(batch(1, producer=(9, 1, 0)), acks=1).result()[TP].error is ErrorCode.NONE
    found = {}
    for name, (records, config, _) in refusals(batch, patch_batch).items():
        partition.log.config = replace(LogConfig(segment_index_bytes=16 * 1024), **config)
        result = append(records, acks=1).result()[TP]
        assert result.message, name
        found[name] = result.error
    assert found == {name: error for name, (_, _, error) in refusals(batch, patch_batch).items()}
    assert partition.log.log_end_offset == 1


async def test_where_there_is_no_such_partition_nothing_else_counts(append):
    for options in ({"acks": 5}, {"allow_zstd": False}):
        error = append(b"", TopicPartition("__consumer_offsets", 0), **options)
        assert error.result()[TopicPartition("__consumer_offsets", 0)].error is (
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )


async def test_too_few_in_sync_is_an_error_before_anything_is_written(room, append, batch):
    partition = room.lead(isr=(1,))
    result = append(batch(1), acks=-1).result()[TP]
    assert result.error is ErrorCode.NOT_ENOUGH_REPLICAS
    assert result.message == f"{TP} has 1 in-sync replicas; acks=all needs 2 (min.insync.replicas)"
    assert partition.log.log_end_offset == 0


async def test_the_records_at_fault_are_named(room, append, batch):
    partition = room.lead()
    partition.log.config = replace(partition.log.config, message_timestamp_difference_max_ms=1000)
    result = append(batch(3, timestamps=[0, 2000, 1]), acks=1).result()[TP]
    assert result.error is ErrorCode.INVALID_TIMESTAMP
    assert [(fault.index, fault.message) for fault in result.record_faults] == [
        (1, "timestamp 2000, expected 0 give or take 1000 ms")
    ]


@pytest.fixture
def gzip(room):
    """A partition whose batches are written in gzip, and an appender."""
    partition = room.lead(isr=(1,))
    partition.log.config = replace(partition.log.config, compression_type="gzip")
    return partition, Appender(room.hosted)


async def test_what_takes_long_is_recompressed_before_it_is_appended(room, gzip):
    partition, appender = gzip
    long, other = room.batch(*[b"v" * 100] * 200), room.batch(b"of a partition that others lead")
    prepared = await appender.prepare({TP: long, OTHER: other})
    assert prepared[OTHER] is other
    assert prepared[TP].header.codec_number == Codec.GZIP
    assert prepared[TP].header.record_count == 200
    assert partition.log.log_end_offset == 0
    results = await appender.append(prepared, acks=1, timeout_ms=60_000)
    assert (results[TP].error, results[TP].base_offset) == (ErrorCode.NONE, 0)
    assert partition.log.log_end_offset == 200
    assert partition.log.size == prepared[TP].header.size < len(long)


async def test_what_is_short_or_refused_anyway_is_not_prepared(room, gzip):
    _, appender = gzip
    long = room.batch(*[b"v" * 100] * 200)
    for records in (None, b"", room.batch(b"short"), long[:-1] + b"\1"):
        assert appender.prepare({TP: records}) is None
    assert appender.prepare({OTHER: long}) is None


async def test_a_batch_that_proves_wrong_while_it_is_prepared_is_refused(room, gzip):
    partition, appender = gzip
    records = build_batch(200, codec=3)
    spoiled = records[:61] + bytes(len(records) - 61)
    spoiled = spoiled[:17] + crc32c(spoiled[21:]).to_bytes(4) + spoiled[21:]
    prepared = await appender.prepare({TP: spoiled})
    results = await appender.append(prepared, acks=1, timeout_ms=60_000)
    assert results[TP].error is ErrorCode.INVALID_RECORD
    assert "cannot be decompressed" in results[TP].message
    assert partition.log.log_end_offset == 0


async def test_so_many_are_recompressed_at_a_time(room, gzip, monkeypatch):
    _, appender = gzip
    real, at_a_time, seen = append_module.carried_out, 0, []

    async def counted(steps):
        nonlocal at_a_time
        at_a_time += 1
        seen.append(at_a_time)
        try:
            return await real(steps)
        finally:
            at_a_time -= 1

    monkeypatch.setattr(append_module, "carried_out", counted)
    long = room.batch(*[b"v" * 100] * 200)
    prepared = await asyncio.gather(*(appender.prepare({TP: long}) for _ in range(6)))
    assert {each[TP].header.record_count for each in prepared} == {200}
    assert (len(seen), max(seen)) == (6, MAX_RECOMPRESSIONS)


async def test_a_compacted_topic_wants_keys_of_short_batches_and_of_long_ones(room):
    partition = room.lead(isr=(1,))
    partition.log.config = LogConfig(cleanup_policy=frozenset({"compact"}))
    appender = Appender(room.hosted)
    message = "Compacted topic cannot accept message without key in topic partition t-0."
    for size in (1, 2_000):
        good, bad = [(b"k", b"v" * size)], [(b"k", b"v" * size), (None, b"v")]
        for records, error, faults in ((good, ErrorCode.NONE, []), (bad, ErrorCode.INVALID_RECORD, [1])):
            batches = {TP: keyed_batch(records)}
            preparing = appender.prepare(batches)
            assert (preparing is None) is (size == 1)
            prepared = await preparing if preparing else batches
            results = await appender.append(prepared, acks=1, timeout_ms=1000)
            assert results[TP].error is error
            assert [(each.index, each.message) for each in results[TP].record_faults] == [
                (index, message) for index in faults
            ]
            assert results[TP].message == ("One or more records have been rejected" if faults else None)
    assert partition.log.log_end_offset == 2


def counted(room):
    return {
        (sample.name.partition("BrokerTopicMetrics_")[2], sample.labels.get("topic")): sample.value
        for family in room.hosted.traffic.collect()
        for sample in family.samples
    }


async def test_refused_records_are_counted_by_kafkas_names(room, append):
    partition = room.lead()
    batch = room.batch(b"a", b"b")
    append(batch[:-1] + b"\1", acks=1)
    without_sequence = batch[:43] + (5).to_bytes(8) + batch[51:]
    append(without_sequence[:17] + crc32c(without_sequence[21:]).to_bytes(4) + without_sequence[21:], acks=1)
    partition.log.config = LogConfig(cleanup_policy=frozenset({"compact"}))
    append(batch, acks=1)
    counts = counted(room)
    assert counts["InvalidMessageCrcRecordsPerSec_total", None] == 1
    assert counts["InvalidOffsetOrSequenceRecordsPerSec_total", None] == 1
    assert counts["NoKeyCompactedTopicRecordsPerSec_total", None] == 2


async def test_what_clients_append_is_counted_by_topic(room, append):
    room.lead()
    batch = room.batch(b"a", b"b")
    append(batch, acks=1)
    append(batch, OTHER, acks=1)
    append(b"", acks=7)
    assert set(room.hosted.traffic._topics) == {TP.topic}
    counts = counted(room)
    assert counts["MessagesInPerSec_total", ""] == 2
    assert counts["BytesInPerSec_total", ""] == len(batch)
    # An unknown partition is not counted (KafkaApis.handleProduceRequest), an unknown acks is a failure.
    assert counts["TotalProduceRequestsPerSec_total", ""] == 2
    assert counts["FailedProduceRequestsPerSec_total", ""] == 1
