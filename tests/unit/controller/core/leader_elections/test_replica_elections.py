from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barnabas.cluster.model.commands.elections import ElectionType, ElectLeaders
from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, PartitionState
from barnabas.controller.core.context.machines import PartitionMachineState
from barnabas.controller.core.decide import recover
from barnabas.controller.core.leader_elections.effects import (
    CancelLeaderRebalance,
    DeletePreferredReplicaElection,
    ScheduleLeaderRebalance,
)
from barnabas.controller.core.leader_elections.replica_elections import FIRST_REBALANCE_S
from barnabas.controller.core.partitions.effects import StatesWritten, WritePartitionStates
from barnabas.controller.core.protocol.effects import (
    Interruption,
    Reply,
    SendLeaderAndIsr,
    SendUpdateMetadata,
)
from barnabas.controller.core.protocol.inputs import (
    AutoPreferredReplicaLeaderElection,
    BrokerChange,
    CommandReceived,
    ControllerChange,
    ReplicaLeaderElection,
    Startup,
    TopicChange,
    TopicUncleanLeaderElectionEnable,
    UncleanLeaderElectionEnable,
)

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
E = ErrorCode
PREFERRED, UNCLEAN, DAMAGED_LEADER = ElectionType
AUTO = AutoPreferredReplicaLeaderElection()


def elect(world, kind, *tps, damaged=-1):
    """The error and leader of each partition, as the caller hears them."""
    request = CommandReceived(7, ElectLeaders(kind, tps, damaged))
    (reply,) = world.sent(Reply, world.run(request))
    assert reply.token == 7
    assert list(reply.result.elections) == list(dict.fromkeys(tps))
    return {tp: (each.error, each.leader) for tp, each in reply.result.elections.items()}


def led_by_others(make_world, **facts):
    """Partitions t-0 and t-1 prefer broker 2, which was away and is back and in sync; broker 3 leads them."""
    world = make_world(**facts)
    world.write_topic("t", (2, 3, 1), (2, 3, 1))
    world.run(TopicChange())
    world.remove(2)
    world.run(BrokerChange())
    world.register(2)
    world.run(BrokerChange())
    for tp in (T0, T1):
        world.write_state(tp, 3, (3, 1, 2), 2)
        world.context.leaderships[tp] = world.states[tp]
    world.effects.clear()
    world.questions.clear()
    return world


def without_isr(make_world, **facts):
    """The ISR of t-0 and of u-0 is broker 2, which is dead; broker 3 lives and is out of sync."""
    world = make_world(**facts)
    world.write_topic("t", (2, 3))
    world.write_topic("u", (2, 3))
    world.run(TopicChange())
    for tp in (T0, U0):
        world.write_state(tp, 2, (2,), 1)
        world.context.leaderships[tp] = world.states[tp]
    world.remove(2)
    world.run(BrokerChange())
    assert {world.leadership(tp).leader for tp in (T0, U0)} == {-1}
    world.effects.clear()
    return world


# By request


def test_the_preferred_replica_is_elected_and_sent_to_all_brokers(make_world):
    world = led_by_others(make_world)
    assert elect(world, PREFERRED, T0) == {T0: (E.NONE, 2)}
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (2, (3, 1, 2))
    assert world.leadership(T1).leader == 3
    assert sorted(e.broker_id for e in world.sent(SendLeaderAndIsr)) == [1, 2, 3]
    assert (
        "leader election (PREFERRED) triggered by AdminClientTriggered for partitions t-0" in world.reasons()
    )


def test_each_partition_has_its_own_answer(make_world):
    world = led_by_others(make_world)
    world.write_topic("u", (2, 1))
    world.write_topic("v", (1, 2))
    world.run(TopicChange())
    world.context.topics_to_delete.add("u")
    unknown, v0 = TopicPartition("nowhere", 0), TopicPartition("v", 0)
    beyond = TopicPartition("t", 2)
    assert elect(world, PREFERRED, v0, T1, U0, unknown, beyond) == {
        v0: (E.ELECTION_NOT_NEEDED, -1),
        T1: (E.NONE, 2),
        U0: (E.INVALID_TOPIC_EXCEPTION, -1),
        unknown: (E.UNKNOWN_TOPIC_OR_PARTITION, -1),
        beyond: (E.UNKNOWN_TOPIC_OR_PARTITION, -1),
    }


