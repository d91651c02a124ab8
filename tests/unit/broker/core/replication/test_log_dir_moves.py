"""The move of a replica between log directories: the request as a table, the copy against a log of pairs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from barnabas.broker.core.replication.leader_epochs import (
    UNDEFINED_EPOCH_END,
    EpochEndOffset,
    LeaderEpochCache,
)
from barnabas.broker.core.replication.log_dir_moves import (
    AlterDecision,
    AlterLogDir,
    CaughtUp,
    Copy,
    Hosting,
    LogRange,
    RaiseStart,
    StartOver,
    Truncate,
    judge_alter,
    next_step,
)
from barnabas.cluster.model.errors import ErrorCode

NONE, STORAGE = ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR
ABSENT = ErrorCode.REPLICA_NOT_AVAILABLE
PLAIN = AlterLogDir(
    is_name_too_long=False,
    is_configured=True,
    is_live=True,
    are_all_live=True,
    hosting=Hosting.ONLINE,
    is_current=False,
    future=None,
)


@pytest.mark.parametrize(
    ("met", "decision"),
    [
        ({}, AlterDecision(begins=True)),
        ({"is_current": True}, AlterDecision()),
        ({"is_current": True, "future": False}, AlterDecision(cancels=True)),
        ({"future": True}, AlterDecision()),
        ({"future": False}, AlterDecision(cancels=True, begins=True)),
        ({"are_all_live": False}, AlterDecision(STORAGE)),
        ({"are_all_live": False, "future": True}, AlterDecision()),
        ({"are_all_live": False, "is_current": True}, AlterDecision()),
        ({"are_all_live": False, "future": False}, AlterDecision(STORAGE, cancels=True)),
        ({"is_live": False, "are_all_live": False}, AlterDecision(STORAGE)),
        ({"is_live": False, "is_configured": False}, AlterDecision(ErrorCode.LOG_DIR_NOT_FOUND)),
        ({"is_name_too_long": True}, AlterDecision(ErrorCode.INVALID_TOPIC_EXCEPTION)),
        ({"hosting": Hosting.OFFLINE}, AlterDecision(STORAGE)),
        ({"hosting": Hosting.ABSENT}, AlterDecision(ABSENT, prefers=True)),
        ({"hosting": Hosting.ABSENT, "is_current": True}, AlterDecision(ABSENT)),
        ({"hosting": Hosting.ABSENT, "future": True}, AlterDecision(ABSENT)),
    ],
)
def test_what_a_request_leads_to(met, decision):
    assert judge_alter(replace(PLAIN, **met)) == decision


def test_whatever_a_request_meets_a_future_log_is_begun_in_a_live_directory_without_one():
    flags = (False, True)
    for too_long, configured, live, all_live, hosting, current, future in product(
        flags, flags, flags, flags, Hosting, flags, (None, False, True)
    ):
        decision = judge_alter(AlterLogDir(too_long, configured, live, all_live, hosting, current, future))
        if decision.begins:
            assert (live, all_live, hosting, current) == (True, True, Hosting.ONLINE, False)
            assert (future is not True, decision.error) == (True, NONE)
        assert decision.cancels <= (future is False)
        assert not decision.prefers or decision.error is ABSENT


class PlainLog:
    """A log as a list of records, each its leader epoch and a value, from ``start`` on."""

    def __init__(self):
        self.start = 0
        self.first = 0
        self.records = []
        self.epochs = LeaderEpochCache()

    @property
    def end(self):
        return self.first + len(self.records)

    @property
    def range(self):
        return LogRange(self.start, self.end)

    def append(self, epoch, value):
        if self.epochs.latest_epoch is None or epoch > self.epochs.latest_epoch:
            self.epochs.assign(epoch, self.end)
        self.records.append((epoch, value))

    def truncate(self, offset):
        if offset < self.end:
            del self.records[max(0, offset - self.first) :]
        self.epochs.truncate_from_end(offset)
        self.start = min(self.start, self.end)

    def start_over(self, offset):
        self.records.clear()
        self.epochs.clear()
        self.start = self.first = offset

    def raise_start(self, offset):
        self.start = min(offset, self.end)
        self.epochs.truncate_from_start(self.start)

    @property
    def readable(self):
        return [(self.first + i, each) for i, each in enumerate(self.records) if self.first + i >= self.start]


def step_of(current, future):
    epoch = future.epochs.latest_epoch
    theirs = UNDEFINED_EPOCH_END if epoch is None else current.epochs.end_offset_for(epoch, current.end)
    own = future.epochs.end_offset_for(theirs.epoch, future.end)
    return next_step(current.range, future.range, epoch, theirs, own)


def take(current, future, step):
    match step:
        case StartOver(offset):
            future.start_over(offset)
        case Truncate(offset):
            future.truncate(offset)
        case RaiseStart(offset):
            future.raise_start(offset)
        case Copy(offset):
            future.append(*current.records[offset - current.first])


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 3)),
        st.tuples(st.just("new epoch"), st.integers(0, 6)),
        st.tuples(st.just("delete"), st.integers(0, 6)),
        st.tuples(st.just("start over"), st.integers(0, 20)),
        st.tuples(st.just("copy"), st.integers(1, 4)),
    ),
    max_size=40,
)


@example([("start over", 1), ("copy", 1), ("start over", 0), ("append", 1)])
@given(EVENTS)
def test_a_future_log_always_catches_up_with_the_same_records(events):
    """A follower's log, too: what another leader has written differently is cut off, and fetched anew."""
    current, future, epoch, value = PlainLog(), PlainLog(), 0, 0
    for kind, number in events:
        match kind:
            case "append":
                for _ in range(number):
                    value += 1
                    current.append(epoch, value)
            case "new epoch":
                epoch += 1
                current.truncate(max(current.start, current.end - number))
            case "delete":
                current.raise_start(current.start + number)
            case "start over":
                epoch += 1
                current.start_over(number)
            case "copy":
                for _ in range(number):
                    take(current, future, step_of(current, future))
    steps = 0
    while (step := step_of(current, future)) != CaughtUp():
        take(current, future, step)
        steps += 1
        assert steps <= 3 * (epoch + 2) + current.end + future.end, "the move makes no progress"
    assert future.end == current.end
    assert future.readable == current.readable or not current.readable
    assert future.start >= current.start or not future.readable


