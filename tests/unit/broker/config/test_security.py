"""The security settings of listeners."""

from __future__ import annotations

import pytest

from barnabas.broker.config.broker_config import parse
from barnabas.cluster.model.configs.declarations import ConfigError

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
LISTENERS = "PLAINTEXT://h:1,GRPC://h:2,SASL_PLAINTEXT://h:3,OUTER://h:4"
GIVEN = {
    "zookeeper.connect": "z",
    "listeners": LISTENERS,
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,GRPC:PLAINTEXT,"
    "SASL_PLAINTEXT:SASL_PLAINTEXT,OUTER:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{PLAIN} required user_a="secret";',
    "listener.name.outer.sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
    "listener.name.outer.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
    "listener.name.outer.plain.sasl.jaas.config": f'{PLAIN} required user_b="secret";',
    "listener.name.outer.connections.max.reauth.ms": "2000",
    "listener.name.outer.plain.connections.max.reauth.ms": "1000",
    "listener.name.outer.max.connection.creation.rate": "10",
}


def test_each_listener_has_its_own_security():
    config, unknown = parse(GIVEN, hostname="here")
    assert unknown == ()
    assert set(config.security) == {"PLAINTEXT", "SASL_PLAINTEXT", "OUTER"}
    assert config.security["PLAINTEXT"].mechanisms == {}
    own = config.security["SASL_PLAINTEXT"].mechanisms
    assert {name: (each.max_reauth_ms, dict(each.jaas.options)) for name, each in own.items()} == {
        "PLAIN": (0, {"user_a": "secret"})
    }
    outer = config.security["OUTER"].mechanisms
    assert [(name, each.max_reauth_ms) for name, each in outer.items()] == [
        ("SCRAM-SHA-512", 2000),
        ("PLAIN", 1000),
    ]
    assert "secret" not in repr(config.security)


def test_settings_of_no_listener_are_unknown():
    names = ("listener.name.other.sasl.enabled.mechanisms", "listener.name.outer.no.such", "other")
    _, unknown = parse({**GIVEN, **dict.fromkeys(names, "PLAIN")}, hostname="here")
    assert unknown == names


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("sasl.enabled.mechanisms", "GSSAPI", "must be a list of PLAIN"),
        ("sasl.enabled.mechanisms", "plain", "must be a list of PLAIN"),
        ("sasl.enabled.mechanisms", None, "must be a list of PLAIN"),
        ("listener.name.outer.plain.sasl.jaas.config", None, "because PLAIN is enabled"),
        ("listener.name.outer.plain.sasl.jaas.config", "secret", "it must be a JAAS entry, with"),
        ("listener.name.outer.plain.sasl.jaas.config", f'{SCRAM} required a="secret";', "which serves PLAIN"),
        (
            "listener.name.outer.connections.max.reauth.ms",
            "soon",
            "listener.name.outer.connections.max.reauth.ms",
        ),
        ("listener.name.outer.max.connections", "0", "listener.name.outer.max.connections .* at least 1"),
        ("max.connections.per.ip", "0", "above 0 without max.connections.per.ip.overrides"),
        ("max.connections.per.ip.overrides", "a:b", "a list of address:number"),
        ("connections.max.idle.ms", "100", "less than connections.max.idle.ms"),
        (
            "listener.security.protocol.map",
            "PLAINTEXT:PLAINTEXT,GRPC:SASL_PLAINTEXT,SASL_PLAINTEXT:PLAINTEXT,OUTER:PLAINTEXT",
            "PLAINTEXT or SSL for the listener between brokers",
        ),
    ],
)
def test_a_bad_setting_is_named_and_a_secret_is_not_repeated(name, value, error):
    given = {key: text for key, text in {**GIVEN, name: value}.items() if text is not None}
    with pytest.raises(ConfigError, match=error) as refused:
        parse(given, hostname="here")
    assert "secret" not in str(refused.value).replace("a secret", "")


def test_an_entry_without_the_mechanism_does_not_count():
    entry = GIVEN["listener.name.outer.plain.sasl.jaas.config"]
    given = {**GIVEN, "sasl.jaas.config": entry, "listener.name.outer.sasl.jaas.config": entry}
    del given["listener.name.outer.plain.sasl.jaas.config"]
    with pytest.raises(ConfigError, match=r"jaas\.config is not set"):
        parse(given, hostname="here")
