from __future__ import annotations

from dataclasses import replace
from struct import Struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.records import batch_validation
from barnabas.broker.core.records.batch_validation import (
    AppendOrigin,
    check_fetched,
    check_leader_append,
    gaps_limit,
    hop_records,
)
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.record_batch import HEADER_SIZE, RecordBatch, TimestampType
from barnabas.broker.core.records.refusals import Reason, Refusal
from barnabas.cluster.model.errors import ErrorCode

NOW = 1_700_000_000_000
CONFIG = LogConfig()


def judge(records, config=CONFIG, origin=AppendOrigin.CLIENT):
    return check_leader_append(records, config, NOW, origin)


def reason_of(records, config=CONFIG, origin=AppendOrigin.CLIENT):
    verdict = judge(records, config, origin)
    assert isinstance(verdict, Refusal), verdict
    return verdict.reason


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("count", [1, 2, 63, 65, 300])
def test_what_clients_build_is_taken(batch, codec, count):
    data = batch(count, codec=codec)
    verdict = judge(data)
    assert isinstance(verdict, RecordBatch)
    assert bytes(verdict.data) == data


@pytest.mark.parametrize("size", [1, 50, 60, 63, 64, 8_000, 8_192, 20_000, 1_000_000])
def test_records_of_every_length_are_hopped(batch, size):
    assert isinstance(judge(batch(1, value=b"x" * size)), RecordBatch)


@pytest.mark.parametrize("records", [None, b"", b"\x00" * 11])
def test_nothing_is_no_batch(records):
    assert reason_of(records) is Reason.NO_BATCH


def test_a_partial_batch_is_no_batch(batch):
    assert reason_of(batch()[:-1]) is Reason.NO_BATCH


def test_a_second_batch_is_refused_and_a_partial_tail_is_not(batch):
    assert reason_of(batch() + batch()) is Reason.SEVERAL_BATCHES
    assert isinstance(judge(batch() + batch()[:-1]), RecordBatch)


@pytest.mark.parametrize(
    ("magic", "reason"), [(0, Reason.OLD_MAGIC), (1, Reason.OLD_MAGIC), (3, Reason.BAD_MAGIC)]
)
def test_magic(batch, magic, reason):
    data = bytearray(batch())
    data[16] = magic
    assert reason_of(bytes(data)) is reason


@pytest.mark.parametrize(
    ("length", "reason"),
    [
        (-1, Reason.BAD_FRAME),
        (13, Reason.BAD_FRAME),
        (14, Reason.SHORTER_THAN_HEADER),
        (48, Reason.SHORTER_THAN_HEADER),
    ],
)
def test_frame(batch, length, reason):
    data = batch()[:16] + b"\x02" + bytes(60)
    data = data[:8] + Struct(">i").pack(length) + data[12:]
    assert reason_of(data[: max(12, 12 + length)]) is reason


def test_base_offset_must_be_zero(batch):
    assert reason_of(batch(base_offset=1)) is Reason.NONZERO_BASE_OFFSET


def test_size_limits(batch):
    data = batch()
    assert isinstance(judge(data, replace(CONFIG, max_message_bytes=len(data))), RecordBatch)
    assert reason_of(data, replace(CONFIG, max_message_bytes=len(data) - 1)) is Reason.TOO_LARGE
    assert reason_of(data, replace(CONFIG, segment_bytes=len(data) - 1)) is Reason.LARGER_THAN_SEGMENT


def test_one_flipped_bit_under_the_checksum_is_found(batch):
    data = batch()
    for at in range(17, len(data)):
        flipped = bytearray(data)
        flipped[at] ^= 0x10
        assert reason_of(bytes(flipped)) is Reason.BAD_CRC


@pytest.mark.parametrize(
    ("at", "new", "reason"),
    [
        (57, b"\x00\x00\x00\x00", Reason.NO_RECORDS),
        (57, b"\xff\xff\xff\xff", Reason.NO_RECORDS),
        (57, b"\x00\x00\x00\x03", Reason.BAD_COUNT),
        (23, b"\x00\x00\x00\x05", Reason.BAD_COUNT),
        (21, b"\x00\x20", Reason.CONTROL_FROM_CLIENT),
        (21, b"\x00\x10", Reason.TRANSACTIONAL_FROM_CLIENT),
        (21, b"\x00\x07", Reason.UNKNOWN_CODEC),
        (21, b"\x00\x08", Reason.LOG_APPEND_TIME_FROM_CLIENT),
        (43, b"\x00" * 8, Reason.SEQUENCE_MISSING),
        (61, b"\x01", Reason.BAD_RECORD_LENGTH),
        (61, b"\x7e", Reason.BAD_RECORD_LENGTH),
        (61, b"\xff\xff\xff\xff\xff", Reason.BAD_RECORD_LENGTH),
        (61, b"\x00", Reason.RECORDS_MISCOUNTED),
    ],
)
def test_each_field_is_checked(batch, patch_batch, at, new, reason):
    assert reason_of(patch_batch(batch(), at, new)) is reason


