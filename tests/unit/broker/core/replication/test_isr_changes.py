"""When ISR changes are announced."""

from __future__ import annotations

from barnabas.broker.core.replication.isr_changes import LINGER_MS, MAX_DELAY_MS, IsrChanges
from barnabas.cluster.model.ids import TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("b", 1)


def test_nothing_is_due_without_changes():
    assert IsrChanges(0).take_due(10**9) == ()


def test_a_batch_waits_until_it_is_quiet():
    changes = IsrChanges(0)
    changes.add(A, 0)
    changes.add(B, 3000)
    changes.add(A, 4000)
    assert changes.take_due(4000 + LINGER_MS - 1) == ()
    assert len(changes) == 2
    assert changes.take_due(4000 + LINGER_MS) == (A, B)
    assert changes.take_due(10**9) == ()


def test_a_restless_batch_goes_out_all_the_same():
    changes = IsrChanges(0)
    for now in range(0, MAX_DELAY_MS, 1000):
        changes.add(A, now)
        assert changes.take_due(now) == ()
    changes.add(B, MAX_DELAY_MS)
    assert changes.take_due(MAX_DELAY_MS) == (A, B)


def test_what_could_not_be_announced_comes_first_the_next_time():
    changes = IsrChanges(0)
    changes.add(A, 0)
    due = changes.take_due(LINGER_MS)
    changes.add(B, LINGER_MS)
    changes.put_back(due)
    assert changes.take_due(3 * LINGER_MS) == (A, B)
