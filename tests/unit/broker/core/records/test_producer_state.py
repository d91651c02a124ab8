from __future__ import annotations

import gc
import tracemalloc

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.records.batch_validation import AppendOrigin
from barnabas.broker.core.records.producer_state import (
    CachedBatch,
    CorruptSnapshotError,
    ProducerState,
    decode_snapshot,
)
from barnabas.broker.core.records.record_batch import (
    CONTROL_BIT,
    MAX_SEQUENCE,
    TRANSACTIONAL_BIT,
    BatchHeader,
)
from barnabas.broker.core.records.refusals import Reason, Refusal
from barnabas.broker.core.records.transactions import (
    CompletedTransaction,
    ControlRecordType,
    EndTransactionMarker,
)
from barnabas.cluster.model.steps import at_once

CLIENT = AppendOrigin.CLIENT


def header(sequence, count=1, *, producer=7, epoch=0, offset=0, time=1000, attributes=0):
    return BatchHeader(
        offset, 100, 0, 2, 0, attributes, count - 1, time, time, producer, epoch, sequence, count
    )


def state_after(*headers):
    state = ProducerState()
    for each in headers:
        state.update(each)
    return state


def test_batches_without_a_producer_leave_no_trace():
    state = state_after(header(-1, producer=-1, epoch=-1))
    assert len(state) == 0
    assert state.check(header(-1, producer=-1, epoch=-1), CLIENT) is None


def test_an_unknown_producer_may_start_anywhere():
    assert ProducerState().check(header(1234), CLIENT) is None


def test_a_retry_is_answered_with_its_first_offset():
    state = state_after(header(0, 3, offset=100), header(3, 2, offset=110))
    assert state.check(header(0, 3), CLIENT) == CachedBatch(0, 2, 100, 102, 1000)
    assert state.check(header(3, 2), CLIENT) == CachedBatch(3, 4, 110, 111, 1000)


def test_only_five_batches_are_remembered():
    state = state_after(*(header(n, offset=n) for n in range(6)))
    assert isinstance(state.check(header(1), CLIENT), CachedBatch)
    assert state.check(header(0), CLIENT).reason is Reason.SEQUENCE_GAP


def test_gaps_and_epochs_are_refused():
    state = state_after(header(0, 3, epoch=2))
    assert state.check(header(4, epoch=2), CLIENT).reason is Reason.SEQUENCE_GAP
    assert state.check(header(2, epoch=2), CLIENT).reason is Reason.SEQUENCE_GAP
    assert state.check(header(3, epoch=1), CLIENT).reason is Reason.STALE_PRODUCER_EPOCH
    assert state.check(header(3, epoch=3), CLIENT).reason is Reason.NEW_EPOCH_NOT_AT_ZERO
    assert state.check(header(0, epoch=3), CLIENT) is None
    assert state.check(header(3, epoch=2), CLIENT) is None


def test_a_coordinator_is_judged_by_its_epoch_alone():
    state = state_after(header(0, epoch=2))
    assert state.check(header(-1, epoch=2), AppendOrigin.COORDINATOR) is None
    assert state.check(header(-1, epoch=1), AppendOrigin.COORDINATOR).reason is Reason.STALE_PRODUCER_EPOCH


def test_a_new_epoch_clears_the_cache():
    state = state_after(header(0, epoch=0), header(0, epoch=1, offset=9))
    assert [b.first_offset for b in state.get(7).batches] == [9]


def test_zero_follows_the_largest_sequence():
    state = state_after(header(MAX_SEQUENCE - 1, 2))
    assert state.check(header(0), CLIENT) is None
    wrapping = state_after(header(MAX_SEQUENCE, 3))
    assert wrapping.get(7).last_sequence == 1
    assert wrapping.check(header(2), CLIENT) is None


def test_expiry_spares_open_transactions():
    state = state_after(
        header(0, producer=1, time=0),
        header(0, producer=2, time=900),
        header(0, producer=3, time=0, attributes=TRANSACTIONAL_BIT, offset=5),
    )
    assert at_once(state.expire(500)) == (1,)
    assert {entry.producer_id for entry in state} == {2, 3}
    marker = EndTransactionMarker(ControlRecordType.COMMIT, 7)
    ended = state.update(
        header(-1, producer=3, time=0, attributes=TRANSACTIONAL_BIT | CONTROL_BIT, offset=6), marker
    )
    assert ended == CompletedTransaction(3, 5, 6, is_aborted=False)
    assert state.get(3).coordinator_epoch == 7
    assert at_once(state.expire(500)) == (3,)
    assert at_once(state.expire(899)) == ()
    assert at_once(state.expire(900)) == (2,)


class SlowState:
    """Every batch ever written, looked through from the start."""

    def __init__(self):
        self.written = []

    def verdict(self, batch):
        producer, epoch, first, last = batch
        known = [w for w in self.written if w[0] == producer]
        if not known:
            return "take"
        newest_epoch = known[-1][1]
        if epoch < newest_epoch:
            return Reason.STALE_PRODUCER_EPOCH
        if epoch > newest_epoch:
            return "take" if first == 0 else Reason.NEW_EPOCH_NOT_AT_ZERO
        current = []
        for w in known:
            current = [*current, w] if not current or current[-1][1] == w[1] else [w]
        for _, _, known_first, known_last, offset in current[-5:]:
            if (known_first, known_last) == (first, last):
                return offset
        return "take" if first == current[-1][3] + 1 else Reason.SEQUENCE_GAP


