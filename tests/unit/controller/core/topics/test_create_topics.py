from __future__ import annotations

from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.topics import CreateTopics, CreateTopicsResult, NewTopic
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.controller.core.election.effects import GiveUpController
from barnabas.controller.core.protocol.effects import Interruption, LogInfo, Reply
from barnabas.controller.core.protocol.inputs import CommandReceived, Draw, TopicChange
from barnabas.controller.core.topics.effects import CreateTopic


def asked(*topics, validate_only=False, token=7):
    command = CreateTopics(topics, validate_only)
    return CommandReceived(token, command, tuple(Draw(0.0, 0.0) for _ in topics))


def replied(world):
    (reply,) = world.sent(Reply)
    assert reply.token == 7
    return reply.result


def test_topics_are_written_with_their_settings_and_answered_in_order(make_world):
    world = make_world()
    world.run(asked(NewTopic("a", 2, 3, configs={"retention.ms": "5"}), NewTopic("b", 1, 1)))
    result = replied(world)
    assert isinstance(result, CreateTopicsResult)
    assert [(t.name, t.error, t.partitions, t.replication_factor) for t in result.topics] == [
        ("a", ErrorCode.NONE, 2, 3),
        ("b", ErrorCode.NONE, 1, 1),
    ]
    assert world.configs["a"] == {"retention.ms": "5"}
    assert sorted(world.topics["a"]) == [0, 1]


def test_partitions_are_created_by_the_watch_and_not_by_the_request(make_world):
    world = make_world()
    world.run(asked(NewTopic("a", 1, 3)))
    assert world.states == {}
    world.run(TopicChange())
    assert len(world.states) == 1


def test_one_bad_topic_does_not_hinder_another(make_world):
    world = make_world()
    world.run(asked(NewTopic("bad name"), NewTopic("good"), NewTopic("too.big", 1, 4)))
    assert [t.error for t in replied(world).topics] == [
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.NONE,
        ErrorCode.INVALID_REPLICATION_FACTOR,
    ]
    assert list(world.topics) == ["good"]


def test_a_manual_assignment_counts_its_partitions_and_replicas(make_world):
    world = make_world()
    world.run(
        asked(NewTopic("a", assignments={0: (BrokerId(2), BrokerId(1)), 1: (BrokerId(1), BrokerId(3))}))
    )
    (topic,) = replied(world).topics
    assert (topic.error, topic.partitions, topic.replication_factor) == (ErrorCode.NONE, 2, 2)
    assert [assignment.replicas for assignment in world.topics["a"].values()] == [(2, 1), (1, 3)]


def test_validate_only_writes_nothing(make_world):
    world = make_world()
    world.run(asked(NewTopic("a", 4, 2), validate_only=True))
    (topic,) = replied(world).topics
    assert (topic.error, topic.partitions, topic.replication_factor) == (ErrorCode.NONE, 4, 2)
    assert world.topics == {}


def test_a_name_that_comes_twice_is_refused_twice(make_world):
    world = make_world()
    world.run(asked(NewTopic("a"), NewTopic("b"), NewTopic("a")))
    assert [t.error for t in replied(world).topics] == [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NONE,
        ErrorCode.INVALID_REQUEST,
    ]


def test_names_that_collide_within_one_request(make_world):
    world = make_world()
    world.run(asked(NewTopic("a.b"), NewTopic("a_b")))
    assert [t.error for t in replied(world).topics] == [ErrorCode.NONE, ErrorCode.INVALID_TOPIC_EXCEPTION]


def test_an_existing_topic_is_refused_even_before_its_watch_fired(make_world):
    world = make_world()
    world.write_topic("a", (1,))
    world.run(asked(NewTopic("a")))
    assert replied(world).topics[0].error is ErrorCode.TOPIC_ALREADY_EXISTS


def test_a_topic_that_somebody_else_writes_meanwhile_is_refused(make_world):
    world = make_world()
    world.topics = Late(world.topics)
    world.run(asked(NewTopic("a")))
    assert replied(world).topics[0].error is ErrorCode.TOPIC_ALREADY_EXISTS


class Late(dict):
    """A topic that is not in the list yet, and there when it is to be written."""

    def __contains__(self, name):
        return name == "a" or super().__contains__(name)


def test_the_lines_of_refused_topics_are_short_and_of_one_kind(make_world):
    world = make_world()
    world.run(asked(NewTopic("a" * 30_000), NewTopic("!")))
    lines = world.sent(LogInfo)
    assert [line.client_kind for line in lines] == ["CreateTopics refused"] * 2
    assert "aaa... (30000 characters) refused" in lines[0].line
    assert len(lines[0].line) < 1_000


def test_of_a_few_bytes_that_ask_for_a_million_partitions_none_is_placed(make_world):
    """500 names of 10,000 partitions each held the controller for 6.6 s, without anything to be written."""
    world = make_world()
    topics = [NewTopic("a", 6_000, 1), NewTopic("b", 4_001, 1), NewTopic("big", 10_001, 1)]
    world.run(asked(*topics, validate_only=True))
    a, b, big = replied(world).topics
    assert a.error is b.error is big.error is ErrorCode.POLICY_VIOLATION
    assert "10001; at most 10000" in a.message


def test_as_many_partitions_as_one_request_may_ask_for_are_taken(make_world):
    world = make_world()
    topics = [NewTopic("a", 6_000, 1), NewTopic("b", 4_000, 1), NewTopic("big", 10_001, 1)]
    world.run(asked(*topics, validate_only=True))
    assert [each.error for each in replied(world).topics] == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.INVALID_PARTITIONS,
    ]


def test_a_broker_that_is_not_the_controller_refuses(make_world):
    world = make_world(active=False)
    world.run(asked(NewTopic("a")))
    assert isinstance(replied(world), Refused)
    assert replied(world).error is ErrorCode.NOT_CONTROLLER
    assert world.questions == []


def test_a_controller_that_is_replaced_meanwhile_answers_once(make_world):
    world = make_world()
    world.interruptions[CreateTopic] = Interruption.CONTROLLER_MOVED
    world.interruptions[GiveUpController] = Interruption.CONTROLLER_MOVED
    world.run(asked(NewTopic("a")))
    assert replied(world).error is ErrorCode.NOT_CONTROLLER
