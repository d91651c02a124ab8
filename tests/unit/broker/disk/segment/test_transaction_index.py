"""The index of aborted transactions, byte by byte as Kafka writes it, and what a log makes of it."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.transactions import AbortedTransaction
from barnabas.broker.disk.segment.transaction_index import TransactionIndex
from tests.unit.broker.conftest import marker, transactional

ENTRIES = [
    AbortedTransaction(7, 0, 10, 5),
    AbortedTransaction(8, 5, 20, 21),
    AbortedTransaction(7, 30, 40, 41),
]


@pytest.fixture
def index(tmp_path):
    made = TransactionIndex(tmp_path / "0.txnindex")
    for each in ENTRIES:
        made.append(each)
    return made


def test_the_file_is_kafkas(index):
    assert index.path.read_bytes() == b"".join(struct.pack(">hqqqq", 0, *each) for each in ENTRIES)
    assert TransactionIndex(index.path).entries == ENTRIES


def test_a_segment_without_aborts_has_no_file(tmp_path):
    index = TransactionIndex(tmp_path / "0.txnindex")
    index.truncate_to(0)
    index.sync()
    index.clear()
    assert index.is_sane
    assert index.collect(0, 100) == ([], False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"\0", bytes(33), b"\0\1" + bytes(32)])
def test_a_file_that_cannot_be_right_is_seen(tmp_path, content):
    path = tmp_path / "0.txnindex"
    path.write_bytes(content)
    assert not TransactionIndex(path).is_sane


@pytest.mark.parametrize(("offset", "kept"), [(41, 3), (40, 2), (20, 1), (11, 1), (10, 0)])
def test_a_truncation_takes_the_markers_along(index, offset, kept):
    index.truncate_to(offset)
    index.unload()
    assert index.entries == ENTRIES[:kept]
    index.sync()


def test_it_can_be_emptied(index):
    index.clear()
    assert index.entries == []
    assert not index.path.exists()


@given(st.integers(0, 45), st.integers(1, 45))
@settings(max_examples=200)
def test_what_a_fetch_needs(tmp_path_factory, start, length):
    index = TransactionIndex(tmp_path_factory.getbasetemp() / "none.txnindex")
    index._entries = ENTRIES
    end = start + length
    found, is_complete = index.collect(start, end)
    assert found == [e for e in ENTRIES if e.last_offset >= start and e.first_offset < end]
    assert is_complete == any(e.last_stable_offset >= end and e.last_offset >= start for e in ENTRIES)


# In a log that is appended to, rolled, truncated, closed and killed.

ABORT, COMMIT = 0, 1
SMALL = LogConfig(segment_bytes=200, segment_index_bytes=16 * 1024)
A, B = (100, 0), (200, 0)
ABORTED = [AbortedTransaction(100, 1, 5, 3)]


def history(batch):
    """Offsets 0 to 9: plain, A and B (two each), A's abort, plain, B's commit, an open one of A, plain."""
    return [
        batch(1, base_offset=0, epoch=0),
        transactional(batch(2, base_offset=1, epoch=0, producer=(*A, 0))),
        transactional(batch(2, base_offset=3, epoch=0, producer=(*B, 0))),
        marker(ABORT, A, 5),
        batch(1, base_offset=6, epoch=0),
        marker(COMMIT, B, 7),
        transactional(batch(1, base_offset=8, epoch=0, producer=(*A, 2))),
        batch(1, base_offset=9, epoch=0),
    ]


@pytest.fixture(params=[LogConfig(), SMALL], ids=["one segment", "many segments"])
def log(request, logs, batch):
    opened = logs.open(request.param)
    for each in history(batch):
        opened.append_as_follower(each)
    opened.flush()
    return opened


def test_what_is_stable_follows_the_high_watermark(log):
    stable = [log.last_stable_offset(high_watermark) for high_watermark in range(11)]
    # A's abort lies at 5, B's commit at 7; A's second transaction is open from 8 on.
    assert stable == [0, 1, 1, 1, 1, 1, 3, 3, 8, 8, 8]


def test_aborted_transactions_are_returned_to_fetches_that_need_them(log):
    for start in range(10):
        for end in range(start + 1, 11):
            wanted = ABORTED if start <= 5 and end > 1 else []
            assert log.aborted_transactions(start, end) == wanted


@pytest.mark.parametrize("config", [LogConfig(), SMALL])
@pytest.mark.parametrize("how", ["closed", "killed", "without snapshots", "with a damaged index"])
def test_they_are_known_after_a_start(logs, batch, config, how):
    log = logs.open(config)
    for each in history(batch):
        log.append_as_follower(each)
    if how == "killed":
        log = logs.reopen_after_crash(config)
    else:
        log.close()
        for path in log.directory.glob("*.snapshot"):
            if how == "without snapshots":
                path.unlink()
        if how == "with a damaged index":
            (index,) = log.directory.glob("*.txnindex")
            index.write_bytes(index.read_bytes() + b"\0")
        log = logs.open(config, clean=True, recovery_point=10)
    assert log.last_stable_offset(10) == 8
    assert log.aborted_transactions(0, 10) == ABORTED
    (index,) = log.directory.glob("*.txnindex")
    assert len(index.read_bytes()) == 34


def test_a_truncation_opens_again_what_its_markers_had_ended(log):
    log.truncate_to(7)
    assert log.last_stable_offset(7) == 3
    assert log.aborted_transactions(0, 7) == ABORTED
    log.truncate_to(5)
    assert log.last_stable_offset(5) == 1
    assert log.aborted_transactions(0, 5) == []
    log.truncate_fully_and_start_at(20)
    assert log.last_stable_offset(20) == 20


def test_a_log_that_starts_later_is_stable_from_there(log):
    log.raise_log_start(9)
    assert log.last_stable_offset(10) == 9


def test_a_follower_does_not_keep_what_ended_long_ago(log):
    log.forget_replicated(10)
    assert not log._files.producers.transactions._unreplicated