@given(
    st.lists(
        st.tuples(st.integers(1, 2), st.integers(0, 2), st.integers(0, 8), st.integers(1, 2)),
        max_size=40,
    )
)
def test_state_follows_the_slow_model(batches):
    state, model, offset = ProducerState(), SlowState(), 0
    for producer, epoch, first, count in batches:
        each = header(first, count, producer=producer, epoch=epoch, offset=offset)
        expected = model.verdict((producer, epoch, first, first + count - 1))
        verdict = state.check(each, CLIENT)
        match verdict:
            case None:
                assert expected == "take"
                state.update(each)
                model.written.append((producer, epoch, first, first + count - 1, offset))
                offset += count
            case Refusal(reason=reason):
                assert expected is reason
            case CachedBatch():
                assert expected == verdict.first_offset
    assert {e.producer_id for e in decode_snapshot(state.snapshot().encode())} == {
        e.producer_id for e in state
    }


def test_snapshot_bytes_are_kafkas():
    data = state_after(header(1, 3, producer=5, epoch=1, offset=10, time=77)).snapshot().encode()
    rows = bytes.fromhex(
        "000000010000000000000005000100000003000000000000000c00000002000000000000004dffffffffffffffffffffffff"
    )
    assert data == b"\x00\x01" + crc32c(rows).to_bytes(4) + rows
    assert len(rows) == 4 + 46


def test_a_snapshot_keeps_the_last_batches_of_each_producer_the_newest_last():
    headers = [header(3 * n, 3, offset=3 * n, time=1000 + n) for n in range(7)]
    before = state_after(*headers)
    snapshot = before.snapshot()
    assert [entry.producer_id for entry in snapshot] == [entry.producer_id for entry in before]
    assert len(snapshot) == len(before)
    data = snapshot.encode()
    after = decode_snapshot(data)
    assert list(after.get(7).batches) == list(before.get(7).batches)
    assert len(after.get(7).batches) == 5
    assert after.get(7).last_timestamp == before.get(7).last_timestamp
    # What Kafka's loader keeps: the last row of the producer is its newest batch.
    assert int.from_bytes(data[-46:][10:14]) == headers[-1].last_sequence
    assert after.check(headers[2], CLIENT).first_offset == 6


def test_rows_of_an_older_epoch_do_not_live_on():
    old = state_after(header(0, 2, epoch=0)).snapshot().encode()[10:]
    new = state_after(header(0, 2, epoch=1, offset=9)).snapshot().encode()[10:]
    body = (2).to_bytes(4) + old + new
    state = decode_snapshot(b"\x00\x01" + crc32c(body).to_bytes(4) + body)
    assert [batch.first_offset for batch in state.get(7).batches] == [9]


def test_a_snapshot_of_a_marker_has_no_batch():
    state = state_after(header(-1, attributes=CONTROL_BIT | TRANSACTIONAL_BIT))
    entry = decode_snapshot(state.snapshot().encode()).get(7)
    assert (len(entry.batches), entry.last_sequence) == (0, -1)
    state.update(header(0, offset=1))
    assert state.snapshot().encode() == state_after(header(0, offset=1)).snapshot().encode()


def test_a_marker_leaves_the_batches_as_they_are():
    state = state_after(header(0, offset=1), header(1, offset=2))
    state.update(header(-1, offset=3, time=2000, attributes=CONTROL_BIT | TRANSACTIONAL_BIT))
    assert [batch.first_offset for batch in state.get(7).batches] == [1, 2]
    assert (state.get(7).last_timestamp, state.get(7).last_sequence) == (2000, 1)


@pytest.mark.parametrize(
    "damage", [lambda d: d[:5], lambda d: b"\x00\x02" + d[2:], lambda d: d[:-1], lambda d: d[:-1] + b"x"]
)
def test_a_damaged_snapshot_is_refused(damage):
    data = state_after(header(0)).snapshot().encode()
    with pytest.raises(CorruptSnapshotError):
        decode_snapshot(damage(data))


def test_a_wrong_count_is_refused():
    rows = b"\x00\x00\x00\x02" + bytes(46)
    with pytest.raises(CorruptSnapshotError, match="for 2 producers"):
        decode_snapshot(b"\x00\x01" + crc32c(rows).to_bytes(4) + rows)


@pytest.mark.parametrize("batches", [1, 5])
def test_a_producer_costs_less_than_500_bytes(batches):
    """Five batches took 1.7 KB in each replica, and every garbage collection visited them."""
    producers = 10_000
    tracemalloc.start()
    try:
        state = ProducerState()
        for number in range(producers * batches):
            producer = 1_000_000 + number % producers
            state.update(header(number // producers, producer=producer, offset=2**40 + number, time=2**40))
        cost = tracemalloc.get_traced_memory()[0] / producers
    finally:
        tracemalloc.stop()
    assert cost < 500
    assert not any(map(gc.is_tracked, state._rows.values()))


def test_many_producers_do_not_expire_in_one_step():
    state = state_after(*(header(0, producer=number, time=0) for number in range(10_000)))
    steps = state.expire(1)
    next(steps)
    state.update(header(0, producer=9_999, epoch=1, time=5))
    state.update(header(0, producer=10_000, time=0))
    assert len(at_once(steps)) == 9_999
    assert {entry.producer_id for entry in state} == {9_999, 10_000}


def test_clear():
    state = state_after(header(0))
    state.clear()
    assert list(state) == []
