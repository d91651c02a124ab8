from __future__ import annotations

from dataclasses import replace

from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.protocol.effects import (
    CloseChannel,
    OpenChannel,
    SendLeaderAndIsr,
    SendUpdateMetadata,
)
from barnabas.controller.core.protocol.inputs import BrokerChange, BrokerModifications, Startup, TopicChange

T0 = TopicPartition("t", 0)


def with_topic(make_world, *replicas, **options):
    world = make_world(**options)
    world.write_topic("t", *(replicas or ((2, 3, 1),)))
    world.run(TopicChange())
    world.effects.clear()
    world.questions.clear()
    return world


def channels(world):
    kinds = {OpenChannel: "open", CloseChannel: "close"}
    return [
        (kinds[type(e)], e.broker.id if isinstance(e, OpenChannel) else e.broker_id)
        for e in world.effects
        if type(e) in kinds
    ]


def test_a_dead_leader_is_replaced_and_leaves_the_isr(make_world):
    world = with_topic(make_world)
    world.remove(2)
    world.run(BrokerChange())
    known = world.leadership(T0)
    assert (known.leader, known.isr) == (3, (3, 1))
    assert known.leader_epoch == 1
    assert channels(world) == [("close", 2)]


def test_leadership_stays_where_it_moved_when_the_old_leader_returns(make_world):
    world = with_topic(make_world)
    world.remove(2)
    world.run(BrokerChange())
    world.register(2)
    world.effects.clear()
    world.run(BrokerChange())
    assert world.leadership(T0).leader == 3
    (sent,) = world.sent(SendLeaderAndIsr)
    assert sent.broker_id == 2
    assert not sent.request.partitions[0].is_new


def test_a_new_broker_gets_all_metadata_and_the_others_its_address(make_world):
    world = with_topic(make_world)
    world.register(4)
    world.run(BrokerChange())
    to_old, to_new = world.sent(SendUpdateMetadata)[:2]
    assert (sorted(to_old.recipients), to_old.request.partitions) == ([1, 2, 3], ())
    assert sorted(to_new.recipients) == [4]
    assert [p.topic_partition for p in to_new.request.partitions] == [T0]
    assert [broker.id for broker in to_old.request.live_brokers] == [1, 2, 3, 4]
    assert (to_old.request.is_complete, to_new.request.is_complete) == (False, True)


def test_a_bounced_broker_is_noticed_by_its_czxid_and_gets_its_state_again(make_world):
    world = with_topic(make_world)
    world.register(2)
    world.run(BrokerChange())
    assert channels(world) == [("close", 2), ("open", 2)]
    assert world.leadership(T0).leader == 3
    epoch = world.brokers[BrokerId(2)].epoch
    sent = [e.request for e in world.sent(SendLeaderAndIsr) if e.broker_id == 2]
    assert sent
    assert {request.broker_epoch for request in sent} == {epoch}


def test_the_failure_of_a_broker_without_replicas_is_announced(make_world):
    world = with_topic(make_world, (1, 2))
    world.remove(3)
    world.run(BrokerChange())
    (sent,) = world.sent(SendUpdateMetadata)
    assert [broker.id for broker in sent.request.live_brokers] == [1, 2]
    assert sent.request.partitions == ()


def test_no_change_does_nothing(make_world):
    world = with_topic(make_world)
    assert world.run(BrokerChange()) == []


def test_the_last_member_of_an_isr_stays_and_leads_again_on_its_return(make_world):
    world = with_topic(make_world, (2,))
    world.remove(2)
    world.run(BrokerChange())
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (-1, (2,))
    world.register(2)
    world.run(BrokerChange())
    assert (world.leadership(T0).leader, world.leadership(T0).leader_epoch) == (2, 2)


def test_changed_endpoints_are_sent_to_all_brokers(make_world):
    world = with_topic(make_world)
    moved = replace(world.brokers[BrokerId(2)], endpoints=(Endpoint("GRPC", "elsewhere", 1),))
    world.brokers[BrokerId(2)] = moved
    world.run(BrokerModifications(BrokerId(2)))
    (sent,) = world.sent(SendUpdateMetadata)
    assert moved in sent.request.live_brokers


def test_a_broker_that_is_gone_or_another_by_now_is_left_to_the_change_of_the_list(make_world):
    world = with_topic(make_world)
    assert world.run(BrokerModifications(BrokerId(2))) == []
    world.register(2)
    assert world.run(BrokerModifications(BrokerId(2))) == []
    world.remove(2)
    assert world.run(BrokerModifications(BrokerId(2)), BrokerModifications(BrokerId(9))) == []


def full_lists(world, some):
    return {
        e.broker_id: [str(p.topic_partition) for p in e.request.partitions]
        for e in world.sent(SendLeaderAndIsr, some)
        if e.request.is_full
    }


def test_a_registration_gets_the_full_list_even_if_it_is_empty(make_world):
    world = make_world(1, active=False)
    world.write_topic("t", (1, 2))
    world.write_state(T0, 1, (1, 2))
    assert full_lists(world, world.run(Startup())) == {1: ["t-0"]}
    world.register(2, 3)
    assert full_lists(world, world.run(BrokerChange())) == {2: ["t-0"], 3: []}
    world.remove(2)
    world.register(2)
    assert full_lists(world, world.run(BrokerChange())) == {2: ["t-0"]}
    assert full_lists(world, world.run(BrokerChange())) == {}
