"""Sessions as a table, and by Hypothesis against Kafka's cache written slowly."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.replication import fetch_sessions
from barnabas.broker.core.replication.fetch_sessions import (
    EVICTION_MS,
    LARGEST_EPOCH,
    FetchSessionCache,
    Kind,
    PartitionResult,
    SessionAnswer,
    SessionRequest,
    next_epoch,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition

A, B, C = (TopicPartition("t", number) for number in range(3))
QUIET = PartitionResult(5, 0)


@pytest.fixture
def cache():
    return FetchSessionCache(2, itertools.count(100).__next__)


def open_session(cache, *partitions, now_ms=0, privileged=False):
    """Ask for a session; its id, or 0."""
    wanted = dict.fromkeys(partitions, "from the start")
    context = cache.begin(SessionRequest(0, 0, wanted, privileged=privileged), now_ms)
    return cache.finish(context, dict.fromkeys(partitions, QUIET), now_ms).session_id


def ask(cache, number, epoch, wanted=None, *, forgotten=(), now_ms=0):
    return cache.begin(SessionRequest(number, epoch, wanted or {}, forgotten), now_ms)


def test_a_session_remembers_what_was_asked(cache):
    number = open_session(cache, A, B)
    context = ask(cache, number, 1, {B: "further", C: "new"}, forgotten=[A])
    assert context.kind is Kind.INCREMENTAL
    assert dict(context.wanted) == {B: "further", C: "new"}
    assert (len(cache), cache.partition_count) == (1, 2)


def test_a_request_without_a_session_begins_none(cache):
    context = cache.begin(SessionRequest(0, -1, {A: 1}), 0)
    assert cache.finish(context, {A: QUIET}, 0) == SessionAnswer()
    assert len(cache) == 0


@pytest.mark.parametrize("epoch", [0, -1])
def test_a_whole_request_closes_the_session_that_it_names(cache, epoch):
    number = open_session(cache, A)
    assert ask(cache, number, epoch, {A: 1}).kind is (Kind.SESSIONLESS if epoch else Kind.FULL)
    assert (len(cache), cache.partition_count) == (0, 0)
    assert ask(cache, number, 1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("epoch", [2, 17, -2])
def test_another_epoch_is_refused_and_the_session_stays(cache, epoch):
    number = open_session(cache, A)
    assert ask(cache, number, epoch) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert ask(cache, number, 1).kind is Kind.INCREMENTAL


def test_a_session_without_partitions_is_closed(cache):
    number = open_session(cache, A)
    context = ask(cache, number, 1, forgotten=[A])
    assert (context.kind, dict(context.wanted), len(cache)) == (Kind.SESSIONLESS, {}, 0)


@pytest.mark.parametrize(
    ("result", "is_included"),
    [
        (QUIET, False),
        (PartitionResult(6, 0), True),
        (PartitionResult(5, 1), True),
        (PartitionResult(5, 0, is_error=True), True),
        (PartitionResult(5, 0, is_due=True), True),
    ],
)
def test_an_answer_includes_what_changed(cache, result, is_included):
    number = open_session(cache, A, B)
    answer = cache.finish(ask(cache, number, 1), {A: result, B: QUIET}, 0)
    assert answer == SessionAnswer(number, included=frozenset({A} if is_included else ()))


def test_after_an_error_the_partition_is_included_again(cache):
    number = open_session(cache, A)
    cache.finish(ask(cache, number, 1), {A: PartitionResult(-1, -1, is_error=True)}, 0)
    assert cache.finish(ask(cache, number, 2), {A: QUIET}, 0).included == {A}
    assert cache.finish(ask(cache, number, 3), {A: QUIET}, 0).included == frozenset()


def test_what_an_answer_included_is_read_last_the_next_time(cache):
    number = open_session(cache, A, B, C)
    cache.finish(ask(cache, number, 1), {A: PartitionResult(9, 0), B: QUIET, C: QUIET}, 0)
    assert list(ask(cache, number, 2).wanted) == [B, C, A]


def test_an_answer_whose_session_has_moved_on_tells_nothing(cache):
    number = open_session(cache, A)
    late = ask(cache, number, 1)
    ask(cache, number, 2)
    expected = SessionAnswer(number, ErrorCode.INVALID_FETCH_SESSION_EPOCH, frozenset())
    assert cache.finish(late, {A: QUIET}, 0) == expected
    assert cache.throttled(late) == expected


def test_a_client_that_must_wait_keeps_its_session(cache):
    number = open_session(cache, A)
    context = ask(cache, number, 1)
    assert cache.throttled(context) == SessionAnswer(number, included=frozenset())
    assert ask(cache, number, 2).kind is Kind.INCREMENTAL
    whole = cache.begin(SessionRequest(0, 0, {A: 1}), 0)
    assert cache.throttled(whole) == SessionAnswer(included=frozenset())


def test_epochs_begin_again_with_1():
    assert [next_epoch(each) for each in (0, 1, LARGEST_EPOCH, -1)] == [1, 2, 1, -1]


def test_a_number_is_given_once():
    numbers = iter([7, 7, 8])
    cache = FetchSessionCache(2, numbers.__next__)
    assert [open_session(cache, A), open_session(cache, A)] == [7, 8]


def test_without_slots_there_are_no_sessions():
    assert open_session(FetchSessionCache(0, lambda: 1), A) == 0


@pytest.mark.parametrize(("name", "most"), [("MAX_PARTITIONS", 3), ("MAX_SESSION_PARTITIONS", 2)])
def test_the_partitions_of_sessions_are_bounded(cache, monkeypatch, name, most):
    monkeypatch.setattr(fetch_sessions, name, most)
    number = open_session(cache, A, B)
    assert open_session(cache, A, B, C) == 0
    assert ask(cache, number, 1, {C: "new", A: "again"}) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert (len(cache), cache.partition_count) == (0, 0)


OLD = EVICTION_MS + 1


@pytest.mark.parametrize(
    ("held", "newcomer", "evicted"),
    [
        # Two sessions hold the slots: (created, used, partitions, privileged); the newcomer comes at OLD.
        ([(0, 0, 3, False), (OLD, OLD, 1, False)], (1, False), 0),
        ([(0, 1, 3, False), (OLD, OLD, 1, False)], (2, False), None),
        ([(0, OLD, 1, False), (0, OLD, 2, False)], (2, False), 0),
        ([(0, OLD, 2, False), (0, OLD, 2, False)], (2, False), None),
        ([(OLD, OLD, 3, False), (OLD, OLD, 2, True)], (1, True), 0),
        ([(OLD, OLD, 1, True), (OLD, OLD, 2, True)], (3, True), None),
        ([(0, OLD, 1, True), (OLD, OLD, 2, True)], (3, True), 0),
        ([(0, OLD, 1, True), (0, OLD, 2, True)], (3, False), None),
    ],
)
def test_a_session_is_evicted_by_age_and_value(cache, held, newcomer, evicted):
    partitions, evictions = (A, B, C), []
    cache.on_evicted = lambda: evictions.append(1)
    numbers = []
    for created_ms, used_ms, size, privileged in held:
        numbers.append(open_session(cache, *partitions[:size], now_ms=created_ms, privileged=privileged))
        if used_ms != created_ms:
            ask(cache, numbers[-1], 1, now_ms=used_ms)
    size, privileged = newcomer
    number = open_session(cache, *partitions[:size], now_ms=OLD, privileged=privileged)
    gone = [n for n in numbers if ask(cache, n, 99) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND]
    assert gone == ([] if evicted is None else [numbers[evicted]])
    assert (number != 0, len(evictions)) == (evicted is not None, evicted is not None)


class SlowCache:
    """Kafka's rules of eviction, over a list of sessions."""

    def __init__(self, slots):
        self.slots = slots
        self.rows = []  # of [id, privileged, created, used, size]

    def create(self, number, privileged, size, now):
        if len(self.rows) >= self.slots and not self.evict(privileged, size, now):
            return False
        self.rows.append([number, privileged, now, now, size])
        return True

    def evict(self, privileged, size, now):
        if not self.rows:
            return False
        oldest = min(self.rows, key=lambda row: row[3])
        if now - oldest[3] > EVICTION_MS:
            self.rows.remove(oldest)
            return True
        # A session's age counts when it is used, not when another one asks.
        may_go = [row for row in self.rows if row[3] - row[2] > EVICTION_MS or (privileged and not row[1])]
        if not may_go:
            return False
        least = min(may_go, key=lambda row: (row[1], row[4], row[0]))
        if (privileged, size, 0) < (least[1], least[4], least[0]):
            return False
        self.rows.remove(least)
        return True


