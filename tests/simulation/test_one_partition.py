"""One partition, three replicas, any order of events; and the orders that are rarely drawn, told by hand."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test


@pytest.fixture
def partition(one_partition):
    """A partition led by 1; only members of the ISR are elected."""
    partition = one_partition.CleanPartition()
    partition.everyone_hears()
    return partition


def check(partition):
    partition.acknowledged_records_are_on_every_in_sync_replica()
    partition.logs_agree_below_every_high_watermark()
    partition.heal(0)
    partition.acknowledged_records_are_on_every_in_sync_replica()


def elect(partition, leader):
    """Have the controller elect ``leader``, out of the ISR's live members."""
    members = partition.register.leader_and_isr.isr
    live = [member for member in members if partition.brokers[member].alive]
    partition.elect(live.index(leader))


def test_nothing_acknowledged_is_lost_in_clean_elections(one_partition):
    run_state_machine_as_test(
        one_partition.CleanPartition,
        settings=settings(stateful_step_count=50),
    )


def test_logs_agree_in_the_end_whoever_is_elected(one_partition):
    """KAFKA-6361 (KIP-279): a third leader in a row left logs apart for ever; also KIP-101."""
    run_state_machine_as_test(
        one_partition.UncleanPartition,
        settings=settings(stateful_step_count=50),
    )


def test_a_leader_that_missed_a_leader_epoch_commits_nothing_by_old_fetch_offsets(partition):
    """3 has more of leader 1 than 2 has, and loses it to 2, whose controller epoch 1 never sees."""
    partition.produce()
    partition.fetch(3, 1)
    partition.fetch(3, 1)
    elect(partition, 2)
    partition.hear(2)
    partition.hear(3)
    partition.fetch(3, 1)
    partition.crash_or_restart(2, checkpointed=False)
    elect(partition, 1)
    partition.hear(1)
    check(partition)


def test_a_newcomer_holds_the_high_watermark_before_its_isr_is_known_to_be_written(partition):
    """3 rejoins, the answer of the write is lost, and 3 is elected: it must have what 1 acknowledged."""
    partition.one_falls_behind(3)
    partition.fetch(3, 3)
    partition.fetch(3, 3)
    assert partition.brokers[1].replica.pending is not None
    partition.write_isrs(answer_is_lost=True)
    partition.now += 100
    partition.produce()
    for _ in range(2):
        partition.fetch(2, 3)
    leader = partition.brokers[1]
    assert leader.replica.high_watermark < leader.end
    elect(partition, 3)
    partition.everyone_hears()
    check(partition)


def test_a_follower_that_reached_an_old_high_watermark_alone_stays_out(partition):
    """KAFKA-7128: 2 leads and does not know what 1 acknowledged; 3 has as much as 2 knows of, no more."""
    partition.one_falls_behind(3)
    partition.crash_or_restart(2, checkpointed=False)
    partition.crash_or_restart(2, checkpointed=False)
    elect(partition, 2)
    partition.hear(2)
    partition.hear(3)
    assert partition.brokers[2].replica.high_watermark < partition.brokers[2].end
    partition.fetch(3, 0)
    partition.write_isrs(answer_is_lost=False)
    assert 3 not in partition.register.leader_and_isr.isr
    partition.crash_or_restart(1, checkpointed=False)
    partition.crash_or_restart(2, checkpointed=False)
    check(partition)
