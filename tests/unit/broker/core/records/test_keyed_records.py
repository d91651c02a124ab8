from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.records.keyed_records import check_keys, keyed_records
from barnabas.broker.core.records.record_batch import HEADER_SIZE, RecordBatch, parse_header
from barnabas.broker.core.records.records import CorruptRecordsError
from barnabas.broker.core.records.refusals import Reason
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.steps import at_once
from tests.batches import keyed_batch

LONG = st.binary(min_size=100, max_size=300)
RECORDS = st.lists(
    st.tuples(st.none() | st.binary(max_size=3) | LONG, st.none() | st.binary(max_size=3) | LONG), min_size=1
)


def batch_of(records, **how):
    data = keyed_batch(records, **how)
    return RecordBatch(parse_header(data), memoryview(data))


@given(RECORDS)
def test_keys_and_tombstones_are_found(records):
    batch = batch_of(records)
    content = bytes(batch.data[HEADER_SIZE:])
    found = list(keyed_records(batch.header, content))
    keys = [None if begin < 0 else content[begin:end] for _, _, _, _, begin, end, _ in found]
    assert keys == [key for key, _ in records]
    assert [has_value for *_, has_value in found] == [value is not None for _, value in records]
    assert [(time, offset) for _, _, time, offset, _, _, _ in found] == [(i, i) for i in range(len(records))]
    assert [begin for begin, *_ in found] == [0, *(end for _, end, *_ in found[:-1])]


@given(RECORDS, st.data())
def test_damage_is_named_or_harmless(records, data):
    batch = batch_of(records)
    content = bytearray(batch.data[HEADER_SIZE:])
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = list(keyed_records(batch.header, bytes(content)))
    except CorruptRecordsError:
        return
    assert found[-1][1] == len(content)


@pytest.mark.parametrize("content", [b"", b"\x0e", b"\xff" * 12, b"\x01" * 9, b"\x0e\0\0\0\x50\0\0\0"])
def test_what_is_no_record_is_corrupt(content):
    header = batch_of([(b"k", b"v")]).header
    with pytest.raises(CorruptRecordsError):
        list(keyed_records(header, content))


def test_bytes_behind_the_last_record_are_corrupt():
    batch = batch_of([(b"k", b"v")])
    with pytest.raises(CorruptRecordsError):
        list(keyed_records(batch.header, bytes(batch.data[HEADER_SIZE:]) + b"?"))


@pytest.mark.parametrize("codec", [0, 2])
def test_a_record_without_a_key_refuses_its_batch_in_kafkas_words(codec):
    records = [(b"k", b"v"), (None, b"w"), (b"", None), (None, None)]
    refusal = at_once(check_keys(batch_of(records, codec=codec), "t-0"))
    assert (refusal.error, refusal.reason) == (ErrorCode.INVALID_RECORD, Reason.KEY_MISSING)
    assert str(refusal) == "One or more records have been rejected"
    message = "Compacted topic cannot accept message without key in topic partition t-0."
    assert [(fault.index, fault.message) for fault in refusal.faults] == [(1, message), (3, message)]


def test_records_with_keys_pass_and_others_have_their_turn_meanwhile():
    batch = batch_of([(b"k%d" % index, b"v") for index in range(1000)])
    assert at_once(check_keys(batch, "t-0")) is None
    assert len(list(check_keys(batch, "t-0"))) >= 3


def test_a_batch_that_cannot_be_read_is_refused():
    batch = batch_of([(b"k", b"v")])
    broken = RecordBatch(batch.header._replace(record_count=2), batch.data)
    assert at_once(check_keys(broken, "t-0")).reason is Reason.UNREADABLE_RECORDS
