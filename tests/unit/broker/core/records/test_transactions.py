"""Open and ended transactions against a slow twin that keeps every batch; markers byte by byte."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.broker.core.records.record_batch import RecordBatch, parse_header
from barnabas.broker.core.records.transactions import (
    CompletedTransaction,
    ControlRecordType,
    Transactions,
    end_marker,
)
from tests.unit.broker.conftest import marker, patched


def parsed(data):
    return RecordBatch(parse_header(data), memoryview(data))


@pytest.mark.parametrize("kind", ControlRecordType)
def test_a_marker_is_read(kind):
    assert end_marker(parsed(marker(kind, (7, 0), 5))) == (kind, 3)


def test_what_is_no_marker_ends_nothing():
    data = marker(0, (7, 0), 5)
    unknown = patched(data, data.index(b"\0\0\0\0", 61) + 3, b"\x05")
    assert end_marker(parsed(unknown)) is None
    assert end_marker(parsed(data[:57] + b"\0\0\0\0")) is None  # compaction has left the header alone
    for length in range(62, len(data) - 1):
        assert end_marker(parsed(data[:length])) is None


events = st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["write", "abort", "commit"])), max_size=30)


@given(events, st.integers(0, 31))
@settings(max_examples=300)
def test_what_is_stable_against_a_slow_twin(history, high_watermark):
    transactions = Transactions()
    known = {}
    for offset, (producer, what) in enumerate(history):
        earlier = [known_what for who, known_what in history[:offset] if who == producer]
        is_open = bool(earlier) and earlier[-1] == "write"
        if what == "write":
            if not is_open:
                transactions.begin(producer, offset)
                known[producer] = offset
            continue
        completed = transactions.complete(producer, offset, is_aborted=what == "abort")
        if not is_open:
            assert completed is None
            continue
        assert completed == CompletedTransaction(producer, known.pop(producer), offset, what == "abort")
        assert transactions.last_stable_offset_after(completed) == min(known.values(), default=offset + 1)
    # The twin: an offset is unstable if its transaction has no marker below the high watermark.
    unstable = [
        offset
        for offset, (producer, what) in enumerate(history)
        if what == "write"
        and not any(
            who == producer and ended != "write" and offset < at < high_watermark
            for at, (who, ended) in enumerate(history)
        )
    ]
    assert transactions.first_unstable_offset(high_watermark) == min(unstable, default=None)


def test_what_a_snapshot_says_is_open_comes_in_the_order_of_its_offsets():
    transactions = Transactions({5: 30, 4: 10, 9: 20})
    found = []
    while (first := transactions.first_unstable_offset(0)) is not None:
        found.append(first)
        producer = {30: 5, 10: 4, 20: 9}[first]
        transactions.complete(producer, 40 + len(found), is_aborted=False)
        transactions.replicated(100)
    assert found == [10, 20, 30]
    assert all(a < b for a, b in pairwise(found))
