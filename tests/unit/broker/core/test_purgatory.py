"""The purgatory: whatever happens in whatever order, each operation is completed exactly once."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from barnabas.broker.core.purgatory import DelayedOperation, DelayedOperationPurgatory
from barnabas.broker.core.timing_wheel import TimingWheel


class ManualTimer:
    """Timing wheels whose clock is moved by hand."""

    def __init__(self):
        self.wheel = TimingWheel(0)
        self.soon = []

    @property
    def now(self):
        return self.wheel.now_ms

    @property
    def size(self):
        return self.wheel.size

    def add(self, task, delay_ms):
        if not self.wheel.add(task, self.now + delay_ms):
            self.soon.append(task)

    def cancel(self, task):
        self.wheel.remove(task)

    def advance(self, by):
        for task in [*self.soon, *self.wheel.advance(self.now + by)]:
            task.run()
        self.soon.clear()


class Waits(DelayedOperation):
    """Satisfied when the sum of its counters has reached what it needs."""

    def __init__(self, counters, keys, needs, then=lambda: None):
        super().__init__()
        self.counters, self.keys, self.needs, self.then = counters, keys, needs, then
        self.completions = self.expirations = 0

    def is_satisfied(self):
        return sum(self.counters.get(key, 0) for key in self.keys) >= self.needs

    def on_complete(self):
        self.completions += 1
        self.then()

    def on_expiration(self):
        self.expirations += 1


def test_one_that_is_satisfied_never_waits():
    timer = ManualTimer()
    purgatory = DelayedOperationPurgatory("test", timer)
    operation = Waits({}, "a", 0)
    assert purgatory.try_complete_else_watch(operation, "a", 10)
    assert (operation.completions, purgatory.watched, purgatory.delayed, timer.size) == (1, 0, 0, 0)


def test_an_event_completes_what_it_satisfies_and_cancels_the_timer():
    counters, timer = {}, ManualTimer()
    purgatory = DelayedOperationPurgatory("test", timer)
    first, second = Waits(counters, "a", 1), Waits(counters, "a", 2)
    assert not purgatory.try_complete_else_watch(first, "a", 10)
    assert not purgatory.try_complete_else_watch(second, "a", 10)
    counters["a"] = 1
    assert purgatory.check_and_complete("a") == 1
    assert (first.completions, second.completions, purgatory.watched, purgatory.delayed) == (1, 0, 1, 1)
    timer.advance(10)
    assert (first.completions, first.expirations) == (1, 0)
    assert (second.completions, second.expirations) == (1, 1)
    assert purgatory.check_and_complete("a") == 0
    assert purgatory.watched == 0


def test_an_expiration_that_comes_after_the_completion_changes_nothing():
    """The timer collects the expired tasks of a bucket first; one of them may complete another."""
    timer = ManualTimer()
    purgatory = DelayedOperationPurgatory("test", timer)
    second = Waits({}, "a", 1)
    first = Waits({}, "a", 1, then=second.force_complete)
    purgatory.try_complete_else_watch(first, "a", 10)
    purgatory.try_complete_else_watch(second, "a", 10)
    timer.advance(10)
    assert (first.completions, first.expirations) == (1, 1)
    assert (second.completions, second.expirations) == (1, 0)


def test_completing_by_hand_counts_once():
    purgatory = DelayedOperationPurgatory("test", ManualTimer())
    operation = Waits({}, "a", 1)
    purgatory.try_complete_else_watch(operation, "a", 10)
    assert operation.force_complete()
    assert not operation.force_complete()
    assert not operation.try_complete()
    assert (operation.completions, purgatory.delayed) == (1, 0)


def test_a_completion_may_check_the_same_key_and_add_to_it():
    counters, timer = {"a": 0}, ManualTimer()
    purgatory = DelayedOperationPurgatory("test", timer)
    follower = Waits(counters, "a", 9)

    def again():
        counters["a"] = 5
        purgatory.check_and_complete("a")
        purgatory.try_complete_else_watch(follower, "a", 10)

    first, second = Waits(counters, "a", 1, then=again), Waits(counters, "a", 5)
    purgatory.try_complete_else_watch(second, "a", 10)
    purgatory.try_complete_else_watch(first, "a", 10)
    counters["a"] = 1
    purgatory.check_and_complete("a")
    assert (first.completions, second.completions, follower.completions) == (1, 1, 0)
    counters["a"] = 9
    assert purgatory.check_and_complete("a") == 1


def test_completed_ones_are_purged_from_keys_where_nothing_happens():
    counters, timer = {}, ManualTimer()
    purgatory = DelayedOperationPurgatory("test", timer, purge_interval=10)
    for _ in range(50):
        purgatory.try_complete_else_watch(Waits(counters, "ab", 1), "ab", 1000)
        counters["a"] = 1
        purgatory.check_and_complete("a")
        counters["a"] = 0
        assert purgatory.watched <= 12
    timer.advance(1000)


class PurgatoryMachine(RuleBasedStateMachine):
    """Operations on three keys, events, the clock and cancellations in any order."""

    def __init__(self):
        super().__init__()
        self.timer = ManualTimer()
        self.purgatory = DelayedOperationPurgatory("test", self.timer, purge_interval=3)
        self.counters = dict.fromkeys("abc", 0)
        self.operations = []

    @rule(
        keys=st.sets(st.sampled_from("abc"), min_size=1).map(sorted),
        more=st.integers(0, 4),
        delay=st.integers(1, 20),
    )
    def wait(self, keys, more, delay):
        operation = Waits(self.counters, keys, sum(self.counters[key] for key in keys) + more)
        operation.deadline = self.timer.now + delay
        done = self.purgatory.try_complete_else_watch(operation, keys, delay)
        assert done == (more == 0)
        self.operations.append(operation)

    @rule(key=st.sampled_from("abc"), by=st.integers(1, 3))
    def happen(self, key, by):
        self.counters[key] += by
        self.purgatory.check_and_complete(key)

    @rule(by=st.integers(1, 15))
    def pass_time(self, by):
        self.timer.advance(by)

    @rule(data=st.data())
    def complete_by_hand(self, data):
        waiting = [operation for operation in self.operations if not operation.is_completed]
        if waiting:
            data.draw(st.sampled_from(waiting)).force_complete()

    @invariant()
    def completed_exactly_once_and_as_soon_as_possible(self):
        for operation in self.operations:
            due = operation.is_satisfied() or operation.deadline <= self.timer.now
            assert operation.completions == operation.is_completed
            assert operation.is_completed >= due
            assert operation.expirations <= operation.completions

    @invariant()
    def only_the_open_ones_have_time_running(self):
        still_open = sum(not operation.is_completed for operation in self.operations)
        assert self.purgatory.delayed == still_open
        # At most the purge interval of completed ones linger, each under three keys at most.
        assert self.purgatory.watched <= 3 * (still_open + 3)


TestPurgatoryMachine = PurgatoryMachine.TestCase
TestPurgatoryMachine.settings = settings(max_examples=30, stateful_step_count=25)
