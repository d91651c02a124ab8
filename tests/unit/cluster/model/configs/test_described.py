from dataclasses import replace

import pytest

from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.configs.declarations import ConfigError, parse_given, with_defaults
from barnabas.cluster.model.configs.described import (
    DYNAMIC_BROKER_CONFIGS,
    LISTENER_CONFIGS,
    LIVE_BROKER_CONFIGS,
    BrokerSettings,
    ConfigSource,
    ConfigSynonym,
    describe_broker,
    describe_brokers_default,
    describe_topic,
)
from barnabas.cluster.model.configs.topic import TOPIC_CONFIGS

TOPIC, STATIC, DEFAULT = (
    ConfigSource.DYNAMIC_TOPIC_CONFIG,
    ConfigSource.STATIC_BROKER_CONFIG,
    ConfigSource.DEFAULT_CONFIG,
)


def settings(**given):
    texts = {"zookeeper.connect": "z"} | {name.replace("_", "."): text for name, text in given.items()}
    return BrokerSettings(with_defaults(BROKER_CONFIGS, parse_given(BROKER_CONFIGS, texts)[0]), texts)


def topic(overrides, **given):
    return {each.name: each for each in describe_topic(settings(**given), overrides)}


def broker(**given):
    return {each.name: each for each in describe_broker(settings(**given))}


def test_a_topic_has_every_setting_of_the_table_in_its_order():
    assert list(topic({})) == list(TOPIC_CONFIGS)
    assert all(each.source is DEFAULT and not each.read_only for each in topic({}).values())


def test_retention_bytes_is_a_default_as_clients_expect_it():
    result = topic({})["retention.bytes"]
    assert (result.value, result.source, result.config.kafka_type.name) == ("-1", DEFAULT, "LONG")


def test_the_synonyms_of_a_topic_setting_come_strongest_first():
    result = topic({"min.insync.replicas": " 3"}, min_insync_replicas="2")["min.insync.replicas"]
    assert (result.value, result.source) == ("3", TOPIC)
    assert result.synonyms == (
        ConfigSynonym("min.insync.replicas", "3", TOPIC),
        ConfigSynonym("min.insync.replicas", "2", STATIC),
        ConfigSynonym("min.insync.replicas", "1", DEFAULT),
    )


def test_a_static_setting_of_the_broker_is_no_default_of_its_topics():
    result = topic({}, log_segment_bytes="100")["segment.bytes"]
    assert (result.value, result.source) == ("100", STATIC)
    assert [each.name for each in result.synonyms] == ["log.segment.bytes"] * 2


@pytest.mark.parametrize(
    ("given", "value", "source", "names"),
    [
        ({}, "604800000", DEFAULT, []),
        # As in Kafka: hours alone leave it a default, whatever its value.
        ({"log_retention_hours": "1"}, "3600000", DEFAULT, []),
        (
            {"log_retention_ms": "7", "log_retention_hours": "1"},
            "7",
            STATIC,
            ["log.retention.ms", "log.retention.hours", "log.retention.hours"],
        ),
    ],
)
def test_a_time_with_several_broker_settings(given, value, source, names):
    result = topic({}, **given)["retention.ms"]
    assert (result.value, result.source) == (value, source)
    assert [each.name for each in result.synonyms] == names


def test_an_unknown_topic_setting_is_returned_without_its_value():
    result = topic({"colour": "red"})["colour"]
    assert result.is_sensitive
    assert (result.value, result.config, result.synonyms) == (
        None,
        None,
        (ConfigSynonym("colour", None, TOPIC),),
    )


