"""The creation of ``__consumer_offsets`` on demand."""

from __future__ import annotations

import pytest

from barnabas.broker.core.group.coordinator_partition import OFFSETS_TOPIC
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition


@pytest.fixture
def topic(scene):
    return scene.groups.topic


async def settled(scene):
    await scene.room.until(lambda: "create-offsets-topic" not in scene.supervisor.names)


async def test_the_topic_is_created_once_as_kafka_does(scene, topic):
    scene.room.know()
    topic.create()
    topic.create()
    await settled(scene)
    (command,) = scene.controller.commands
    (new,) = command.topics
    assert (new.name, new.partitions, new.replication_factor) == (OFFSETS_TOPIC, 4, 3)
    assert new.configs == {
        "cleanup.policy": "compact",
        "segment.bytes": "104857600",
        "compression.type": "producer",
    }


async def test_a_creation_that_failed_is_tried_again(scene, topic):
    scene.room.know()
    scene.controller.answer = Refused(ErrorCode.NOT_CONTROLLER, "there is none")
    topic.create()
    await settled(scene)
    topic.create()
    await settled(scene)
    assert len(scene.controller.commands) == 2


async def test_it_waits_for_as_many_brokers_as_it_has_replicas(scene, topic):
    scene.room.forget_brokers()
    assert topic.lacks_brokers
    topic.create()
    await settled(scene)
    assert not scene.controller.commands


async def test_what_exists_is_not_created_and_counts(scene, topic):
    scene.room.know(*(TopicPartition(OFFSETS_TOPIC, number) for number in range(50)))
    topic.create()
    await settled(scene)
    assert not scene.controller.commands
    assert topic.partition_of("my-group") == 12
    assert (topic.leader(12), topic.leader(50)) == (2, None)
