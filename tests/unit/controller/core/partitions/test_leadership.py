from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.epochs import ControllerEpoch, LeaderEpoch, PartitionVersion
from barnabas.cluster.model.ids import NO_LEADER, BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr, PartitionState
from barnabas.controller.core.partitions.effects import (
    ReadPartitionStates,
    ReadTopicConfigs,
    WritePartitionStates,
)
from barnabas.controller.core.partitions.elections import OfflineElection, OtherElection
from barnabas.controller.core.partitions.leadership import elect_leaders, remove_from_isr, without
from barnabas.controller.core.protocol.inputs import TopicChange

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def with_topic(make_world, *replicas, **facts):
    world = make_world(**facts)
    world.write_topic("t", *(replicas or ((2, 3, 1), (3, 2, 1))))
    world.run(TopicChange())
    world.effects.clear()
    world.questions.clear()
    return world


def kill(world, *numbers):
    """Have brokers vanish without the controller's deciding about it yet."""
    for number in numbers:
        world.remove(number)
        del world.context.brokers[number]


def asked(world, kind):
    return len(world.sent(kind, world.questions))


def test_an_election_from_memory_needs_one_write_and_no_read(make_world):
    world = with_topic(make_world)
    kill(world, 2)
    result = world.drive(elect_leaders(world.context, [T0], OfflineElection()))
    assert list(result.elected) == [T0]
    assert world.leadership(T0).leader == 3
    assert world.context.leaderships[T0] == world.states[T0]
    assert [type(question) for question in world.questions] == [WritePartitionStates]


def test_a_leader_that_wrote_meanwhile_is_read_again_and_not_undone(make_world):
    world = with_topic(make_world)
    kill(world, 2)
    world.meanwhile[T0] = LeaderAndIsr(BrokerId(2), LeaderEpoch(0), (BrokerId(2), BrokerId(1)))
    world.drive(elect_leaders(world.context, [T0, T1], OfflineElection()))
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (1, (1,))
    assert asked(world, WritePartitionStates) == 2
    assert asked(world, ReadPartitionStates) == 1
    assert world.leadership(T1).leader == 3
    assert "changed meanwhile by their leaders, read again: t-0" in world.reasons()


def test_an_isr_that_grew_unheard_saves_the_partition(make_world):
    """Nobody known to be in sync lives; ZooKeeper knows somebody who is."""
    world = with_topic(make_world, (2, 3))
    world.write_state(T0, 2, (2,))
    world.context.leaderships[T0] = world.states[T0]
    world.write_state(T0, 2, (2, 3))
    kill(world, 2)
    world.drive(elect_leaders(world.context, [T0], OfflineElection()))
    assert world.leadership(T0).leader == 3


def test_a_failure_is_final_only_after_a_read(make_world):
    world = with_topic(make_world, (2,))
    kill(world, 2)
    before = world.states[T0]
    result = world.drive(elect_leaders(world.context, [T0], OfflineElection()))
    assert asked(world, ReadPartitionStates) == 1
    assert result.failed[T0].startswith("kafka.common.StateChangeFailedException: Failed to elect leader")
    assert world.states[T0] == before
    assert world.reasons() == [
        "t-0: no leader by OfflinePartitionLeaderElectionStrategy(false), because no assigned replica is live"
    ]


@pytest.mark.parametrize(
    ("broker_wide", "override", "elected"),
    [
        (False, None, False),
        (True, None, True),
        (True, "false", False),
        (False, "true", True),
        (False, " TRUE ", True),
    ],
)
def test_unclean_is_allowed_by_the_topic_else_by_the_broker(make_world, broker_wide, override, elected):
    world = with_topic(make_world, (2, 3), unclean_leader_election=broker_wide)
    world.write_state(T0, 2, (2,))
    world.configs["t"] = {} if override is None else {"unclean.leader.election.enable": override}
    kill(world, 2)
    world.drive(elect_leaders(world.context, [T0], OfflineElection()))
    assert (world.leadership(T0).leader == 3) is elected
    if elected:
        assert world.leadership(T0).isr == (3,)
        assert any("uncleanly" in reason for reason in world.reasons())


def test_settings_are_read_only_where_they_matter(make_world):
    world = with_topic(make_world)
    kill(world, 2)
    world.drive(elect_leaders(world.context, [T0], OfflineElection()))
    assert asked(world, ReadTopicConfigs) == 0


def test_unreadable_settings_allow_nothing(make_world):
    world = with_topic(make_world, (2, 3), unclean_leader_election=True)
    world.write_state(T0, 2, (2,))
    kill(world, 2)
    answer = world.answer
    world.answer = lambda q: {} if isinstance(q, ReadTopicConfigs) else answer(q)
    result = world.drive(elect_leaders(world.context, [T0], OfflineElection()))
    assert T0 in result.failed


