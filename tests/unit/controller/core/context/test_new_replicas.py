"""Which replicas are sent as new, and until when the controller remembers them."""

from __future__ import annotations

import pytest

from barnabas.cluster.model.epochs import LeaderEpoch, PartitionVersion
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import LeaderAndIsrPartition, LeaderAndIsrResponse
from barnabas.controller.core.context.new_replicas import NewReplicas
from barnabas.controller.core.protocol.effects import SendLeaderAndIsr
from barnabas.controller.core.protocol.inputs import (
    BrokerChange,
    LeaderAndIsrResponseReceived,
    Startup,
    TopicChange,
)

T0 = TopicPartition("t", 0)
ONE, TWO, THREE = BrokerId(1), BrokerId(2), BrokerId(3)


def partition(*, version=0, epoch=0, isr=(1, 2), adding=(), is_new=False):
    known = LeaderAndIsr(BrokerId(isr[0]), LeaderEpoch(epoch), isr, PartitionVersion(version))
    return LeaderAndIsrPartition(T0, PartitionState(known, 1), Assignment((ONE, TWO, THREE), adding), is_new)


def sent(new_replicas, broker, one=None):
    (sent,) = new_replicas.flagged(broker, (one or partition(),), {})
    return sent.is_new, sent.is_unconfirmed


def test_a_replica_is_sent_as_new_once_and_is_unconfirmed_until_its_broker_answers():
    new_replicas = NewReplicas()
    new_replicas.created(T0, (THREE,))
    assert [sent(new_replicas, THREE) for _ in range(3)] == [(True, False), (False, True), (False, True)]
    new_replicas.answered(THREE, {T0: ErrorCode.KAFKA_STORAGE_ERROR})
    assert sent(new_replicas, THREE) == (False, True)
    new_replicas.answered(THREE, {T0: ErrorCode.NONE})
    assert sent(new_replicas, THREE) == (False, False)


def test_what_is_sent_as_new_by_its_sender_is_remembered_too():
    new_replicas = NewReplicas()
    assert sent(new_replicas, ONE, partition(is_new=True)) == (True, False)
    assert sent(new_replicas, ONE) == (False, True)
    new_replicas.answered(ONE, {T0: ErrorCode.STALE_CONTROLLER_EPOCH})
    assert sent(new_replicas, ONE) == (False, False)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        # One is in sync and live, two is in sync and dead, three has never been in sync.
        (partition(), [(False, True), (False, False), (True, False)]),
        (partition(version=1), [(False, False)] * 3),
        (partition(epoch=1), [(False, False)] * 3),
        (partition(adding=(THREE,)), [(False, True), (False, False), (False, False)]),
    ],
    ids=["as created", "changed", "another epoch", "being added"],
)
def test_a_state_that_never_changed_tells_a_new_controller(state, expected):
    new_replicas = NewReplicas()
    new_replicas.taken_over(T0, state.state, state.assignment, (ONE, THREE))
    assert [sent(new_replicas, broker) for broker in (ONE, TWO, THREE)] == expected


def test_brokers_that_are_sent_the_same_share_it():
    new_replicas, shared, said = NewReplicas(), {}, (partition(),)
    new_replicas.created(T0, (ONE, TWO))
    for _ in range(2):
        first, second = (new_replicas.flagged(broker, said, shared) for broker in (ONE, TWO))
        assert first[0] is second[0]


def test_what_is_gone_is_forgotten():
    new_replicas = NewReplicas()
    new_replicas.created(T0, (ONE, TWO, THREE))
    sent(new_replicas, ONE)
    for broker in (ONE, TWO):
        new_replicas.forget(T0, broker)
        assert sent(new_replicas, broker) == (False, False)
    new_replicas.clear()
    assert sent(new_replicas, THREE) == (False, False)


def test_a_replica_is_confirmed_once_its_broker_has_answered():
    new_replicas = NewReplicas()
    assert new_replicas.is_confirmed(T0, ONE)
    new_replicas.created(T0, (ONE,))
    assert not new_replicas.is_confirmed(T0, ONE)
    sent(new_replicas, ONE)
    assert not new_replicas.is_confirmed(T0, ONE)
    new_replicas.answered(ONE, {T0: ErrorCode.NONE})
    assert new_replicas.is_confirmed(T0, ONE)


# In the controller.


def last_sent(world, broker):
    """What the broker was last sent of t-0: the leader epoch, and if it is new or unconfirmed."""
    requests = [e.request for e in world.sent(SendLeaderAndIsr) if e.broker_id == broker]
    sent = next(p for p in reversed(requests[-1].partitions) if p.topic_partition == T0)
    return sent.state.leader_and_isr.leader_epoch, sent.is_new, sent.is_unconfirmed


def bounce(world, broker):
    world.remove(broker)
    world.register(broker)
    world.run(BrokerChange())


def test_a_broker_that_bounced_before_it_made_its_log_may_begin_empty(make_world):
    world = make_world(1, 2)
    world.write_topic("t", (2,))
    world.run(TopicChange())
    assert last_sent(world, TWO) == (0, True, False)
    bounce(world, 2)
    assert last_sent(world, TWO) == (2, False, True)
    answer = LeaderAndIsrResponse(ErrorCode.NONE, {T0: ErrorCode.NONE})
    world.run(LeaderAndIsrResponseReceived(TWO, world.epoch_of(2), answer))
    bounce(world, 2)
    assert last_sent(world, TWO) == (4, False, False)


def test_what_a_dead_broker_did_not_answer_it_may_have_carried_out(make_world):
    """It led or followed for a moment, records were acknowledged, and the other broker died with it."""
    world = make_world(1, 2, 3)
    world.write_topic("t", (2, 3))
    world.run(TopicChange())
    assert last_sent(world, TWO) == (0, True, False)
    world.remove(2, 3)
    world.register(2, 3)
    world.run(BrokerChange())
    assert last_sent(world, TWO)[1:] == last_sent(world, THREE)[1:] == (False, False)


def test_a_broker_that_was_away_when_the_topic_was_made_gets_it_as_new(make_world):
    """It may hold the log of a former topic of that name, from which it was reassigned away."""
    world = make_world(1, 2)
    world.write_topic("t", (1, 3))
    world.run(TopicChange())
    world.register(3)
    world.run(BrokerChange())
    assert last_sent(world, THREE) == (0, True, False)


def test_a_new_controller_sends_as_new_who_was_away_then(make_world):
    world = make_world(active=False)
    world.write_topic("t", (1, 2, 3))
    world.write_state(T0, 1, (1, 2))
    world.run(Startup())
    assert last_sent(world, THREE) == (0, True, False)
    assert last_sent(world, TWO) == (0, False, True)
