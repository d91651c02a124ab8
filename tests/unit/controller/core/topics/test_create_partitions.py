from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.commands.topics import MAX_PARTITIONS, CreatePartitions, NewPartitions
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.controller.core.protocol.effects import Reply
from barnabas.controller.core.protocol.inputs import (
    CommandReceived,
    PartitionModifications,
    TopicChange,
    TopicDeletion,
)
from barnabas.controller.core.topics.create_partitions import plan_partitions
from barnabas.controller.core.topics.effects import WriteAssignment
from barnabas.controller.core.topics.topic_validation import Refusal

E = ErrorCode


def ids(*numbers):
    return tuple(map(BrokerId, numbers))


def brokers(*numbers, rack=None):
    return {BrokerId(n): Broker(BrokerId(n), BrokerEpoch(n), (), rack(n) if rack else None) for n in numbers}


def standing(*replicas):
    return {number: Assignment(ids(*some)) for number, some in enumerate(replicas)}


def ask(world, *topics, validate_only=False):
    request = CommandReceived(7, CreatePartitions(topics, validate_only))
    (reply,) = world.sent(Reply, world.run(request))
    return {result.name: (result.error, result.partitions) for result in reply.result.topics}


@pytest.fixture
def world(make_world):
    """A cluster with topic ``t`` of one partition on brokers 2 and 3."""
    world = make_world()
    world.write_topic("t", (2, 3))
    world.run(TopicChange())
    return world


def test_partitions_are_written_and_led_once_the_watch_fires(world):
    assert ask(world, NewPartitions("t", 3)) == {"t": (E.NONE, 3)}
    assert [a.replicas for a in world.topics["t"].values()] == [(2, 3), (3, 2), (1, 3)]
    world.run(PartitionModifications("t"))
    assert world.leadership(TopicPartition("t", 2)).leader == 1
    assert "topic t written: 3 partitions from now on" in world.reasons()


def test_partitions_are_placed_by_hand(world):
    assert ask(world, NewPartitions("t", 2, (ids(1, 3),))) == {"t": (E.NONE, 2)}
    assert world.topics["t"][1] == Assignment(ids(1, 3))


def test_one_request_adds_so_many_partitions_and_no_more(world):
    world.write_topic("u", (1,), (2,))
    world.run(TopicChange())
    most = (NewPartitions("t", 6_001), NewPartitions("u", 4_002), NewPartitions("ghost", 10_000))
    answers = ask(world, *most, validate_only=True)
    assert [error for error, _ in answers.values()] == [E.NONE, E.NONE, E.UNKNOWN_TOPIC_OR_PARTITION]
    answers = ask(world, NewPartitions("t", 6_001), NewPartitions("u", 4_003), validate_only=True)
    assert {error for error, _ in answers.values()} == {E.POLICY_VIOLATION}


def test_validate_only_writes_nothing(world):
    assert ask(world, NewPartitions("t", 3), validate_only=True) == {"t": (E.NONE, 3)}
    assert len(world.topics["t"]) == 1


def test_each_topic_is_answered_for_itself_and_none_twice(world):
    answers = ask(
        world, NewPartitions("t", 2), NewPartitions("ghost", 2), NewPartitions("u", 2), NewPartitions("u", 3)
    )
    assert answers == {
        "t": (E.NONE, 2),
        "ghost": (E.UNKNOWN_TOPIC_OR_PARTITION, -1),
        "u": (E.INVALID_REQUEST, -1),
    }


def test_a_topic_queued_for_deletion_gets_none(world):
    world.remove(3)
    world.marked.add("t")
    world.run(TopicDeletion())
    assert ask(world, NewPartitions("t", 2)) == {"t": (E.INVALID_TOPIC_EXCEPTION, -1)}


def test_what_was_written_meanwhile_is_read_again(world):
    writes = []

    def conflict_once(question):
        writes.append(question)
        if len(writes) == 1:
            world.topics["t"][1] = Assignment(ids(1, 2))
            return False
        world.topics["t"] = dict(question.after)
        return True

    world.answers[WriteAssignment] = conflict_once
    assert ask(world, NewPartitions("t", 3)) == {"t": (E.NONE, 3)}
    assert writes[1].before == standing((2, 3), (1, 2))


