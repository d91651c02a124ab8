from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.shutdown import ControlledShutdown, ControlledShutdownResult
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.requests import LeaderAndIsrResponse
from barnabas.controller.core.context.controller_context import ControllerContext, Facts
from barnabas.controller.core.protocol.effects import (
    NO_CONTROLLER,
    Reply,
    SendLeaderAndIsr,
    SendStopReplica,
)
from barnabas.controller.core.protocol.inputs import (
    BrokerChange,
    CommandReceived,
    LeaderAndIsrResponseReceived,
    Startup,
    TopicChange,
)

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
TOKEN = 7


def ask(world, broker=2, *, epoch=None):
    """Have ``broker`` ask for its controlled shutdown; the answer, and the effects."""
    life = world.epoch_of(broker) if epoch is None else BrokerEpoch(epoch)
    command = ControlledShutdown(BrokerId(broker), life)
    done = world.run(CommandReceived(TOKEN, command))
    (reply,) = world.sent(Reply, done)
    assert reply.token == TOKEN
    return reply.result, done


def created_world(make_world, *replicas, **facts):
    """A world with a topic whose replicas have not answered yet: their logs may be absent."""
    world = make_world(**facts)
    world.write_topic("t", *replicas)
    world.run(TopicChange())
    return world


def answer(world, *brokers):
    """Let ``brokers`` answer all that they were sent."""
    for sent in world.sent(SendLeaderAndIsr):
        if sent.broker_id in brokers:
            errors = {each.topic_partition: ErrorCode.NONE for each in sent.request.partitions}
            response = LeaderAndIsrResponse(ErrorCode.NONE, errors)
            world.run(LeaderAndIsrResponseReceived(sent.broker_id, world.epoch_of(sent.broker_id), response))


def led_world(make_world, *replicas, **facts):
    world = created_world(make_world, *replicas, **facts)
    answer(world, *world.brokers)
    world.effects.clear()
    return world


def test_leaders_move_and_all_brokers_are_notified_including_the_leaving_one(make_world):
    world = led_world(make_world, (2, 3, 1))
    result, done = ask(world)
    assert result == ControlledShutdownResult(())
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (3, (3, 1))
    assert world.leadership(T0).leader_epoch == 1
    assert {sent.broker_id for sent in world.sent(SendLeaderAndIsr, done)} == {1, 2, 3}
    assert not world.sent(SendStopReplica, done), "it learns by LeaderAndIsr that it leads no more"


def test_followers_are_stopped_in_the_epoch_that_their_leaving_began(make_world):
    """A broker obeys no StopReplica in the epoch in which it follows: its fetcher would go on."""
    world = led_world(make_world, (3, 2, 1))
    result, done = ask(world)
    assert result == ControlledShutdownResult(())
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (3, (3, 1))
    (stop,) = world.sent(SendStopReplica, done)
    assert stop.broker_id == 2
    (partition,) = stop.request.partitions
    assert (partition.topic_partition, partition.delete) == (T0, False)
    assert partition.leader_epoch == world.leadership(T0).leader_epoch == 1
    assert {sent.broker_id for sent in world.sent(SendLeaderAndIsr, done)} == {1, 3}


def test_what_nobody_else_can_lead_remains_and_moves_when_somebody_can(make_world):
    world = led_world(make_world, (2, 3), (2, 3))
    world.write_state(T0, 2, (2,))
    world.context.leaderships.clear()
    world.run(BrokerChange())
    for tp in (T0, T1):
        world.context.leaderships[tp] = world.states[tp]
    result, _ = ask(world)
    assert result == ControlledShutdownResult((T0,))
    assert (world.leadership(T0).leader, world.leadership(T1).leader) == (2, 3)
    world.write_state(T0, 2, (2, 3))
    result, _ = ask(world)
    assert result == ControlledShutdownResult(())
    assert world.leadership(T0).leader == 3


def test_a_partition_of_one_replica_stays_and_does_not_hold_the_broker_up(make_world):
    world = led_world(make_world, (2,))
    result, done = ask(world)
    assert result == ControlledShutdownResult(())
    assert world.leadership(T0).leader == 2
    assert not world.sent(SendStopReplica, done)


def test_a_leaving_broker_is_elected_nowhere_until_it_is_gone_and_back(make_world):
    world = led_world(make_world, (2, 3))
    ask(world)
    world.remove(3)
    world.run(BrokerChange())
    assert world.leadership(T0).leader == -1, "2 has left the ISR, and 3 is dead"
    world.register(3)
    world.remove(2)
    world.run(BrokerChange())
    assert not world.context.shutting_down
    world.register(2)
    world.run(BrokerChange())
    assert world.context.live_brokers == {1, 2, 3}


def test_a_bounce_ends_the_shutdown(make_world):
    world = led_world(make_world, (2, 3))
    ask(world)
    world.register(2)
    world.run(BrokerChange())
    assert not world.context.shutting_down


def test_the_controllers_own_broker_hands_over_too(make_world):
    world = led_world(make_world, (1, 2))
    result, _ = ask(world, 1)
    assert result == ControlledShutdownResult(())
    assert world.leadership(T0).leader == 2
    assert world.context.is_active


@pytest.mark.parametrize(
    ("broker", "epoch", "error"),
    [(9, 1, ErrorCode.BROKER_NOT_AVAILABLE), (2, 1, ErrorCode.STALE_BROKER_EPOCH)],
)
def test_who_is_refused(make_world, broker, epoch, error):
    world = led_world(make_world, (2, 3))
    result, done = ask(world, broker, epoch=epoch)
    assert isinstance(result, Refused)
    assert result.error is error
    assert not world.context.shutting_down
    assert not world.sent(SendLeaderAndIsr, done)