@pytest.mark.parametrize("isr", [(3, 1), (3,)])
def test_a_preferred_replica_that_is_not_in_sync_is_not_available(make_world, isr):
    world = led_by_others(make_world)
    world.write_state(T0, 3, isr, 5)
    world.context.leaderships[T0] = world.states[T0]
    request = CommandReceived(1, ElectLeaders(PREFERRED, (T0,)))
    (reply,) = world.sent(Reply, world.run(request))
    result = reply.result.elections[T0]
    assert result.error is E.PREFERRED_LEADER_NOT_AVAILABLE
    assert result.message == (
        "Failed to elect leader for partition t-0 under strategy "
        "PreferredReplicaPartitionLeaderElectionStrategy"
    )
    assert world.context.partition_states[T0] is PartitionMachineState.ONLINE
    assert world.leadership(T0).leader_epoch == 5


def test_an_isr_that_grew_unheard_counts(make_world):
    """What the controller remembers may be older than ZooKeeper: a refusal is checked there first."""
    world = led_by_others(make_world)
    stale = world.leadership(T0)
    world.write_state(T0, 3, (3, 1), 2)
    world.context.leaderships[T0] = world.states[T0]
    world.write_state(T0, 3, stale.isr, 2)
    assert elect(world, PREFERRED, T0) == {T0: (E.NONE, 2)}


def test_an_unclean_election_takes_any_live_replica(make_world):
    world = without_isr(make_world)
    assert elect(world, UNCLEAN, T0, U0) == {T0: (E.NONE, 3), U0: (E.NONE, 3)}
    assert world.leadership(T0).isr == (3,)
    assert any("uncleanly" in reason for reason in world.reasons())


def test_an_unclean_election_is_needed_only_without_a_live_leader(make_world):
    world = led_by_others(make_world)
    assert elect(world, UNCLEAN, T0) == {T0: (E.ELECTION_NOT_NEEDED, -1)}
    world.context.shutting_down.add(BrokerId(3))
    assert elect(world, UNCLEAN, T0) == {T0: (E.NONE, 2)}
    assert not any("uncleanly" in reason for reason in world.reasons())


def test_another_isr_member_leads_in_the_place_of_one_whose_log_is_damaged(make_world):
    world = led_by_others(make_world)
    assert elect(world, DAMAGED_LEADER, T0, damaged=3) == {T0: (E.NONE, 2)}
    assert world.leadership(T0).isr == (3, 1, 2)
    assert elect(world, DAMAGED_LEADER, T0, T1, damaged=2) == {
        T0: (E.NONE, 3),
        T1: (E.ELECTION_NOT_NEEDED, -1),
    }


def test_a_damaged_leader_that_is_alone_in_sync_leads_on(make_world):
    world = led_by_others(make_world)
    world.write_state(T0, 3, (3,), 3)
    world.context.leaderships[T0] = world.states[T0]
    assert elect(world, DAMAGED_LEADER, T0, damaged=3) == {T0: (E.ELIGIBLE_LEADERS_NOT_AVAILABLE, -1)}
    assert world.leadership(T0).leader == 3


def test_where_nobody_lives_nobody_is_eligible(make_world):
    world = without_isr(make_world)
    world.remove(3)
    world.run(BrokerChange())
    assert elect(world, UNCLEAN, T0) == {T0: (E.ELIGIBLE_LEADERS_NOT_AVAILABLE, -1)}


def test_a_partition_that_was_never_led_is_led_then(make_world):
    world = make_world(1, 2)
    world.write_topic("t", (3,))
    world.run(TopicChange())
    assert elect(world, PREFERRED, T0) == {T0: (E.PREFERRED_LEADER_NOT_AVAILABLE, -1)}
    world.register(3)
    world.context.brokers[BrokerId(3)] = world.brokers[BrokerId(3)]
    assert elect(world, PREFERRED, T0) == {T0: (E.NONE, 3)}


def test_a_failure_of_zookeeper_is_no_matter_of_leaders(make_world):
    world = led_by_others(make_world)
    answer = world.answer
    world.answer = lambda q: (
        StatesWritten({}, failures={T0: "org.apache.zookeeper.KeeperException$NoAuth: no"})
        if isinstance(q, WritePartitionStates)
        else answer(q)
    )
    assert elect(world, PREFERRED, T0) == {T0: (E.UNKNOWN_SERVER_ERROR, -1)}


