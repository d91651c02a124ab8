from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.broker.server.handlers.describe_configs import handle
from barnabas.cluster.model.configs.described import BrokerSettings
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime import turn
from barnabas.cluster.zk.client.errors import ZooKeeperTimeout

E = ErrorCode
TOPIC, BROKER, LOGGER = 2, 4, 8
TOPIC_CONFIG, STATIC_BROKER_CONFIG, DEFAULT_CONFIG = 1, 4, 5
DYNAMIC_BROKER_CONFIG, DYNAMIC_DEFAULT_BROKER_CONFIG = 2, 3


@pytest.fixture
def describe(schema, request_of):
    def build(*resources, version=4, **options):
        s = schema(32, version)
        asked = tuple(
            s.DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
            for kind, name, keys in resources
        )
        return request_of(32, version, s.request(resources=asked, **options))

    return build


def by_name(result):
    return {config.name: config for config in result.configs}


@pytest.mark.parametrize("version", range(1, 5))
async def test_a_topics_own_setting_is_distinguished_from_the_brokers(broker, describe, version):
    broker.topic("orders", 1)
    broker.topic_overrides.settings["orders"] = {"min.insync.replicas": "2"}
    (result,) = (await handle(broker.context, describe((TOPIC, "orders", None), version=version))).results
    assert (result.error_code, result.resource_type, result.resource_name) == (E.NONE, TOPIC, "orders")
    told = by_name(result)
    own, default = told["min.insync.replicas"], told["retention.bytes"]
    assert (own.value, own.config_source, own.read_only, own.synonyms) == ("2", TOPIC_CONFIG, False, ())
    assert (default.value, default.config_source, default.is_sensitive) == ("-1", DEFAULT_CONFIG, False)
    if version >= 3:
        assert (own.config_type, default.config_type, own.documentation) == (3, 5, None)


async def test_version_0_says_which_values_are_defaults(broker, describe):
    broker.topic("orders", 1)
    broker.topic_overrides.settings["orders"] = {"min.insync.replicas": "2"}
    (result,) = (await handle(broker.context, describe((TOPIC, "orders", None), version=0))).results
    told = by_name(result)
    assert [told[name].is_default for name in ("min.insync.replicas", "retention.bytes")] == [False, True]


async def test_topics_are_read_once_and_together(broker, describe):
    broker.topic("orders", 1)
    broker.topic("payments", 1)
    await handle(
        broker.context,
        describe(
            (TOPIC, "payments", None), (TOPIC, "orders", None), (TOPIC, "none", None), (BROKER, "1", None)
        ),
    )
    assert broker.topic_overrides.asked == [["orders", "payments"]]


async def test_zookeeper_is_left_alone_where_no_topic_is_asked(broker, describe):
    await handle(broker.context, describe((BROKER, "1", None)))
    assert broker.topic_overrides.asked == []


@pytest.mark.parametrize(
    ("keys", "told"),
    [(("retention.ms", "colour"), ["retention.ms"]), (("colour",), [])],
)
async def test_only_the_requested_keys_are_returned(broker, describe, keys, told):
    broker.topic("orders", 1)
    (result,) = (await handle(broker.context, describe((TOPIC, "orders", keys)))).results
    assert [config.name for config in result.configs] == told


async def test_no_keys_mean_all_keys(broker, describe):
    broker.topic("orders", 1)
    told = []
    for keys in (None, ()):
        (result,) = (await handle(broker.context, describe((TOPIC, "orders", keys)))).results
        told.append(result.configs)
    assert told[0] == told[1]
    assert len(told[0]) > 20


async def test_synonyms_and_documentation_come_when_asked(broker, describe):
    broker.topic("orders", 1)
    broker.topic_overrides.settings["orders"] = {"segment.bytes": "100"}
    asked = describe((TOPIC, "orders", ("segment.bytes",)), include_synonyms=True, include_documentation=True)
    (config,) = (await handle(broker.context, asked)).results[0].configs
    assert [(each.name, each.value, each.source) for each in config.synonyms] == [
        ("segment.bytes", "100", TOPIC_CONFIG),
        ("log.segment.bytes", "1073741824", DEFAULT_CONFIG),
    ]
    assert config.documentation == "The size at which a segment is rolled."


