"""Followers of compacted logs: the gaps that compaction leaves stop none, whatever the policy is by then."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test


def test_last_values_survive_and_replicas_catch_up_over_gaps(compacted_logs):
    run_state_machine_as_test(
        compacted_logs.CompactedLogs,
        settings=settings(
            max_examples=10,
            stateful_step_count=50,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )


@pytest.fixture
def machine(compacted_logs):
    machine = compacted_logs.CompactedLogs()
    machine.begin()
    yield machine
    machine.teardown()  # which demands that all replicas are in sync again, with everything acknowledged


@pytest.fixture
def compacted(machine):
    """Broker 3 is away while 1 and 2 get forty records; the leader is compacted."""
    machine.stop_or_start(3, clean=True, checkpointed=True)
    for _ in range(40):
        machine.produce()
        machine.fetch(2, 10_000)
        machine.look_for_laggards()
        machine.write_isrs(answer_is_lost=False)
    machine.clean(1)
    assert len(machine.held(machine.nodes[1])) < 20
    assert len(machine.held(machine.nodes[2])) == 40
    return machine


def catches_up(machine, broker_id):
    machine.run(machine.nodes[broker_id].start)
    machine.everyone_hears()
    for _ in range(5):
        machine.fetch(broker_id, 10_000)
    return machine.nodes[broker_id].partition.log.log_end_offset == 40


def test_a_follower_catches_up_after_the_topic_was_altered_to_delete(compacted):
    compacted.alter("delete")
    assert catches_up(compacted, 3)


def test_a_leader_that_was_started_again_still_says_where_its_gaps_are(compacted):
    compacted.alter("delete")
    compacted.stop_or_start(1, clean=True, checkpointed=True)
    compacted.run(compacted.nodes[1].start)
    assert catches_up(compacted, 3)


@pytest.mark.parametrize("clean", [True, False])
def test_a_follower_that_copied_gaps_leads_with_them(compacted, clean):
    """Its own cleaner never ran; the topic is altered, it starts again and leads a follower without a log."""
    assert catches_up(compacted, 3)
    compacted.write_isrs(answer_is_lost=False)
    compacted.alter("delete")
    compacted.stop_or_start(3, clean=clean, checkpointed=True)
    compacted.run(compacted.nodes[3].start)
    compacted.write(compacted.register.leader_and_isr.new_leader(3, (3,)))
    compacted.everyone_hears()
    compacted.run(compacted.nodes[2].partition.log.truncate_fully_and_start_at, 0)
    compacted.everyone_hears()
    for _ in range(5):
        compacted.fetch(2, 10_000)
    assert compacted.nodes[2].partition.log.log_end_offset == 40


def test_a_cleaning_that_the_new_policy_ended_half_way_leaves_gaps_that_count(machine):
    machine.stop_or_start(3, clean=True, checkpointed=True)
    for _ in range(40):
        machine.produce()
        machine.fetch(2, 10_000)
        machine.look_for_laggards()
        machine.write_isrs(answer_is_lost=False)
    machine.clean_up_to(1, swaps=1)
    assert 20 < len(machine.held(machine.nodes[1])) < 40
    machine.stop_or_start(1, clean=True, checkpointed=True)
    machine.run(machine.nodes[1].start)
    assert catches_up(machine, 3)