def test_a_later_controllers_state_is_left_alone(make_world):
    """KAFKA-6082: what a successor has written is not overwritten."""
    world = led_by_others(make_world)
    world.states[T0] = PartitionState(world.leadership(T0), ControllerEpoch(9))
    world.meanwhile[T0] = world.leadership(T0)
    assert elect(world, PREFERRED, T0) == {T0: (E.PREFERRED_LEADER_NOT_AVAILABLE, -1)}
    assert world.leadership(T0).leader == 3


def test_who_is_not_the_controller_says_so(make_world):
    world = make_world(active=False)
    request = CommandReceived(7, ElectLeaders(PREFERRED, (T0,)))
    (reply,) = world.sent(Reply, world.run(request))
    assert reply.result.error is E.NOT_CONTROLLER


# By znode


def test_the_znode_is_done_and_deleted_then_watched_again(make_world):
    world = led_by_others(make_world)
    world.preferred_election = (T0, TopicPartition("nowhere", 0))
    world.run(ReplicaLeaderElection())
    assert (world.leadership(T0).leader, world.leadership(T1).leader) == (2, 3)
    assert world.preferred_election is None
    kinds = [type(question).__name__ for question in world.questions]
    assert kinds[-2:] == ["DeletePreferredReplicaElection", "ReadPreferredReplicaElection"]
    assert "preferred replicas lead partitions t-0; they could not be elected for partitions nowhere-0" in (
        world.reasons()
    )


def test_without_a_znode_there_is_nothing_to_delete(make_world):
    world = led_by_others(make_world)
    world.run(ReplicaLeaderElection())
    assert not world.sent(DeletePreferredReplicaElection, world.questions)


def test_what_the_last_controller_left_is_done_at_failover(make_world):
    world = led_by_others(make_world)
    world.settle()
    world.run(ControllerChange())
    world.preferred_election = (T1,)
    world.controller, world.owns_controller = BrokerId(-1), False
    world.run(ControllerChange(), ControllerChange())
    assert world.context.is_active
    assert world.leadership(T1).leader == 2
    assert world.preferred_election is None


def test_a_controller_that_has_moved_leaves_the_znode_to_its_successor(make_world):
    world = led_by_others(make_world)
    world.preferred_election = (T0,)
    world.interruptions[WritePartitionStates] = Interruption.CONTROLLER_MOVED
    world.epoch, world.controller, world.owns_controller = 9, BrokerId(3), False
    world.run(ReplicaLeaderElection())
    assert world.preferred_election == (T0,)
    assert not world.context.is_active


# By the clock


def test_the_leaders_come_home_by_themselves(make_world):
    world = led_by_others(make_world, leader_imbalance_check_interval_s=60)
    world.run(AUTO)
    assert (world.leadership(T0).leader, world.leadership(T1).leader) == (2, 2)
    assert world.effects[-1] == ScheduleLeaderRebalance(60)
    assert world.reasons()[0] == (
        "others lead 2 of the 2 partitions that broker 2 should lead, more than 10 %: "
        "it is elected again for 2 of them"
    )
    # One round of requests for each broker whose leaders came home.
    assert len(world.sent(SendUpdateMetadata)) == 1


def test_a_balance_within_the_percentage_is_left_alone(make_world):
    world = led_by_others(make_world, leader_imbalance_percentage=100)
    world.run(AUTO)
    assert world.leadership(T0).leader == 3
    assert [type(effect) for effect in world.effects] == [ScheduleLeaderRebalance]


def test_nothing_is_balanced_while_anything_is_reassigned(make_world):
    world = led_by_others(make_world)
    world.write_topic("u", (1, 3))
    world.run(TopicChange())
    moving = Assignment((BrokerId(1), BrokerId(3)), adding=(BrokerId(3),))
    world.context.assign(U0, moving)
    world.run(AUTO)
    assert world.leadership(T0).leader == 3
    world.context.assign(U0, Assignment((BrokerId(1), BrokerId(3))))
    world.run(AUTO)
    assert world.leadership(T0).leader == 2


def test_topics_that_are_being_deleted_are_not_balanced(make_world):
    world = led_by_others(make_world)
    world.context.topics_to_delete.add("t")
    world.run(AUTO)
    assert world.leadership(T0).leader == 3


def test_the_first_look_comes_soon_after_the_failover_and_none_after_the_resignation(make_world):
    world = make_world(active=False)
    yielded = world.run(Startup())
    assert world.sent(ScheduleLeaderRebalance, yielded) == [ScheduleLeaderRebalance(FIRST_REBALANCE_S)]
    world.controller, world.owns_controller, world.epoch = BrokerId(3), False, 2
    yielded = world.run(ControllerChange())
    assert world.sent(CancelLeaderRebalance, yielded)
    assert not world.sent(ScheduleLeaderRebalance, world.run(AUTO))