async def test_this_brokers_settings(broker, describe):
    settings = broker.broker_settings
    given = {**settings.given, "secret.sauce": "tabasco"}
    broker.broker_settings = BrokerSettings(settings.values, given)
    (result,) = (await handle(broker.context, describe((BROKER, "1", None)))).results
    told = by_name(result)
    connect, listeners, sauce = told["zookeeper.connect"], told["advertised.listeners"], told["secret.sauce"]
    assert (connect.value, connect.config_source, connect.read_only) == ("z", STATIC_BROKER_CONFIG, True)
    assert (listeners.config_source, listeners.read_only, listeners.config_type) == (DEFAULT_CONFIG, False, 2)
    assert (sauce.value, sauce.is_sensitive, sauce.config_type) == (None, True, 0)


async def test_the_cluster_has_no_dynamic_settings_until_it_is_given_some(broker, describe):
    (result,) = (await handle(broker.context, describe((BROKER, "", None)))).results
    assert (result.error_code, result.configs) == (E.NONE, ())
    broker.broker_settings = replace(broker.broker_settings, dynamic_default={"message.max.bytes": "2000"})
    (result,) = (await handle(broker.context, describe((BROKER, "", None)))).results
    (config,) = result.configs
    assert (config.name, config.value, config.config_source, config.read_only) == (
        "message.max.bytes",
        "2000",
        DYNAMIC_DEFAULT_BROKER_CONFIG,
        False,
    )


async def test_a_dynamic_setting_of_this_broker(broker, describe):
    broker.broker_settings = replace(
        broker.broker_settings,
        values={**broker.broker_settings.values, "message.max.bytes": 3000},
        dynamic={"message.max.bytes": "3000"},
        dynamic_default={"message.max.bytes": "2000"},
    )
    request = describe((BROKER, "1", ("message.max.bytes",)), include_synonyms=True)
    ((config,),) = [each.configs for each in (await handle(broker.context, request)).results]
    assert (config.value, config.config_source) == ("3000", DYNAMIC_BROKER_CONFIG)
    assert [(each.value, each.source) for each in config.synonyms] == [
        ("3000", DYNAMIC_BROKER_CONFIG),
        ("2000", DYNAMIC_DEFAULT_BROKER_CONFIG),
        ("1048588", DEFAULT_CONFIG),
    ]


@pytest.mark.parametrize(
    ("resource", "error", "says"),
    [
        ((TOPIC, "missing", None), E.UNKNOWN_TOPIC_OR_PARTITION, "'missing'"),
        ((TOPIC, "a/b", None), E.INVALID_TOPIC_EXCEPTION, "a/b"),
        ((BROKER, "2", None), E.INVALID_REQUEST, "expected 1 or empty string, but received 2"),
        ((BROKER, "one", None), E.INVALID_REQUEST, "received one"),
        ((LOGGER, "1", None), E.INVALID_REQUEST, "Unsupported resource type 8"),
        ((0, "x", None), E.INVALID_REQUEST, "Unsupported resource type 0"),
        ((TOPIC, "spoilt", None), E.INVALID_CONFIG, "retention.ms"),
    ],
)
async def test_a_resource_that_cannot_be_described_does_not_spoil_the_others(
    broker, describe, resource, error, says
):
    broker.topic("spoilt", 1)
    broker.topic_overrides.settings["spoilt"] = {"retention.ms": "long"}
    refused, described = (
        await handle(broker.context, describe(resource, (BROKER, "1", ("broker.id",))))
    ).results
    assert (refused.error_code, refused.configs) == (error, ())
    assert (refused.resource_type, refused.resource_name) == resource[:2]
    assert says in refused.error_message
    assert (described.error_code, len(described.configs)) == (E.NONE, 1)


async def test_a_resource_that_is_named_twice_is_answered_once(broker, describe):
    answer = await handle(
        broker.context, describe((BROKER, "1", None), (TOPIC, "1", None), (BROKER, "1", None))
    )
    assert [(each.resource_type, each.resource_name) for each in answer.results] == [
        (BROKER, "1"),
        (TOPIC, "1"),
    ]


async def test_a_zookeeper_that_does_not_answer_leaves_topics_for_later(broker, describe):
    broker.topic("orders", 1)
    broker.topic_overrides.error = ZooKeeperTimeout("no answer")
    topic, own = (
        await handle(broker.context, describe((TOPIC, "orders", None), (BROKER, "1", None)))
    ).results
    assert (topic.error_code, topic.configs) == (E.REQUEST_TIMED_OUT, ())
    assert own.error_code == E.NONE


async def test_many_keys_are_not_hashed_in_one_turn(broker, describe, turns, monkeypatch):
    """100,000 of them took 20 ms of CPU time."""
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    broker.topic("orders", 1)
    keys = (*turns.names(100), "retention.ms")
    (result,) = (await handle(broker.context, describe((TOPIC, "orders", keys)))).results
    assert list(by_name(result)) == ["retention.ms"]
    assert turns.most_in_a_turn() < 10
