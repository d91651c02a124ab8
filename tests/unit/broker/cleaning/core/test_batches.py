from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.cleaning.core.batches import cleaned, emptied
from barnabas.broker.cleaning.core.offset_map import ENTRY_SIZE, OffsetMap
from barnabas.broker.core.records.record_batch import NO_TIMESTAMP, RecordBatch, TimestampType, parse_header
from barnabas.broker.core.records.records import MAX_RECORDS, CorruptRecordsError
from tests.batches import keyed_batch, records_of

BASE = 100
NOW = 1_700_000_000_000


def batch_of(records, **how):
    data = keyed_batch(records, base_offset=BASE, epoch=4, **how)
    return RecordBatch(parse_header(data), memoryview(data))


def map_of(known, latest):
    offsets = OffsetMap(bytearray(ENTRY_SIZE * 50), 0.9)
    for key, offset in known.items():
        offsets.put(key, offset)
    offsets.latest_offset = latest
    return offsets


KEYS = st.none() | st.sampled_from([b"a", b"b", b"c"])
RECORDS = st.lists(st.tuples(KEYS, st.sampled_from([None, b"", b"v"])), min_size=1, max_size=8)
KNOWN = st.dictionaries(st.sampled_from([b"a", b"b", b"c"]), st.integers(BASE - 5, BASE + 12))


FLAGS = st.tuples(st.booleans(), st.booleans(), st.sampled_from([0, 1, 3]))


@given(RECORDS, KNOWN, st.integers(BASE - 2, BASE + 10), FLAGS)
def test_what_stays_is_the_last_record_of_each_key(records, known, latest, flags):
    retains, keeps, codec = flags
    before = batch_of(records, codec=codec, producer=(7, 3, 50))
    kept = [
        (offset, key, value, time)
        for offset, key, value, time in records_of(before)
        if offset > latest
        or (key is not None and offset >= known.get(key, -1) and (value is not None or retains))
    ]
    result = cleaned(before, map_of(known, latest), retains_deletes=retains, keeps_sequence=keeps)
    assert result.kept == len(kept)
    assert result.without_key == sum(
        key is None and offset <= latest for offset, key, *_ in records_of(before)
    )
    if not kept:
        assert (result.batch is not None) is keeps
        return
    after = result.batch
    assert records_of(after) == kept
    assert after.has_valid_crc
    changed = {"batch_length", "crc", "max_timestamp", "record_count"}
    for name, value in before.header._asdict().items():
        assert name in changed or getattr(after.header, name) == value
    assert after.header.max_timestamp == max(time for *_, time in kept)
    assert len(kept) < len(records) or after is before


def test_a_batch_of_which_nothing_stays_leaves_the_sequence_of_its_producer():
    before = batch_of([(b"a", b"v"), (b"a", b"v")], codec=3, producer=(7, 3, 50))
    after = cleaned(before, map_of({b"a": 500}, 500), retains_deletes=True, keeps_sequence=True).batch
    header = after.header
    assert len(after.data) == 61
    assert after.has_valid_crc
    assert (header.base_offset, header.last_offset, header.last_sequence) == (BASE, BASE + 1, 51)
    assert (header.record_count, header.codec_number) == (0, 0)
    assert (header.base_timestamp, header.max_timestamp) == (NO_TIMESTAMP, NOW + 1)
    assert emptied(after) is after


def test_the_time_of_the_append_stays_that_of_all_records():
    before = batch_of([(b"a", b"v"), (b"b", b"v")])
    header = before.header._replace(attributes=8, max_timestamp=NOW + 500)
    after = cleaned(
        RecordBatch(header, before.data), map_of({b"b": 500}, 500), retains_deletes=True, keeps_sequence=False
    ).batch
    assert after.header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert after.header.max_timestamp == NOW + 500


def test_the_largest_timestamp_may_be_that_of_the_first_record_kept():
    before = batch_of([(b"a", b"v"), (b"b", b"v"), (b"c", b"v")], step_ms=-10)
    after = cleaned(before, map_of({b"a": 500}, 500), retains_deletes=True, keeps_sequence=False).batch
    assert [key for _, key, *_ in records_of(after)] == [b"b", b"c"]
    assert after.header.max_timestamp == NOW - 10


def test_too_many_records_are_not_opened():
    before = batch_of([(b"a", b"v")], codec=1)
    many = RecordBatch(before.header._replace(record_count=MAX_RECORDS + 1), before.data)
    with pytest.raises(CorruptRecordsError, match="at most"):
        cleaned(many, map_of({}, 500), retains_deletes=True, keeps_sequence=False)