def test_a_count_that_cannot_fit_is_refused_before_the_hop(batch, patch_batch):
    data = patch_batch(patch_batch(batch(), 57, b"\x7f\xff\xff\xff"), 23, b"\x7f\xff\xff\xfe")
    assert reason_of(data) is Reason.RECORDS_MISCOUNTED


def test_a_compressed_batch_without_content_is_refused(batch, patch_batch):
    data = batch(2, codec=1)[:HEADER_SIZE]
    data = data[:8] + Struct(">i").pack(HEADER_SIZE - 12) + data[12:]
    assert reason_of(patch_batch(data, 21, b"\x00\x01")) is Reason.RECORDS_MISCOUNTED


def test_timestamps_far_from_now_are_refused_on_create_time_topics_only(batch):
    limited = replace(CONFIG, message_timestamp_difference_max_ms=1000)
    assert isinstance(judge(batch(1, timestamps=[NOW - 1000]), limited), RecordBatch)
    assert reason_of(batch(1, timestamps=[NOW - 1001]), limited) is Reason.TIMESTAMP_OUT_OF_RANGE
    assert reason_of(batch(2, timestamps=[NOW, NOW + 1001]), limited) is Reason.TIMESTAMP_OUT_OF_RANGE
    append_time = replace(limited, message_timestamp_type=TimestampType.LOG_APPEND_TIME)
    assert isinstance(judge(batch(1, timestamps=[0]), append_time), RecordBatch)


def test_the_records_with_such_timestamps_are_named(batch):
    limited = replace(CONFIG, message_timestamp_difference_max_ms=1000)
    for codec in (0, 4):
        refusal = judge(batch(4, timestamps=[NOW, NOW + 1001, NOW, NOW + 1002], codec=codec), limited)
        assert [fault.index for fault in refusal.faults] == [1, 3]
        assert refusal.faults[0].message == f"timestamp {NOW + 1001}, expected {NOW} give or take 1000 ms"


def test_records_that_cannot_be_read_are_not_named(batch, patch_batch):
    limited = replace(CONFIG, message_timestamp_difference_max_ms=1000)
    refusal = judge(patch_batch(batch(2, timestamps=[0, 0]), 21, b"\x00\x03"), limited)
    assert (refusal.reason, refusal.faults) == (Reason.TIMESTAMP_OUT_OF_RANGE, ())


@pytest.mark.parametrize("codec", [1, 4])
def test_records_of_a_compressed_batch_that_is_long_are_not_named(batch, codec):
    """A few KB may unpack to 64 MB, and nothing of it is needed to refuse the batch."""
    limited = replace(CONFIG, message_timestamp_difference_max_ms=1000)
    refusal = judge(batch(2, timestamps=[0, 0], value=bytes(40_000), codec=codec), limited)
    assert (refusal.reason, refusal.faults) == (Reason.TIMESTAMP_OUT_OF_RANGE, ())


def test_only_so_many_records_are_looked_at(batch, monkeypatch):
    monkeypatch.setattr(batch_validation, "MAX_NAMED_RECORDS", 3)
    limited = replace(CONFIG, message_timestamp_difference_max_ms=1000)
    refusal = judge(batch(5, timestamps=[NOW, NOW, *[NOW + 2000] * 3]), limited)
    assert [fault.index for fault in refusal.faults] == [2]


def test_a_coordinator_may_write_control_batches(batch, patch_batch):
    assert isinstance(
        judge(patch_batch(batch(), 21, b"\x00\x20"), origin=AppendOrigin.COORDINATOR), RecordBatch
    )


def test_fetched_batches_must_follow_each_other(batch):
    first, second = batch(2, base_offset=5, epoch=1), batch(3, base_offset=7, epoch=1)
    found = check_fetched(first + second + first[:30], 5, gaps_end=0)
    assert [b.header.base_offset for b in found] == [5, 7]
    assert [b.header.base_offset for b in check_fetched(second, 5, gaps_end=7)] == [7]
    assert check_fetched(b"", 5, gaps_end=0) == []
    for records, expected in ((second + first, 5), (first, 6)):
        verdict = check_fetched(records, expected, gaps_end=0)
        assert isinstance(verdict, Refusal)
        assert verdict.reason is Reason.OFFSETS_NOT_MONOTONIC


