from __future__ import annotations

import cramjam
import pytest
from aiokafka.record.default_records import DefaultRecordBatch
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.records.record_batch import HEADER_SIZE, parse_header
from barnabas.broker.core.records.records import (
    MAX_RECORDS,
    CorruptRecordsError,
    decompress,
    first_record_since,
    key_values,
    record_times,
    survey,
)
from tests.batches import keyed_batch, whole_batches

TIMES = [1_700_000_000_005, 1_700_000_000_001, 1_700_000_000_300, 0]


def only(data):
    (found,) = whole_batches(data)
    return found


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_times_and_offsets_of_every_codec(batch, codec):
    data = batch(4, timestamps=TIMES, codec=codec, base_offset=50)
    assert list(record_times(only(data))) == list(zip(TIMES, [50, 51, 52, 53], strict=True))


def test_snappy_without_framing(batch, patch_batch):
    plain = batch(3, timestamps=TIMES[:3])
    body = bytes(cramjam.snappy.compress_raw(plain[61:]))
    data = patch_batch((plain[:8] + (len(body) + 49).to_bytes(4) + plain[12:61]) + body, 21, b"\x00\x02")
    assert [time for time, _ in record_times(only(data))] == TIMES[:3]


def test_append_time_stands_for_all_records(batch, patch_batch):
    data = patch_batch(batch(3, timestamps=TIMES[:3]), 21, b"\x00\x08")
    assert [time for time, _ in record_times(only(data))] == [parse_header(data).max_timestamp] * 3


def test_what_cannot_be_read_says_where(batch, patch_batch):
    cut = patch_batch(batch(2, base_offset=9), 57, b"\x00\x00\x00\x09")
    with pytest.raises(CorruptRecordsError, match="9 records of the batch at offset 9"):
        list(record_times(only(cut)))
    for attributes, message in ((b"\x00\x01", "cannot be decompressed"), (b"\x00\x07", "codec 7")):
        with pytest.raises(CorruptRecordsError, match=message):
            decompress(only(patch_batch(batch(2), 21, attributes)))


def test_integers_that_never_end_are_no_records(batch, patch_batch):
    endless = patch_batch(batch(1, value=bytes(1000)), 61, b"\x80" * 1000)
    with pytest.raises(CorruptRecordsError):
        list(record_times(only(endless)))
    backwards = patch_batch(patch_batch(batch(1), 61, b"\x09"), 57, b"\x7f\xff\xff\xff")
    with pytest.raises(CorruptRecordsError):
        list(record_times(only(backwards)))


def test_timestamps_have_64_bits(batch, patch_batch):
    data = patch_batch(batch(2, timestamps=[5, 6]), 27, (2**63 - 1).to_bytes(8))
    times = record_times(only(data))
    assert next(times).timestamp == 2**63 - 1
    with pytest.raises(CorruptRecordsError, match="expected 64 bits"):
        next(times)


def outcome_of(steps):
    answer = None
    while True:
        try:
            work = steps.send(answer)
        except StopIteration as end:
            return end.value
        answer = None if work is None else work()


@given(
    times=st.lists(st.integers(0, 9), min_size=1, max_size=6),
    codec=st.integers(0, 4),
    timestamp=st.integers(0, 10),
    offset=st.integers(45, 60),
)
def test_the_first_record_of_a_time_is_the_one_that_a_walk_finds(batch, times, codec, timestamp, offset):
    data = only(batch(len(times), timestamps=times, codec=codec, base_offset=50))
    expected = [
        found for found in record_times(data) if found.timestamp >= timestamp and found.offset >= offset
    ]
    assert outcome_of(first_record_since(data, timestamp, offset)) == (expected[0] if expected else None)


def test_a_search_through_many_records_pauses_on_its_way(batch):
    times = [*range(1000), 5000]
    steps = first_record_since(only(batch(1001, timestamps=times, base_offset=50)), 5000, 0)
    assert [next(steps) for _ in range(3)] == [None] * 3
    assert outcome_of(steps) == (5000, 1050)


def test_of_a_batch_with_too_many_records_to_open_the_first_stands_for_all(batch, patch_batch):
    many = (MAX_RECORDS + 1).to_bytes(4)
    data = only(patch_batch(batch(2, timestamps=[1, 7], codec=1, base_offset=50), 57, many))
    assert outcome_of(first_record_since(data, 5, 0)) == (7, 50)
    assert outcome_of(first_record_since(data, 5, 51)) == (7, 51)


def test_a_search_in_a_batch_that_cannot_be_decompressed_is_refused(batch, patch_batch):
    data = only(patch_batch(batch(2), 21, b"\x00\x01"))
    with pytest.raises(CorruptRecordsError, match="cannot be decompressed"):
        outcome_of(first_record_since(data, 0, 0))


@given(st.lists(st.sampled_from([-1, 0, 5, 70, 9000, 2**40]), min_size=1, max_size=6), st.integers(0, 4))
def test_a_survey_says_what_a_reader_that_is_not_ours_would(batch, times, codec):
    data = batch(len(times), timestamps=times, codec=codec)
    stamped = [record.timestamp for record in DefaultRecordBatch(data) if record.timestamp != -1]
    found = outcome_of(survey(parse_header(data), decompress(only(data))))
    assert found == (min(stamped, default=-1), max(stamped, default=-1), False)


def test_no_more_is_unpacked_than_asked_for(batch):
    data = only(batch(2, value=bytes(100_000), codec=1))
    assert len(list(record_times(data))) == 2
    with pytest.raises(CorruptRecordsError, match="into 65536 bytes"):
        list(record_times(data, 65_536))


def test_timestamps_far_apart_hide_no_key_or_value():
    pairs = [(b"k", b"v"), (None, b"w"), (b"l", None)]
    (read,) = whole_batches(keyed_batch(pairs, base_offset=5, step_ms=1_000_000))
    found = list(key_values(read.header, bytes(read.data[HEADER_SIZE:])))
    assert found == [(5 + at, *pair) for at, pair in enumerate(pairs)]