MOVES = st.lists(
    st.tuples(
        st.sampled_from(["create", "use", "close"]),
        st.integers(0, 3),
        st.booleans(),
        st.integers(1, EVICTION_MS),
    ),
    max_size=30,
)


@given(st.integers(0, 3), MOVES)
def test_the_sessions_are_those_of_the_slow_cache(slots, moves):
    numbers = itertools.count(1)
    fast, slow, epochs, now = FetchSessionCache(slots, numbers.__next__), SlowCache(slots), {}, 0
    for move, which, privileged, later in moves:
        now += later
        names = [TopicPartition("t", number) for number in range(which)]
        if move == "create":
            number = open_session(fast, *names, now_ms=now, privileged=privileged)
            assert slow.create(number, privileged, which, now) == (number != 0)
            epochs[number] = 1
        elif slow.rows:
            row = slow.rows[which % len(slow.rows)]
            if move == "use":
                wanted = {TopicPartition("more", which): "all"}
                ask(fast, row[0], epochs[row[0]], wanted, now_ms=now)
                epochs[row[0]] += 1
                row[3:] = [now, len(fast._sessions[row[0]].partitions)]
            else:
                ask(fast, row[0], -1)
                slow.rows.remove(row)
        assert set(fast._sessions) == {row[0] for row in slow.rows}
        assert fast.partition_count == sum(row[4] for row in slow.rows)
