from __future__ import annotations

from cluster.model.commands_topics import DeleteTopics
from cluster.model.errors import ErrorCode
from controller.core import effects, effects_topics
from controller.core.inputs import DeleteTopicsRequested, TopicChange


def ask(world, *names):
    (reply,) = world.sent(effects.Reply, world.run(DeleteTopicsRequested(7, DeleteTopics(names))))
    assert reply.token == 7
    return {result.name: result.error for result in reply.result.topics}


def test_topics_are_marked_and_others_are_unknown(make_world):
    world = make_world()
    world.write_topic("t", (1, 2))
    world.run(TopicChange())
    assert ask(world, "t", "ghost", "t") == {
        "t": ErrorCode.NONE,
        "ghost": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert world.marked == {"t"}
    assert world.context.topics_to_delete == set(), "the watch leads there"


def test_marking_twice_is_no_error(make_world):
    world = make_world()
    world.write_topic("t", (1, 2))
    assert ask(world, "t") == ask(world, "t") == {"t": ErrorCode.NONE}


def test_nothing_to_mark_writes_nothing(make_world):
    world = make_world()
    ask(world, "ghost")
    assert not any(isinstance(question, effects_topics.MarkTopicDeletions) for question in world.questions)


def test_without_delete_topic_enable_nothing_is_marked(make_world):
    world = make_world(delete_topic_enable=False)
    world.write_topic("t", (1, 2))
    assert ask(world, "t") == {"t": ErrorCode.TOPIC_DELETION_DISABLED}
    assert world.marked == set()


def test_on_another_broker_it_is_refused(make_world):
    world = make_world(active=False)
    (reply,) = world.sent(effects.Reply, world.run(DeleteTopicsRequested(1, DeleteTopics(("t",)))))
    assert reply.result.error is ErrorCode.NOT_CONTROLLER
