from __future__ import annotations

import dataclasses

import pytest

from barnabas.broker.server.handlers import alter_configs, incremental_alter_configs
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.configs import (
    AlterConfigs,
    AlterConfigsResult,
    ConfigResource,
    ConfigResourceType,
    ResourceResult,
)
from barnabas.cluster.model.errors import ErrorCode

E = ErrorCode
TOPIC, BROKER, LOGGER = 2, 4, 8
A_TOPIC = ConfigResource(ConfigResourceType.TOPIC, "orders")


@pytest.fixture
def alter(broker, schema, request_of):
    async def send(*resources, validate_only=False, context=None):
        s = schema(33, 2)
        asked = tuple(
            s.AlterConfigsResource(
                resource_type=type_,
                resource_name=name,
                configs=tuple(s.AlterableConfig(name=key, value=value) for key, value in own.items()),
            )
            for type_, name, own in resources
        )
        request = request_of(33, 2, s.request(resources=asked, validate_only=validate_only))
        answer = await alter_configs.handle(context or broker.context, request)
        return [(r.resource_type, r.resource_name, r.error_code, r.error_message) for r in answer.responses]

    return send


def results(**errors):
    return AlterConfigsResult(
        tuple(
            ResourceResult(ConfigResource(ConfigResourceType.TOPIC, name), error, "why")
            for name, error in errors.items()
        )
    )


async def test_the_controller_is_asked_wherever_it_is(broker, alter):
    broker.any_controller.answer = results(orders=E.NONE)
    assert await alter((TOPIC, "orders", {"flush.ms": "9"})) == [(TOPIC, "orders", E.NONE, "why")]
    assert broker.any_controller.commands == [(AlterConfigs({A_TOPIC: {"flush.ms": "9"}}), 30_000)]
    assert broker.controller.commands == []


async def test_only_the_check_may_be_asked_for(broker, alter):
    broker.any_controller.answer = results(orders=E.NONE)
    await alter((TOPIC, "orders", {}), validate_only=True)
    ((command, _),) = broker.any_controller.commands
    assert command.validate_only


async def test_this_broker_and_all_brokers_may_be_altered_here(broker, alter):
    own, everybody = (ConfigResource(ConfigResourceType.BROKER, name) for name in ("1", ""))
    broker.any_controller.answer = AlterConfigsResult(
        (ResourceResult(own, E.NONE), ResourceResult(everybody, E.INVALID_REQUEST, "no"))
    )
    assert await alter((BROKER, "1", {}), (BROKER, "", {})) == [
        (BROKER, "1", E.NONE, None),
        (BROKER, "", E.INVALID_REQUEST, "no"),
    ]


@pytest.mark.parametrize(
    ("type_", "name", "says"),
    [
        (BROKER, "2", "Unexpected broker id, expected 1, but received 2"),
        (BROKER, "one", "Broker id must be an integer, but it is: one"),
        (LOGGER, "1", "only supported for topics and brokers, but resource type is 8"),
        (77, "x", "only supported for topics and brokers, but resource type is 77"),
    ],
)
async def test_what_cannot_be_altered_here(broker, alter, type_, name, says):
    ((_, _, error, message),) = await alter((type_, name, {}))
    assert error is E.INVALID_REQUEST
    assert says in message
    assert broker.any_controller.commands == []


async def test_without_a_controller_each_resource_is_refused_so_that_clients_try_again(broker, alter):
    broker.any_controller.answer = Refused(E.NOT_CONTROLLER, "there is no controller now")
    assert await alter((TOPIC, "orders", {}), (BROKER, "2", {})) == [
        (TOPIC, "orders", E.NOT_CONTROLLER, "there is no controller now"),
        (BROKER, "2", E.INVALID_REQUEST, "Unexpected broker id, expected 1, but received 2"),
    ]


async def test_a_resource_named_twice_is_answered_once(broker, alter):
    broker.any_controller.answer = results(orders=E.NONE)
    assert len(await alter((TOPIC, "orders", {"flush.ms": "1"}), (TOPIC, "orders", {"flush.ms": "2"}))) == 1
    ((command, _),) = broker.any_controller.commands
    assert command.resources == {A_TOPIC: {"flush.ms": "2"}}


async def test_more_settings_than_there_are_do_not_reach_the_controller(broker, alter):
    many = {f"s.{n}": "1" for n in range(1_001)}
    assert await alter((TOPIC, "orders", many)) == [
        (
            TOPIC,
            "orders",
            E.INVALID_REQUEST,
            "Cannot alter 1001 settings at once; expected 1000 at most",
        )
    ]
    assert broker.any_controller.commands == []


KEY = "listener.name.ssl.ssl.keystore.location"


def with_stores(broker, dynamic, seen):
    """The broker's context if it uses TLS and has these settings in ZooKeeper; ``/good`` alone is a store."""

    def refusal_of_stores(settings):
        seen.append(dict(settings))
        return None if settings.get(KEY, "/good") == "/good" else f"{KEY} is bad"

    broker.broker_settings = dataclasses.replace(broker.broker_settings, dynamic=dynamic)
    return dataclasses.replace(broker.context, refusal_of_stores=refusal_of_stores)


async def test_stores_that_this_broker_cannot_use_do_not_reach_the_controller(broker, alter):
    seen = []
    context = with_stores(broker, {"a": "1"}, seen)
    broker.any_controller.answer = AlterConfigsResult(
        (ResourceResult(ConfigResource(ConfigResourceType.BROKER, "1"), E.NONE),)
    )
    assert await alter((BROKER, "1", {KEY: "/good"}), context=context) == [(BROKER, "1", E.NONE, None)]
    (refused,) = await alter((BROKER, "1", {KEY: "/bad"}), context=context)
    assert refused[2] == E.INVALID_REQUEST
    assert refused[3] == (
        f"Invalid config value for resource ConfigResource(type=BROKER, name='1'): {KEY} is bad"
    )
    assert seen == [{KEY: "/good"}, {KEY: "/bad"}]
    assert len(broker.any_controller.commands) == 1


async def test_stores_are_checked_for_this_broker_alone(broker, alter):
    seen = []
    context = with_stores(broker, {}, seen)
    broker.any_controller.answer = results(orders=E.NONE)
    await alter((TOPIC, "orders", {KEY: "/bad"}), context=context)
    assert seen == []


async def test_steps_are_applied_to_the_settings_in_zookeeper_before_the_check(broker, schema, request_of):
    seen = []
    context = with_stores(broker, {KEY: "/good", "a": "1"}, seen)
    broker.any_controller.answer = results()
    s = schema(44, 1)
    steps = ((KEY, 0, "/other"), ("a", 1, None), ("b", 2, "x"))
    configs = tuple(
        s.AlterableConfig(name=name, config_operation=operation, value=value)
        for name, operation, value in steps
    )
    resource = s.AlterConfigsResource(resource_type=BROKER, resource_name="1", configs=configs)
    request = request_of(44, 1, s.request(resources=(resource,), validate_only=False))
    (result,) = (await incremental_alter_configs.handle(context, request)).responses
    assert result.error_code == E.INVALID_REQUEST
    assert seen == [{KEY: "/other"}]