REFUSALS = {
    "fewer": (NewPartitions("t", 1), E.INVALID_PARTITIONS, "which is higher than the requested 1"),
    "as many": (NewPartitions("t", 2), E.INVALID_PARTITIONS, "Topic already has 2 partitions."),
    "none": (NewPartitions("t", 0), E.INVALID_PARTITIONS, "higher than the requested 0"),
    "too many": (NewPartitions("t", MAX_PARTITIONS + 1), E.INVALID_PARTITIONS, str(MAX_PARTITIONS)),
    "unknown broker": (
        NewPartitions("t", 3, (ids(1, 9),)),
        E.INVALID_REPLICA_ASSIGNMENT,
        "Unknown broker(s)",
    ),
    "too few by hand": (NewPartitions("t", 4, (ids(1, 2),)), E.INVALID_REPLICA_ASSIGNMENT, "by 2 but 1"),
    "no replica": (NewPartitions("t", 3, ((),)), E.INVALID_REPLICA_ASSIGNMENT, "replication factor of 0"),
    "a replica twice": (
        NewPartitions("t", 3, (ids(1, 1),)),
        E.INVALID_REPLICA_ASSIGNMENT,
        "Duplicate brokers",
    ),
    "another factor": (NewPartitions("t", 3, (ids(1),)), E.INVALID_REPLICA_ASSIGNMENT, "Inconsistent"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refused(name):
    wanted, error, said = REFUSALS[name]
    plan = plan_partitions(wanted, standing((1, 2), (2, 3)), brokers(1, 2, 3))
    assert isinstance(plan, Refusal)
    assert plan.error is error
    assert said in plan.message


def test_refused_while_a_partition_is_being_reassigned():
    moving = {0: Assignment(ids(1, 2), adding=ids(2))}
    plan = plan_partitions(NewPartitions("t", 2), moving, brokers(1, 2))
    assert isinstance(plan, Refusal)
    assert plan.error is E.REASSIGNMENT_IN_PROGRESS


def test_refused_where_the_topic_was_deleted_before_its_znode_was_read():
    plan = plan_partitions(NewPartitions("t", 2), {}, brokers(1, 2))
    assert isinstance(plan, Refusal)
    assert plan.error is E.UNKNOWN_TOPIC_OR_PARTITION


def test_refused_where_a_number_is_missing():
    plan = plan_partitions(NewPartitions("t", 3), {1: Assignment(ids(1))}, brokers(1))
    assert isinstance(plan, Refusal)
    assert plan.error is E.UNKNOWN_SERVER_ERROR


def test_refused_where_there_are_fewer_brokers_than_replicas():
    plan = plan_partitions(NewPartitions("t", 2), standing((1, 2, 3)), brokers(1, 2))
    assert isinstance(plan, Refusal)
    assert plan.error is E.INVALID_REPLICATION_FACTOR


def slow_addition(numbers, first_leader, existing, count, factor):
    """Kafka's ``createNewPartitionsAssignment`` without racks, step by step."""
    everyone = sorted(numbers)
    start = 0
    while start < len(everyone) and everyone[start] < first_leader:
        start += 1
    if start == len(everyone):
        start = 0
    shift, placed = start, {}
    for partition in range(existing, existing + count):
        if partition > 0 and partition % len(everyone) == 0:
            shift += 1
        leader = (partition + start) % len(everyone)
        replicas = [everyone[leader]]
        for j in range(factor - 1):
            distance = 1 + (shift + j) % (len(everyone) - 1)
            replicas.append(everyone[(leader + distance) % len(everyone)])
        placed[partition] = tuple(replicas)
    return placed


@given(
    st.sets(st.integers(1, 30), min_size=1, max_size=7),
    st.integers(1, 31),
    st.integers(1, 12),
    st.integers(1, 15),
    st.data(),
)
def test_new_partitions_go_where_kafka_would_put_them(numbers, first_leader, existing, count, data):
    factor = data.draw(st.integers(1, len(numbers)))
    others = tuple(n for n in sorted(numbers) if n != first_leader)[: factor - 1]
    before = standing(*[(first_leader, *others)] * existing)
    factor = len(before[0].replicas)
    plan = plan_partitions(NewPartitions("t", existing + count), before, brokers(*numbers))
    placed = {number: assignment.replicas for number, assignment in plan.items()}
    assert placed == slow_addition(numbers, first_leader, existing, count, factor)


def test_new_partitions_are_placed_by_rack():
    where = brokers(1, 2, 3, 4, rack=lambda n: "a" if n < 3 else "b")
    plan = plan_partitions(NewPartitions("t", 5), standing((1, 3)), where)
    assert not isinstance(plan, Refusal)
    for assignment in plan.values():
        assert {where[replica].rack for replica in assignment.replicas} == {"a", "b"}


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("never-made", E.UNKNOWN_TOPIC_OR_PARTITION),
        ("..", E.INVALID_TOPIC_EXCEPTION),
        ("a/b", E.INVALID_TOPIC_EXCEPTION),
        ("x" * 300, E.INVALID_TOPIC_EXCEPTION),
    ],
    ids=["unknown", "dots", "slash", "long"],
)
def test_zookeeper_is_asked_nothing_of_what_is_no_topic(world, name, error):
    """Each name asked for would be watched for ever, and some are no path at all."""
    world.questions.clear()
    assert ask(world, NewPartitions(name, 3)) == {name: (error, -1)}
    assert world.questions == []


def test_a_topic_without_replicas_gets_no_partitions():
    """A person wrote ``{"0":[]}``: there is nothing to place new partitions by."""
    refusal = plan_partitions(NewPartitions("t", 2), standing(()), brokers(1, 2))
    assert isinstance(refusal, Refusal)
    assert refusal.error is E.INVALID_REPLICATION_FACTOR
