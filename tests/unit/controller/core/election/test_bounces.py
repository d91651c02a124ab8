from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import NO_LEADER, BrokerId, TopicPartition
from barnabas.cluster.model.requests import LeaderAndIsrResponse
from barnabas.controller.core.decide import recover
from barnabas.controller.core.election.effects import RecordBrokers, RecordEpoch
from barnabas.controller.core.partitions.effects import WritePartitionStates
from barnabas.controller.core.protocol.effects import (
    NO_CONTROLLER,
    Interruption,
    SendLeaderAndIsr,
    SendUpdateMetadata,
)
from barnabas.controller.core.protocol.inputs import (
    BrokerChange,
    LeaderAndIsrResponseReceived,
    Reelect,
    Startup,
)

T0 = TopicPartition("t", 0)
IDS = (1, 2, 3)


def bounce(world, *numbers):
    """Those die and register again before anybody hears of it."""
    world.remove(*numbers)
    world.register(*numbers)


def answer(world, number, error=ErrorCode.NONE):
    """The broker answers LeaderAndIsr, with ``error`` for t-0."""
    response = LeaderAndIsrResponse(ErrorCode.NONE, {T0: error})
    world.run(LeaderAndIsrResponseReceived(BrokerId(number), world.epoch_of(number), response))


def before_a_takeover(make_world, leader=1, isr=IDS, epoch=4):
    world = make_world(active=False)
    world.write_topic("t", IDS)
    world.write_state(T0, leader, isr, epoch)
    return world


def test_a_later_write_does_not_hide_a_bounce(make_world):
    """A follower leaves the ISR, or another leader is elected, after the bounce and before the takeover."""
    world = before_a_takeover(make_world)
    bounce(world, 1)
    world.write_state(T0, 1, (1, 2), 5)
    world.run(Startup())
    known = world.leadership(T0)
    assert (known.leader, known.isr) == (2, (2,))
    assert known.leader_epoch > 5


def test_where_the_leader_and_all_others_bounced_the_leader_epoch_rises_and_all_stay(make_world):
    """In the old one the leader would write other records over those that its disk has lost."""
    world = before_a_takeover(make_world)
    bounce(world, *IDS)
    world.run(Startup())
    known = world.leadership(T0)
    assert (known.leader, known.leader_epoch, known.isr) == (1, 5, IDS)
    epochs = {
        partition.state.leader_and_isr.leader_epoch
        for sent in world.sent(SendLeaderAndIsr)
        for partition in sent.request.partitions
    }
    assert epochs == {5}, "nobody is sent the epoch that the leader's former life led in"
    assert (
        "all live ISR members bounced unseen, and their leader begins a new leader epoch in t-0"
    ) in world.reasons()
    (line,) = (each for each in world.lines() if "to OnlinePartition with state" in each)
    assert "Changed partition t-0 from OnlinePartition to OnlinePartition" in line
    assert "leader=1, leaderEpoch=5, isr=List(1, 2, 3)" in line


def test_a_leader_that_wrote_its_isr_meanwhile_begins_a_new_epoch_all_the_same(make_world):
    world = before_a_takeover(make_world)
    bounce(world, *IDS)
    world.meanwhile[T0] = replace(world.leadership(T0), isr=(1, 2))
    world.run(Startup())
    known = world.leadership(T0)
    assert (known.leader, known.leader_epoch, known.isr) == (1, 5, (1, 2))


def test_without_a_record_everybody_counts_as_bounced(make_world):
    """The record was deleted, or Kafka reigned: a leader epoch more than needed harms nobody."""
    world = before_a_takeover(make_world)
    world.record = {}
    world.run(Startup())
    known = world.leadership(T0)
    assert (known.leader, known.leader_epoch, known.isr) == (1, 5, IDS)