def test_an_unclean_election_on_request_asks_for_no_setting(make_world):
    world = with_topic(make_world, (2, 3))
    world.write_state(T0, 2, (2,))
    world.context.leaderships[T0] = world.states[T0]
    kill(world, 2)
    world.drive(elect_leaders(world.context, [T0], OfflineElection(allow_unclean=True)))
    assert world.leadership(T0).leader == 3
    assert asked(world, ReadTopicConfigs) == 0


def test_a_partition_without_state_fails(make_world):
    world = with_topic(make_world)
    del world.states[T0], world.context.leaderships[T0]
    result = world.drive(elect_leaders(world.context, [T0], OfflineElection()))
    assert "LeaderAndIsr information doesn't exist for partition t-0" in result.failed[T0]


def test_a_state_that_vanishes_under_the_write_fails(make_world):
    world = with_topic(make_world)
    kill(world, 2)
    del world.states[T0]
    result = world.drive(elect_leaders(world.context, [T0], OfflineElection()))
    assert result.failed[T0] == "NoNode"


def test_a_state_of_a_later_controller_epoch_is_never_overwritten(make_world):
    world = with_topic(make_world)
    kill(world, 2)
    later = world.leadership(T0).written_as(PartitionVersion(9))
    world.states[T0] = PartitionState(later, ControllerEpoch(5))
    result = world.drive(elect_leaders(world.context, [T0], OfflineElection()))
    assert "another controller was elected with epoch 5" in result.failed[T0]
    assert world.states[T0].controller_epoch == 5


def test_the_other_strategies_use_the_same_way(make_world):
    world = with_topic(make_world, (2, 3, 1))
    world.write_state(T0, 3, (1, 2, 3), 4)
    world.context.leaderships[T0] = world.states[T0]
    world.drive(elect_leaders(world.context, [T0], OtherElection.PREFERRED))
    assert (world.leadership(T0).leader, world.leadership(T0).leader_epoch) == (2, 5)
    world.context.shutting_down.add(BrokerId(2))
    result = world.drive(elect_leaders(world.context, [T0], OtherElection.CONTROLLED_SHUTDOWN))
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (3, (1, 3))
    assert result.elected[T0].recipients == (2, 3, 1)
    world.drive(elect_leaders(world.context, [T0], OtherElection.REASSIGN))
    assert world.leadership(T0).leader_epoch == 7


def test_leaving_the_isr_raises_the_epoch_and_leaves_the_lead(make_world):
    world = with_topic(make_world)
    states, failed = world.drive(remove_from_isr(world.context, BrokerId(2), [T0, T1]))
    assert failed == {}
    assert (states[T0].leader_and_isr.leader, states[T0].leader_and_isr.isr) == (NO_LEADER, (3, 1))
    assert (states[T1].leader_and_isr.leader, states[T1].leader_and_isr.isr) == (3, (3, 1))
    assert states[T1].leader_and_isr.leader_epoch == 1


def test_who_is_not_in_the_isr_changes_nothing(make_world):
    world = with_topic(make_world)
    world.write_state(T0, 3, (3, 1))
    world.context.leaderships[T0] = world.states[T0]
    states, _ = world.drive(remove_from_isr(world.context, BrokerId(2), [T0]))
    assert states[T0] == world.states[T0]
    assert asked(world, WritePartitionStates) == 0


def test_a_replica_that_joined_the_isr_unheard_leaves_it_all_the_same(make_world):
    world = with_topic(make_world)
    world.write_state(T0, 3, (3, 1))
    world.context.leaderships[T0] = world.states[T0]
    world.write_state(T0, 3, (3, 1, 2))
    world.drive(remove_from_isr(world.context, BrokerId(2), [T0]))
    assert world.leadership(T0).isr == (3, 1)


def test_an_isr_of_a_partition_without_state(make_world):
    world = with_topic(make_world)
    del world.states[T0], world.context.leaderships[T0]
    states, failed = world.drive(remove_from_isr(world.context, BrokerId(2), [T0]))
    assert states == {}
    assert "since the leader and isr path in zookeeper is empty" in failed[T0]


replicas = st.permutations([BrokerId(n) for n in (1, 2, 3)]).flatmap(
    lambda order: st.integers(1, 3).map(lambda size: tuple(order[:size]))
)


@given(replicas, st.sampled_from([1, 2, 3]), st.integers(0, 5))
def test_without_against_its_slow_twin(isr, who, epoch):
    for leader in (*isr, NO_LEADER):
        known = LeaderAndIsr(leader, LeaderEpoch(epoch), isr, PartitionVersion(3))
        left = without(known, BrokerId(who))
        rest = [member for member in isr if member != who]
        assert left.isr == (tuple(rest) if rest else isr)
        assert left.leader == (NO_LEADER if leader == who else leader)
        assert (left.leader_epoch, left.version) == (epoch + 1, 3)