def test_only_compaction_leaves_gaps(batch):
    first, second = batch(2, base_offset=5, epoch=1), batch(3, base_offset=9, epoch=1)
    assert len(check_fetched(first + second, 4, gaps_end=9)) == 2
    for records, expected, gap in ((first + second, 5, "from 7 to 9"), (first, 4, "from 4 to 5")):
        verdict = check_fetched(records, expected, gaps_end=expected)
        assert verdict.reason is Reason.OFFSETS_NOT_MONOTONIC
        assert gap in str(verdict)
    assert len(check_fetched(first, 5, gaps_end=0)) == 1
    # The first gap is one that compaction explains, the second lies behind all that was compacted.
    assert "from 7 to 9" in str(check_fetched(first + second, 4, gaps_end=8))


def test_the_leader_says_where_gaps_end_and_the_policy_decides_only_if_it_does_not():
    compacted = replace(LogConfig(), cleanup_policy=frozenset({"compact"}))
    assert gaps_limit(7, compacted) == gaps_limit(7, LogConfig()) == 7
    assert gaps_limit(0, compacted) == 0
    assert gaps_limit(None, compacted) > 2**62
    assert gaps_limit(None, LogConfig()) == 0


def test_fetched_batches_are_checked_before_any_is_written(batch, patch_batch):
    good = batch(2, base_offset=0)
    flipped = bytearray(batch(2, base_offset=2))
    flipped[-1] ^= 1
    assert check_fetched(good + bytes(flipped), 0, gaps_end=0).reason is Reason.BAD_CRC
    assert check_fetched(good + bytes(80), 0, gaps_end=0).reason is Reason.SHORTER_THAN_HEADER
    old = bytearray(batch(2, base_offset=2))
    old[16] = 1
    assert check_fetched(good + bytes(old), 0, gaps_end=0).reason is Reason.BAD_MAGIC
    assert check_fetched(good + bytes(old), 0, gaps_end=0).error is ErrorCode.CORRUPT_MESSAGE


def slow_varint(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


@given(
    st.lists(st.one_of(st.integers(-3, 200), st.integers(8_000, 9_000)), min_size=1, max_size=8),
    st.integers(-1, 1),
)
def test_hop_counts_what_a_slow_walk_counts(lengths, off_by):
    records = b"".join(slow_varint(n) + bytes(max(n, 0)) for n in lengths)
    data = memoryview(bytes(HEADER_SIZE) + records)
    verdict = hop_records(data, len(lengths) + off_by)
    is_right = off_by == 0 and all(n >= 0 for n in lengths)
    if is_right:
        assert verdict is None
    elif len(lengths) + off_by > 0:
        assert verdict is not None


def slow_hop(data: bytes, count: int) -> Reason | None:
    """What is wrong with the records' lengths, found one byte after the other."""
    position, is_negative = HEADER_SIZE, False
    for _ in range(count):
        value = shift = 0
        while True:
            if position >= len(data) or shift > 28:
                return Reason.BAD_RECORD_LENGTH
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        is_negative |= value % 2 == 1
        position += value // 2
    if is_negative:
        return Reason.BAD_RECORD_LENGTH
    return None if position == len(data) else Reason.RECORDS_MISCOUNTED


@given(
    runs=st.lists(
        st.tuples(
            st.one_of(st.integers(0, 3), st.sampled_from((62, 63, 64, 65, 100, 8_191, 8_192))),
            st.integers(1, 150),
        ),
        min_size=1,
        max_size=4,
    ),
    spoiled=st.one_of(st.none(), st.tuples(st.integers(0, 2**32), st.integers(0, 255))),
    off_by=st.integers(-1, 1),
)
def test_many_records_of_one_size_are_hopped_over_as_one_by_one(runs, spoiled, off_by):
    """Lengths that change or are wrong in the middle of a run are found where a slow walk finds them."""
    records = bytearray(b"".join((slow_varint(size) + bytes(size)) * times for size, times in runs))
    if spoiled is not None:
        at, byte = spoiled
        records[at % len(records)] = byte
    data = bytes(HEADER_SIZE) + bytes(records)
    count = sum(times for _, times in runs) + off_by
    verdict = hop_records(memoryview(data), count)
    assert (None if verdict is None else verdict.reason) is slow_hop(data, count)
