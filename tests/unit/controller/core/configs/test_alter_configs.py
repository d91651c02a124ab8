from __future__ import annotations

import pytest

from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.configs import (
    AlterConfigs,
    AlterConfigsResult,
    ConfigAlteration,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
    IncrementalAlterConfigs,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.controller.core.configs.effects import ReadConfigs, StoredConfigs, WriteConfigs
from barnabas.controller.core.protocol.effects import Interruption, Reply
from barnabas.controller.core.protocol.inputs import CommandReceived, TopicChange

TOPIC = ConfigResource(ConfigResourceType.TOPIC, "t")
OTHER = ConfigResource(ConfigResourceType.TOPIC, "missing")
BROKER = ConfigResource(ConfigResourceType.BROKER, "2")
ALL_BROKERS = ConfigResource(ConfigResourceType.BROKER, "")


class Stored:
    """``/config`` in memory.

    Attributes:
        nodes: What stands there.
        meanwhile: Written by somebody else just before the next write.
    """

    def __init__(self):
        self.nodes = {}
        self.meanwhile = {}

    def read(self, question):
        return {each: self.nodes.get(each, StoredConfigs({}, None)) for each in question.resources}

    def write(self, question):
        self.nodes.update(self.meanwhile)
        self.meanwhile = {}
        standing = self.nodes.get(question.resource, StoredConfigs({}, None))
        if standing.version != question.version:
            return False
        version = 0 if standing.version is None else standing.version + 1
        self.nodes[question.resource] = StoredConfigs(dict(question.settings), version)
        return True


@pytest.fixture
def stored():
    return Stored()


@pytest.fixture
def world(make_world, stored):
    world = make_world()
    world.write_topic("t", (1, 2, 3))
    world.run(TopicChange())
    world.answers |= {ReadConfigs: stored.read, WriteConfigs: stored.write}
    world.effects.clear()
    world.questions.clear()
    return world


def replied(world):
    (reply,) = world.sent(Reply)
    assert reply.token == 7
    return reply.result


def replace(world, resources, *, validate_only=False):
    world.run(CommandReceived(7, AlterConfigs(resources, validate_only)))
    return replied(world)


def alter(world, resource, *steps):
    alterations = tuple(ConfigAlteration(*step) for step in steps)
    world.run(CommandReceived(7, IncrementalAlterConfigs({resource: alterations})))
    (result,) = replied(world).resources
    return result


def test_alter_configs_replaces_all_that_a_resource_sets_itself(world, stored):
    stored.nodes[TOPIC] = StoredConfigs({"flush.ms": "9"}, 4)
    result = replace(world, {TOPIC: {"retention.ms": "5"}, ALL_BROKERS: {"message.max.bytes": "2000"}})
    assert [(each.resource, each.error, each.message) for each in result.resources] == [
        (TOPIC, ErrorCode.NONE, None),
        (ALL_BROKERS, ErrorCode.NONE, None),
    ]
    assert stored.nodes == {
        TOPIC: StoredConfigs({"retention.ms": "5"}, 5),
        ALL_BROKERS: StoredConfigs({"message.max.bytes": "2000"}, 0),
    }
    assert world.reasons() == [
        "ConfigResource(type=TOPIC, name='t') now sets itself: retention.ms",
        "ConfigResource(type=BROKER, name='') now sets itself: message.max.bytes",
    ]


def test_incremental_alter_configs_leaves_the_others(world, stored):
    stored.nodes[TOPIC] = StoredConfigs({"flush.ms": "9"}, 4)
    assert alter(world, TOPIC, ("retention.ms", ConfigOperation.SET, "5")).error is ErrorCode.NONE
    assert stored.nodes[TOPIC].settings == {"flush.ms": "9", "retention.ms": "5"}


def test_what_somebody_else_writes_meanwhile_is_not_lost(world, stored):
    stored.nodes[TOPIC] = StoredConfigs({}, 0)
    stored.meanwhile = {TOPIC: StoredConfigs({"flush.ms": "9"}, 1)}
    assert alter(world, TOPIC, ("retention.ms", ConfigOperation.SET, "5")).error is ErrorCode.NONE
    assert stored.nodes[TOPIC] == StoredConfigs({"flush.ms": "9", "retention.ms": "5"}, 2)


def test_one_bad_resource_does_not_hinder_another(world, stored):
    result = replace(world, {OTHER: {}, BROKER: {"broker.id": "9"}, TOPIC: {"retention.ms": "5"}})
    assert [each.error for each in result.resources] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NONE,
    ]
    assert result.resources[0].message == "The topic 'missing' does not exist."
    assert set(stored.nodes) == {TOPIC}
    assert any("refused with INVALID_REQUEST" in reason for reason in world.reasons())


def test_validate_only_writes_nothing(world, stored):
    result = replace(world, {TOPIC: {"retention.ms": "5"}, BROKER: {"log.dirs": "x"}}, validate_only=True)
    assert [each.error for each in result.resources] == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
    assert stored.nodes == {}


def test_what_cannot_be_read_is_replaced_but_not_added_to(world, stored):
    stored.nodes[TOPIC] = StoredConfigs(None, 3)
    refused = alter(world, TOPIC, ("retention.ms", ConfigOperation.SET, "5"))
    assert refused.error is ErrorCode.INVALID_CONFIG
    assert "cannot be read" in refused.message
    world.effects.clear()
    replace(world, {TOPIC: {"retention.ms": "5"}})
    assert stored.nodes[TOPIC] == StoredConfigs({"retention.ms": "5"}, 4)


def test_a_former_controller_refuses(world):
    world.interruptions[WriteConfigs] = Interruption.SESSION_EXPIRED
    result = replace(world, {TOPIC: {"retention.ms": "5"}})
    assert isinstance(result, Refused)
    assert result.error is ErrorCode.NOT_CONTROLLER


def test_the_result_is_one_for_both_commands(world):
    assert isinstance(replace(world, {}), AlterConfigsResult)


@pytest.mark.parametrize(
    "command",
    [
        IncrementalAlterConfigs(
            {TOPIC: (ConfigAlteration("retention.ms", ConfigOperation.SET, "5"),)}, validate_only=False
        ),
        AlterConfigs({TOPIC: {"message.format.version": "0.10.2", "retention.ms": "5"}}),
    ],
    ids=["incremental", "whole"],
)
def test_a_topic_with_what_is_not_served_can_change_its_other_settings(world, stored, command):
    stored.nodes[TOPIC] = StoredConfigs({"message.format.version": "0.10.2"}, 3)
    world.run(CommandReceived(7, command))
    (reply,) = world.sent(Reply)
    assert [result.error for result in reply.result.resources] == [ErrorCode.NONE]
    assert stored.nodes[TOPIC].settings == {"message.format.version": "0.10.2", "retention.ms": "5"}