def test_secrets_are_hidden_wherever_they_come_from():
    given = {"sasl.jaas.config": "secret", "listener.name.a.plain.sasl.jaas.config": "secret"}
    values = with_defaults(
        BROKER_CONFIGS, parse_given(BROKER_CONFIGS, {"zookeeper.connect": "z", **given})[0]
    )
    broker = BrokerSettings(values, given, dynamic=given, dynamic_default=given)
    assert (str(values["sasl.jaas.config"]), repr(values["sasl.jaas.config"])) == ("[hidden]", "[hidden]")
    assert f"{values['sasl.jaas.config']}" == "[hidden]"
    described = {each.name: each for each in (*describe_broker(broker), *describe_brokers_default(broker))}
    for name in given:
        assert (described[name].value, described[name].is_sensitive) == (None, True)
        assert {synonym.value for synonym in described[name].synonyms} == {None}


def test_a_topics_bad_value_is_named():
    with pytest.raises(ConfigError, match=r"min\.insync\.replicas has the value '0'"):
        topic({"min.insync.replicas": "0"})


def test_a_broker_has_every_setting_of_the_table_and_the_unknown_keys_hidden():
    result = broker(secret_sauce="tabasco")
    assert list(result) == [*BROKER_CONFIGS, "secret.sauce"]
    unknown = result["secret.sauce"]
    assert (unknown.value, unknown.source, unknown.is_sensitive) == (None, STATIC, True)
    assert unknown.synonyms == (ConfigSynonym("secret.sauce", None, STATIC),)


def test_advertised_listeners_that_are_not_set_are_as_clients_expect_them():
    result = broker()["advertised.listeners"]
    assert (result.value, result.source, result.read_only, result.synonyms) == (None, DEFAULT, False, ())
    assert result.config.kafka_type.name == "STRING"


def test_what_the_broker_was_given_lies_over_the_default():
    result = broker(log_cleanup_policy="compact, delete")["log.cleanup.policy"]
    assert (result.value, result.source) == ("compact,delete", STATIC)
    assert [each.value for each in result.synonyms] == ["compact, delete", "delete"]


def test_only_known_settings_are_dynamic_and_the_rest_is_read_only():
    assert BROKER_CONFIGS.keys() > DYNAMIC_BROKER_CONFIGS
    result = broker()
    assert result["broker.id"].read_only
    assert result["log.retention.hours"].read_only
    assert result["log.message.format.version"].read_only
    assert not result["log.retention.ms"].read_only


def test_dynamic_layers_lie_over_the_file_and_the_brokers_own_over_that_of_all():
    dynamic = replace(
        settings(min_insync_replicas="2"),
        dynamic={"min.insync.replicas": "4"},
        dynamic_default={"min.insync.replicas": "3", "a.plugins.own": "x"},
    )
    result = {each.name: each for each in describe_broker(dynamic)}
    assert result["min.insync.replicas"].synonyms == (
        ConfigSynonym("min.insync.replicas", "4", ConfigSource.DYNAMIC_BROKER_CONFIG),
        ConfigSynonym("min.insync.replicas", "3", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        ConfigSynonym("min.insync.replicas", "2", STATIC),
        ConfigSynonym("min.insync.replicas", "1", DEFAULT),
    )
    assert (result["a.plugins.own"].value, result["a.plugins.own"].is_sensitive) == (None, True)
    topics = {each.name: each for each in describe_topic(dynamic, {})}
    assert topics["min.insync.replicas"].source is ConfigSource.DYNAMIC_BROKER_CONFIG


def test_the_default_of_all_brokers_holds_only_what_was_set_for_all():
    texts = {"min.insync.replicas": "3", "a.plugins.own": "x"}
    result = describe_brokers_default(replace(settings(), dynamic_default=texts))
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    assert [(each.name, each.value, each.source, each.read_only) for each in result] == [
        ("min.insync.replicas", "3", source, False),
        ("a.plugins.own", None, source, True),
    ]


def test_a_running_broker_takes_over_all_but_its_listeners():
    assert LIVE_BROKER_CONFIGS == DYNAMIC_BROKER_CONFIGS - LISTENER_CONFIGS
    assert "listeners" in DYNAMIC_BROKER_CONFIGS
