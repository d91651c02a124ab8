"""The timing wheels: whatever is added, removed and waited for, they do as a sorted list does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from barnabas.broker.core.timing_wheel import TimerTask, TimingWheel

LARGEST = 2**31 - 1
"""The longest timeout that a request can carry, in milliseconds."""


class Task(TimerTask):
    """A task with a name, for the sake of failing tests."""

    def __init__(self, name=""):
        super().__init__()
        self.name = name

    def __repr__(self):
        return f"Task({self.name})"

    def run(self):
        raise AssertionError("the wheels run nothing")


def test_a_task_expires_at_its_time_and_not_before():
    wheel, task = TimingWheel(1000), Task()
    assert wheel.add(task, 1005)
    assert (wheel.size, wheel.advance(1004), wheel.size) == (1, [], 1)
    assert (wheel.advance(1005), wheel.size) == ([task], 0)
    assert wheel.advance(9999) == []


@pytest.mark.parametrize("expires", [999, 1000, 0, -5])
def test_a_time_that_has_passed_is_refused(expires):
    wheel = TimingWheel(1000)
    assert not wheel.add(Task(), expires)
    assert wheel.size == 0


def test_a_removed_task_does_not_expire_and_may_be_added_again():
    wheel, task = TimingWheel(0), Task()
    wheel.add(task, 100)
    wheel.remove(task)
    wheel.remove(task)
    assert (wheel.size, wheel.next_ms(), wheel.advance(100)) == (0, None, [])
    wheel.add(task, 200)
    assert wheel.advance(200) == [task]
    wheel.remove(task)
    assert wheel.size == 0


@given(st.integers(0, 2**45), st.lists(st.integers(1, LARGEST), min_size=1, max_size=20))
def test_going_from_bucket_to_bucket_meets_every_task_at_its_own_time(now, delays):
    wheel = TimingWheel(now)
    due = {}
    for delay in delays:
        task = Task(delay)
        due[task] = now + delay
        wheel.add(task, due[task])
    steps = 0
    while (at := wheel.next_ms()) is not None:
        for task in wheel.advance(at):
            assert due.pop(task) == at
        steps += 1
    assert not due
    # Each falls through a wheel for every six bits of its time at most.
    assert steps <= 8 * len(delays)


class WheelMachine(RuleBasedStateMachine):
    """The wheels beside a plain list that is searched and sorted each time."""

    def __init__(self):
        super().__init__()
        self.now = 123_456_789
        self.wheel = TimingWheel(self.now)
        self.pending = []  # (expires, number, task), in the order of adding

    @rule(delay=st.one_of(st.integers(1, 200), st.integers(1, 100_000), st.integers(1, LARGEST)))
    def add(self, delay):
        task = Task(delay)
        assert self.wheel.add(task, self.now + delay)
        self.pending.append((self.now + delay, len(self.pending), task))

    @rule(data=st.data())
    def remove(self, data):
        if self.pending:
            gone = data.draw(st.sampled_from(self.pending))
            self.pending.remove(gone)
            self.wheel.remove(gone[2])

    @rule(by=st.one_of(st.integers(0, 100), st.integers(0, 100_000), st.integers(0, LARGEST)))
    def advance(self, by):
        self.now += by
        expired = self.wheel.advance(self.now)
        due = [entry for entry in self.pending if entry[0] <= self.now]
        self.pending = [entry for entry in self.pending if entry[0] > self.now]
        assert set(expired) == {task for _, _, task in due}
        at = {task: expires for expires, _, task in due}
        assert [at[task] for task in expired] == sorted(at.values())

    @invariant()
    def they_agree(self):
        assert self.wheel.size == len(self.pending)
        assert self.wheel.now_ms == self.now
        next_ms = self.wheel.next_ms()
        assert (next_ms is None) == (not self.pending)
        if self.pending:
            assert self.now < next_ms <= min(expires for expires, _, _ in self.pending)


TestWheelMachine = WheelMachine.TestCase
TestWheelMachine.settings = settings(stateful_step_count=30)