def test_the_epoch_is_recorded_before_a_word_is_said(make_world):
    world = before_a_takeover(make_world)
    seen = []
    world.scribe = lambda effect, _: seen.append(type(effect))
    world.run(Startup())
    said = {SendLeaderAndIsr, SendUpdateMetadata, WritePartitionStates}
    assert seen.index(RecordEpoch) < min(seen.index(kind) for kind in said if kind in seen)


def test_a_registration_is_recorded_only_when_it_has_been_dealt_with(make_world):
    world = before_a_takeover(make_world)
    world.run(Startup())
    assert world.record == {id_: broker.epoch for id_, broker in world.brokers.items()}
    former = world.record
    bounce(world, 2)
    recorded = []

    def note(effect, _answer):
        if isinstance(effect, WritePartitionStates):
            recorded.append(world.record == former)

    world.scribe = note
    world.run(BrokerChange())
    assert recorded
    assert all(recorded)
    assert world.record == former, "nobody knows yet which logs it has"
    answer(world, 2)
    assert world.record == {id_: broker.epoch for id_, broker in world.brokers.items()}


def test_a_registration_whose_handling_failed_is_dealt_with_by_the_next_controller(make_world):
    world = before_a_takeover(make_world)
    world.run(Startup())
    former = world.record
    bounce(world, 2)
    world.failures[WritePartitionStates] = RuntimeError("spoiled")
    with pytest.raises(RuntimeError):
        world.run(BrokerChange())
    world.drive(recover(world.context, BrokerChange(), "spoiled"))
    assert not world.context.is_active
    assert world.record == former
    world.failures.clear()
    world.run(Reelect())
    assert world.leadership(T0).isr == (1, 3)


def test_a_record_that_cannot_be_written_keeps_no_controller_from_its_work(make_world):
    world = before_a_takeover(make_world)
    world.failures[RecordBrokers] = RuntimeError("spoiled")
    world.run(Startup())
    assert world.context.is_active
    assert "went on without the record of brokers: RuntimeError: spoiled" in world.reasons()


# After an outage of all brokers, some are back, one of them perhaps without its logs.


def after_an_outage(make_world, isr, *back):
    """A controller takes over where ``back`` are live; t-0 is as it was created, with records in it."""
    world = make_world(active=False)
    world.write_topic("t", isr)
    world.write_state(T0, isr[0], isr)
    world.remove(*IDS)
    world.register(*back)
    world.run(Startup())
    return world


def come(world, *numbers):
    world.register(*numbers)
    world.run(BrokerChange())


def stands(world):
    known = world.leadership(T0)
    return known.leader, known.isr


@pytest.mark.parametrize("back", [IDS, (2, 3), (2,), (1, 2)])
def test_after_an_outage_no_member_of_the_isr_may_begin_with_nothing(make_world, back):
    """The state never changed since it was created, and every process that had a log has ended."""
    world = after_an_outage(make_world, IDS, *back)
    come(world, *(set(IDS) - set(back)))
    partitions = [one for sent in world.sent(SendLeaderAndIsr) for one in sent.request.partitions]
    assert partitions
    assert not any(one.is_new or one.is_unconfirmed for one in partitions)


def test_a_broker_that_lost_its_log_in_an_outage_is_replaced_by_one_that_has_it(make_world):
    world = after_an_outage(make_world, IDS, 2, 3)
    assert stands(world) == (2, IDS), "nobody knows yet who has the records"
    answer(world, 3)
    answer(world, 2, ErrorCode.KAFKA_STORAGE_ERROR)
    assert stands(world) == (3, (3,))


@pytest.mark.parametrize("back", [(2, 3), (2,), (3,)])
def test_where_the_live_member_lost_its_log_the_dead_one_leads_on_its_return(make_world, back):
    """As Kafka does it, the ISR would be broker 2 alone, and broker 1 with all records could not lead."""
    world = after_an_outage(make_world, (1, 2), *back)
    if 2 not in back:
        assert stands(world) == (NO_LEADER, (1, 2))
        come(world, 2)
    assert stands(world) == (2, (1, 2))
    answer(world, 2, ErrorCode.KAFKA_STORAGE_ERROR)
    assert stands(world) == (NO_LEADER, (1,))
    come(world, 1)
    answer(world, 1)
    assert stands(world) == (1, (1,))