def test_a_broker_that_is_not_the_controller_answers_as_kafkas_does(make_world):
    """``doControlledShutdown`` throws ControllerMovedException; others hear NOT_CONTROLLER."""
    result, _ = ask(make_world(active=False))
    assert result.error is ErrorCode.STALE_CONTROLLER_EPOCH


def test_a_controller_that_is_replaced_during_the_request_answers_so(make_world):
    world = led_world(make_world, (2, 3))
    world.epoch += 1
    result, _ = ask(world)
    assert result.error is ErrorCode.STALE_CONTROLLER_EPOCH


def test_a_response_of_a_broker_that_registered_again_unseen_counts(make_world):
    world = led_world(make_world, (2, 3))
    result, _ = ask(world, epoch=world.epoch_of(2) + 1)
    assert result == ControlledShutdownResult(())


def twin(assignment, leader, isr, leaving, live):
    """Who leads afterwards, slowly: go through the assignment as a person would."""
    if leader not in leaving:
        return leader
    for broker in assignment:
        if broker in live and broker in isr and broker not in leaving:
            return broker
    return leader


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_leader_afterwards_is_the_twins(make_world, data):
    draw = data.draw
    assignment = tuple(draw(st.permutations([1, 2, 3, 4]))[: draw(st.integers(2, 4))])
    isr = tuple(draw(st.lists(st.sampled_from(assignment), min_size=1, unique=True)))
    leader = draw(st.sampled_from(isr))
    leaving = draw(st.lists(st.sampled_from((1, 2, 3, 4)), min_size=1, max_size=3, unique=True))
    world = led_world(lambda: make_world(1, 2, 3, 4), assignment)
    world.write_state(T0, leader, isr, world.leadership(T0).leader_epoch)
    world.context.leaderships[T0] = world.states[T0]
    gone = []
    for broker in leaving:
        before = world.leadership(T0)
        gone.append(broker)
        remaining = ask(world, broker)[0].remaining
        after = world.leadership(T0)
        expected = twin(assignment, before.leader, before.isr, gone, {1, 2, 3, 4})
        if broker == before.leader:
            assert after.leader == expected
            assert remaining == ((T0,) if expected == broker else ())
        else:
            assert (after.leader, remaining) == (before.leader, ())
            assert broker not in after.isr or after.isr == (broker,)
        assert after.leader in after.isr
        assert after.leader_epoch >= before.leader_epoch


def succeed(world, broker):
    """Broker 1, which was the controller, is gone with all that it knew; ``broker`` succeeds it."""
    world.remove(1)
    world.controller, world.owns_controller = NO_CONTROLLER, False
    world.context = ControllerContext(Facts(BrokerId(broker)))
    return world.run(Startup())


def may_begin_empty(world, done, broker):
    """Whether the latest request to ``broker`` allows that it has no log of t-0."""
    (sent, *_) = [
        each
        for effect in reversed(world.sent(SendLeaderAndIsr, done))
        if effect.broker_id == broker
        for each in effect.request.partitions
        if each.topic_partition == T0
    ]
    return sent.is_new or sent.is_unconfirmed


@pytest.mark.parametrize("leads", [True, False], ids=["leads", "follows"])
def test_a_partition_stays_as_long_as_no_other_member_is_known_to_have_its_log(make_world, leads):
    """Otherwise the next controller could not tell a log that was never created from one that was lost."""
    world = created_world(make_world, (1, 2, 3) if leads else (2, 1, 3))
    leader = 1 if leads else 2
    world.effects.clear()
    result, done = ask(world, 1)
    assert result == ControlledShutdownResult((T0,))
    assert not world.sent((SendLeaderAndIsr, SendStopReplica), done)
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (
        leader,
        (1, 2, 3) if leads else (2, 1, 3),
    )

    done = succeed(world, 2)
    assert world.leadership(T0).leader == 2
    assert may_begin_empty(world, done, 2)
    assert may_begin_empty(world, done, 3)


@pytest.mark.parametrize("leads", [True, False], ids=["leads", "follows"])
def test_it_moves_once_another_member_has_answered(make_world, leads):
    world = created_world(make_world, (1, 2, 3) if leads else (2, 1, 3))
    assert ask(world, 1)[0] == ControlledShutdownResult((T0,))
    answer(world, 1)
    assert ask(world, 1)[0] == ControlledShutdownResult((T0,)), "its own log leaves with it"
    answer(world, 3)
    assert ask(world, 1)[0] == ControlledShutdownResult(())
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (2, (2, 3))


def test_a_member_that_leaves_too_does_not_count_for_a_leader(make_world):
    world = created_world(make_world, (2, 3, 1))
    answer(world, 2, 3)
    assert ask(world, 3)[0] == ControlledShutdownResult(())
    assert world.leadership(T0).isr == (2, 1)
    world.write_state(T0, 2, (2, 3, 1), world.leadership(T0).leader_epoch)
    world.context.leaderships[T0] = world.states[T0]
    assert ask(world, 2)[0] == ControlledShutdownResult((T0,))
    assert world.leadership(T0).isr == (2, 3, 1)


def test_a_restarted_member_that_may_have_lost_its_log_is_not_relied_upon(make_world):
    """All were down. Broker 3 has not reported yet whether it has its logs."""
    world = led_world(make_world, (2, 3))
    world.remove(2, 3)
    world.run(BrokerChange())
    world.register(2, 3)
    world.run(BrokerChange())
    world.write_state(T0, 2, (2, 3), world.leadership(T0).leader_epoch)
    world.context.leaderships[T0] = world.states[T0]
    answer(world, 2)
    assert ask(world)[0] == ControlledShutdownResult((T0,))
    assert world.leadership(T0).isr == (2, 3)
    answer(world, 3)
    assert ask(world)[0] == ControlledShutdownResult(())
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (3, (3,))
