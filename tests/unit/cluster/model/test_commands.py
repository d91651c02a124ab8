"""Commands to the controller and their defaults."""

from __future__ import annotations

from barnabas.cluster.model.commands import CreateTopics, NewTopic, TopicResult
from barnabas.cluster.model.errors import ErrorCode


def test_a_topic_that_names_nothing_leaves_all_to_the_broker() -> None:
    topic = NewTopic("orders")
    assert (topic.partitions, topic.replication_factor) == (-1, -1)
    assert not topic.assignments
    assert not topic.configs
    assert not CreateTopics((topic,)).validate_only


def test_a_refused_topic_has_no_size() -> None:
    result = TopicResult("orders", ErrorCode.TOPIC_ALREADY_EXISTS, "topic orders exists")
    assert (result.partitions, result.replication_factor) == (-1, -1)
