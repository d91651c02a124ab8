from __future__ import annotations

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.batches.request_batch import RequestBatch, update_metadata
from barnabas.controller.core.protocol.effects import (
    LogStateChange,
    SendLeaderAndIsr,
    SendStopReplica,
    SendUpdateMetadata,
)
from barnabas.controller.core.protocol.inputs import TopicChange

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def with_topic(make_world):
    world = make_world()
    world.write_topic("t", (2, 3, 1), (3, 2, 1))
    world.run(TopicChange())
    world.effects.clear()
    return world, RequestBatch(world.context)


def test_is_new_and_delete_stay_once_they_are_set(make_world):
    world, batch = with_topic(make_world)
    state = world.states[T0]
    batch.add_leader_and_isr([BrokerId(2)], T0, state, is_new=True)
    batch.add_leader_and_isr([BrokerId(2)], T0, state)
    batch.add_stop_replica(BrokerId(3), T1, delete=True)
    batch.add_stop_replica(BrokerId(3), T1, delete=False)
    world.drive(batch.flush())
    assert world.sent(SendLeaderAndIsr)[0].request.partitions[0].is_new
    assert world.sent(SendStopReplica)[0].request.partitions[0].delete


def test_many_are_added_as_each_is(make_world):
    world, alone = with_topic(make_world)
    together, tps = RequestBatch(world.context), [T1, TopicPartition("unknown", 0), T0]
    batches = []
    for batch in (alone, together):
        batch.add_leader_and_isr([BrokerId(3)], T0, world.states[T0], is_new=True)
    for broker in (BrokerId(2), BrokerId(3)):
        for tp in (T1, T0):
            alone.add_leader_and_isr([broker], tp, world.states[tp])
        together.add_known_leadership(broker, tps)
    together.add_known_leadership(BrokerId(1), [TopicPartition("unknown", 0)])
    for batch in (alone, together):
        world.effects.clear()
        world.drive(batch.flush())
        batches.append(list(world.effects))
    assert batches[0] == batches[1]


def test_the_order_is_leader_and_isr_metadata_stop(make_world):
    world, batch = with_topic(make_world)
    batch.add_stop_replica(BrokerId(3), T1, delete=False)
    batch.add_leader_and_isr([BrokerId(2)], T0, world.states[T0])
    world.drive(batch.flush())
    kinds = [type(e) for e in world.effects if not isinstance(e, LogStateChange)]
    assert kinds == [SendLeaderAndIsr, SendUpdateMetadata, SendStopReplica]


def test_every_leadership_sent_to_one_broker_is_sent_to_all(make_world):
    world, batch = with_topic(make_world)
    batch.add_leader_and_isr([BrokerId(2)], T0, world.states[T0])
    world.drive(batch.flush())
    (sent,) = world.sent(SendUpdateMetadata)
    assert sorted(sent.recipients) == [1, 2, 3]


def test_brokers_that_are_gone_are_skipped(make_world):
    world, batch = with_topic(make_world)
    batch.add_leader_and_isr([BrokerId(2), BrokerId(9)], T0, world.states[T0])
    batch.add_stop_replica(BrokerId(9), T0, delete=False)
    world.drive(batch.flush())
    assert [e.broker_id for e in world.sent(SendLeaderAndIsr)] == [2]
    assert world.sent(SendStopReplica) == []


def test_requests_carry_both_epochs_and_the_leaders_addresses(make_world):
    world, batch = with_topic(make_world)
    batch.add_leader_and_isr([BrokerId(1)], T0, world.states[T0])
    world.drive(batch.flush())
    request = world.sent(SendLeaderAndIsr)[0].request
    assert (request.controller_id, request.controller_epoch) == (1, 1)
    assert request.broker_epoch == world.brokers[BrokerId(1)].epoch
    assert request.live_leaders == (world.brokers[BrokerId(2)],)


def test_offline_replicas_and_deletions_are_marked_in_the_metadata(make_world):
    world, _ = with_topic(make_world)
    world.context.offline_dirs[BrokerId(3)] = {T0}
    world.context.topics_to_delete.add("t")
    world.drive(update_metadata(world.context, world.context.brokers, [T0, TopicPartition("unknown", 0)]))
    (partition,) = world.sent(SendUpdateMetadata)[0].request.partitions
    assert partition.offline_replicas == (3,)
    assert partition.state.leader_and_isr.leader == -2


def test_an_empty_flush_says_so_and_sends_nothing(make_world):
    world, batch = with_topic(make_world)
    world.drive(batch.flush())
    assert world.lines() == [
        "[Controller id=1 epoch=1] Sending UpdateMetadata request to brokers Set() for 0 partitions"
    ]
    assert len(world.effects) == 1


def test_a_flushed_batch_is_empty(make_world):
    world, batch = with_topic(make_world)
    batch.add_leader_and_isr([BrokerId(2)], T0, world.states[T0])
    world.drive(batch.flush())
    world.effects.clear()
    world.drive(batch.flush())
    assert len(world.effects) == 1


def test_each_partition_and_each_request_has_its_line(make_world):
    world, batch = with_topic(make_world)
    batch.add_leader_and_isr([BrokerId(2)], T0, world.states[T0])
    batch.add_stop_replica(BrokerId(3), T1, delete=False)
    world.drive(batch.flush())
    texts = [line.removeprefix("[Controller id=1 epoch=1] ") for line in world.lines()]
    assert texts[0].startswith(
        "Sending become-leader LeaderAndIsr request LeaderAndIsrPartitionState(topicName='t'"
    )
    assert texts[1:3] == [
        "Sending LeaderAndIsr request to broker 2 with 1 become-leader and 0 become-follower partitions",
        "Sending UpdateMetadata request to brokers HashSet(1, 2, 3) for 1 partitions",
    ]
    assert texts[4] == "Sending StopReplica request for 1 replicas to broker 3"