def test_the_dead_leave_the_isr_when_a_live_member_has_its_log(make_world):
    world = after_an_outage(make_world, IDS, 2)
    world.effects.clear()
    answer(world, 2)
    assert stands(world) == (2, (2,))
    (sent,) = world.sent(SendLeaderAndIsr)
    assert [one.state.leader_and_isr.isr for one in sent.request.partitions] == [(2,)]


def test_a_broker_with_a_failed_request_does_not_count_as_having_its_log(make_world):
    world = after_an_outage(make_world, IDS, 2)
    answer(world, 2, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert stands(world) == (2, IDS)


def test_a_broker_that_has_answered_a_part_of_its_list_does_not_count_as_having_its_logs(make_world):
    """A request names 500 partitions. Those of the next part may be lost, though these are there."""
    world = after_an_outage(make_world, IDS, 2)
    failed = {TopicPartition("other", 0): ErrorCode.UNKNOWN_SERVER_ERROR}
    part = LeaderAndIsrResponse(ErrorCode.NONE, failed)
    heard = LeaderAndIsrResponseReceived(BrokerId(2), world.epoch_of(2), part, parts_to_follow=1)
    world.run(replace(heard, response=LeaderAndIsrResponse(ErrorCode.NONE)))
    assert stands(world) == (2, IDS)
    world.run(heard)
    answer(world, 2)
    assert stands(world) == (2, IDS), "a partition of the first part is still to be sent again"
    world.run(
        replace(
            heard,
            response=LeaderAndIsrResponse(ErrorCode.NONE, dict.fromkeys(failed, ErrorCode.NONE)),
            parts_to_follow=0,
        )
    )
    assert stands(world) == (2, (2,))


def test_a_controller_that_ends_before_an_answer_leaves_the_doubt_to_its_successor(make_world):
    world = after_an_outage(make_world, (1, 2), 2, 3)
    world.context.forget_cluster()
    world.context.active_controller_id = world.controller = NO_CONTROLLER
    world.owns_controller = False
    world.run(Startup())
    answer(world, 2, ErrorCode.KAFKA_STORAGE_ERROR)
    assert stands(world) == (NO_LEADER, (1,))


# The slow twin: what the logs hold. A broker that bounced may have lost the end of its log, in which the
# records of the last leader epoch are; whoever has not bounced has them.

events = st.lists(
    st.tuples(st.sampled_from(("bounce", "write", "election", "cut election")), st.sampled_from(IDS)),
    max_size=12,
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=events, leader=st.sampled_from(IDS))
def test_no_leader_leads_on_in_an_epoch_in_which_it_bounced(make_world, events, leader):
    """Whatever happened before: bounces, writes of leaders, takeovers, and such as ended half way."""
    world = before_a_takeover(make_world, leader)
    led_in: dict[tuple[int, int], int] = {}  # leader and leader epoch to the life in which it led so

    def look():
        known = world.leadership(T0)
        if known.leader in world.brokers:
            life = world.epoch_of(known.leader)
            assert led_in.setdefault((known.leader, known.leader_epoch), life) == life

    def forget():
        world.context.forget_cluster()
        world.context.active_controller_id = NO_CONTROLLER
        world.controller = NO_CONTROLLER
        world.owns_controller = False

    look()
    for what, number in events:
        if what == "bounce":
            bounce(world, number)
        elif what == "write":
            known = world.leadership(T0)
            world.write_state(T0, known.leader, known.isr, known.leader_epoch)
        else:
            forget()
            if what == "cut election":
                # Whatever it begins with, nothing of it is recorded.
                world.interruptions[RecordBrokers] = Interruption.SESSION_EXPIRED
            world.run(Startup())
            look()
    forget()
    world.run(Startup())
    look()