def test_who_does_not_want_it_is_never_reminded(make_world):
    world = make_world(active=False, auto_leader_rebalance=False)
    assert not world.sent(ScheduleLeaderRebalance, world.run(Startup()))


def test_a_look_that_fails_is_not_the_last(make_world):
    world = led_by_others(make_world)
    world.drive(recover(world.context, AUTO, "a bug"))
    assert world.effects == [ScheduleLeaderRebalance(300)]


# By a changed setting


@pytest.mark.parametrize("shadow", [{}, {"u": {"unclean.leader.election.enable": "true"}}])
def test_a_topic_that_allows_it_now_is_led_again_and_no_other(make_world, shadow):
    world = without_isr(make_world)
    world.configs = shadow | {"t": {"unclean.leader.election.enable": "true"}}
    world.run(TopicUncleanLeaderElectionEnable("t"))
    assert world.leadership(T0).leader == 3
    assert world.leadership(U0).leader == -1


def test_a_broker_that_allows_it_now_leads_all_but_the_topics_that_forbid_it(make_world):
    world = without_isr(make_world)
    world.configs["u"] = {"unclean.leader.election.enable": "false"}
    world.run(UncleanLeaderElectionEnable(enabled=False))
    assert world.leadership(T0).leader == -1
    world.run(UncleanLeaderElectionEnable(enabled=True))
    assert world.leadership(T0).leader == 3
    assert world.leadership(U0).leader == -1


def test_a_broker_remembers_the_setting_for_the_day_when_it_is_the_controller(make_world):
    world = make_world(active=False)
    assert world.run(UncleanLeaderElectionEnable(enabled=True)) == []
    world.write_topic("t", (2, 3))
    world.write_state(T0, 2, (2,))
    world.remove(2)
    world.run(Startup())
    assert world.leadership(T0).leader == 3


# Against a slow twin

clusters = st.lists(
    st.tuples(
        st.permutations([1, 2, 3]).flatmap(lambda o: st.integers(1, 3).map(lambda n: tuple(o[:n]))),
        st.sets(st.sampled_from([1, 2, 3])),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=5,
)


@given(
    cluster=clusters,
    dead=st.sets(st.sampled_from([2, 3])),
    kind=st.sampled_from((PREFERRED, UNCLEAN)),
    asked=st.sets(st.integers(0, 6)),
)
# The fixture is a factory: each example has a world of its own.
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_on_request_against_a_slow_twin(make_world, cluster, dead, kind, asked):
    world = make_world(active=False)
    world.write_topic("t", *(replicas for replicas, _, _ in cluster))
    for number, (replicas, synced, pick) in enumerate(cluster):
        isr = tuple(r for r in replicas if r in synced) or replicas[:1]
        world.write_state(TopicPartition("t", number), isr[pick % len(isr)], isr, 1)
    world.remove(*dead)
    world.run(Startup())
    before = {tp: state.leader_and_isr for tp, state in world.states.items()}
    tps = [TopicPartition("t", number) for number in sorted(asked)]
    answers = elect(world, kind, *tps)
    for tp in tps:
        assert answers[tp] == twin(world, before.get(tp), kind, tp, {1, 2, 3} - dead)
        error, leader = answers[tp]
        if error is E.NONE:
            assert world.leadership(tp).leader == leader
            assert world.leadership(tp).leader_epoch == before[tp].leader_epoch + 1
        elif tp in before:
            assert world.leadership(tp) == before[tp]


def twin(world, known, kind, tp, live):
    if known is None:
        return E.UNKNOWN_TOPIC_OR_PARTITION, -1
    replicas = world.topics["t"][tp.partition].replicas
    if kind is PREFERRED:
        if known.leader == replicas[0]:
            return E.ELECTION_NOT_NEEDED, -1
        if replicas[0] in live and replicas[0] in known.isr:
            return E.NONE, replicas[0]
        return E.PREFERRED_LEADER_NOT_AVAILABLE, -1
    if known.leader in live:
        return E.ELECTION_NOT_NEEDED, -1
    for replica in [r for r in replicas if r in known.isr] + list(replicas):
        if replica in live:
            return E.NONE, replica
    return E.ELIGIBLE_LEADERS_NOT_AVAILABLE, -1