@pytest.mark.parametrize(
    ("current", "future", "epochs", "step"),
    [
        (LogRange(0, 9), LogRange(0, 9), (3, EpochEndOffset(3, 9), EpochEndOffset(3, 9)), CaughtUp()),
        (LogRange(0, 9), LogRange(0, 5), (3, EpochEndOffset(3, 9), EpochEndOffset(3, 5)), Copy(5)),
        # The current log starts later now.
        (LogRange(4, 9), LogRange(0, 5), (3, EpochEndOffset(3, 9), EpochEndOffset(3, 5)), RaiseStart(4)),
        (LogRange(7, 9), LogRange(0, 5), (3, EpochEndOffset(3, 9), EpochEndOffset(3, 5)), StartOver(7)),
        # The current log was truncated, and has the future log's epoch only up to 4, or no longer at all.
        (LogRange(0, 9), LogRange(0, 6), (3, EpochEndOffset(3, 4), EpochEndOffset(3, 6)), Truncate(4)),
        (LogRange(0, 9), LogRange(4, 6), (3, EpochEndOffset(3, 4), EpochEndOffset(3, 6)), StartOver(0)),
        (LogRange(0, 9), LogRange(0, 6), (3, UNDEFINED_EPOCH_END, UNDEFINED_EPOCH_END), StartOver(0)),
        (LogRange(0, 3), LogRange(0, 6), (None, UNDEFINED_EPOCH_END, UNDEFINED_EPOCH_END), Truncate(3)),
        (LogRange(0, 3), LogRange(3, 6), (None, UNDEFINED_EPOCH_END, UNDEFINED_EPOCH_END), StartOver(0)),
        (LogRange(2, 9), LogRange(5, 5), (None, UNDEFINED_EPOCH_END, UNDEFINED_EPOCH_END), StartOver(2)),
    ],
)
def test_the_next_step_of_a_move(current, future, epochs, step):
    assert next_step(current, future, *epochs) == step
