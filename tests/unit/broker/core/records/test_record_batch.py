from __future__ import annotations

import pytest
from aiokafka.record.default_records import DefaultRecordBatch
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.records.record_batch import (
    HEADER,
    HEADER_SIZE,
    MAX_SEQUENCE,
    RecordBatch,
    TimestampType,
    advance_sequence,
    parse_header,
    peek_frame,
    stamp,
    stamp_with_append_time,
    with_records,
)
from tests.batches import whole_batches

VECTOR = bytes.fromhex(
    "000000000000000000000046ffffffff02e7f6ad240000000000010000018bcfe568000000018bcfe56805"
    "ffffffffffffffffffffffffffff00000002"
    "18000000026b027602026802310e000a0201027700"
)


def only(data: bytes) -> RecordBatch:
    (found,) = whole_batches(data)
    return found


def test_the_vector_is_read_to_the_letter():
    header = parse_header(VECTOR)
    assert header == (0, 0x46, -1, 2, 0xE7F6AD24, 0, 1, 1700000000000, 1700000000005, -1, -1, -1, 2)
    assert (header.size, header.last_offset, header.next_offset) == (82, 1, 2)
    assert (header.codec_number, header.timestamp_type) == (0, TimestampType.CREATE_TIME)
    assert (header.has_producer_id, header.is_control, header.is_transactional) == (False, False, False)
    assert header.last_sequence == -1
    assert only(VECTOR).has_valid_crc
    assert HEADER.size == HEADER_SIZE
    assert peek_frame(VECTOR) == (0, 82)


def test_header_agrees_with_independent_encoders(batch, encoder):
    data = batch(5, producer=(77, 3, 12), codec=1, encoder=encoder)
    header = parse_header(data)
    assert header.size == len(data)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (77, 3, 12)
    assert (header.last_sequence, header.record_count, header.codec_number) == (16, 5, 1)
    assert only(data).has_valid_crc


def test_attribute_bits(batch, patch_batch):
    header = parse_header(patch_batch(batch(), 21, b"\x00\x3c"))
    assert header.is_control
    assert header.is_transactional
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.codec_number == 4


def test_a_stamped_batch_is_the_same_but_for_sixteen_bytes(batch):
    data = batch(3)
    stamped = b"".join(stamp(only(data), 4711, 9))
    assert stamped[16:] == data[16:]
    header = parse_header(stamped)
    assert (header.base_offset, header.partition_leader_epoch) == (4711, 9)
    assert only(stamped).has_valid_crc


def test_stamping_does_not_copy_the_body(batch):
    data = batch(3)
    assert stamp(only(data), 1, 1)[1].obj is data


def test_append_time_is_stamped_under_a_new_checksum(batch):
    data = batch(3)
    stamped = b"".join(stamp_with_append_time(only(data), 10, 2, 1_800_000_000_000))
    assert only(stamped).has_valid_crc
    header = parse_header(stamped)
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.max_timestamp == 1_800_000_000_000
    assert stamped[HEADER_SIZE:] == data[HEADER_SIZE:]
    read = DefaultRecordBatch(stamped)
    assert read.validate_crc()
    assert [record.timestamp for record in read] == [1_800_000_000_000] * 3


@pytest.mark.parametrize("cut", [0, 1, 11, 60, 100])
def test_a_partial_tail_is_left_out(batch, cut):
    first, second = batch(1), batch(50)
    found = list(whole_batches(first + second[:cut]))
    assert [bytes(b.data) for b in found] == [first]


def test_iteration_stops_at_a_length_that_cannot_be():
    assert list(whole_batches(VECTOR[:8] + b"\x00\x00\x00\x05" + VECTOR[12:])) == []
    assert list(whole_batches(bytes(200))) == []


@given(st.integers(0, 10) | st.integers(MAX_SEQUENCE - 10, MAX_SEQUENCE), st.integers(-10, 10))
def test_sequences_wrap_to_zero(sequence, by):
    model = sequence
    for _ in range(abs(by)):
        model += 1 if by > 0 else -1
        model = 0 if model > MAX_SEQUENCE else MAX_SEQUENCE if model < 0 else model
    assert advance_sequence(sequence, by) == model


@given(st.binary(max_size=300))
def test_other_records_under_the_same_header(batch, records):
    before = parse_header(batch(4, producer=(7, 2, 5), codec=1, epoch=3))
    after = with_records(before, records)
    assert after.header == parse_header(after.data)
    assert after.has_valid_crc
    assert bytes(after.data[HEADER_SIZE:]) == records
    assert after.header.size == len(after.data)
    assert after.header[5:] == before[5:]
