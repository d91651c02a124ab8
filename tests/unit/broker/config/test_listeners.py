import pytest

from barnabas.broker.config.listeners import parse_listeners, parse_security_map
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.configs.declarations import ConfigError

PLAIN = {"PLAINTEXT": "PLAINTEXT", "GRPC": "PLAINTEXT"}


def test_the_map_of_protocols():
    assert parse_security_map(["PLAINTEXT:PLAINTEXT", "grpc:PLAINTEXT"]) == PLAIN


@pytest.mark.parametrize(
    ("item", "allowed"),
    [
        ("PLAINTEXT", "NAME:PROTOCOL"),
        (":PLAINTEXT", "NAME:PROTOCOL"),
        ("A:TLS", "one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
    ],
)
def test_a_bad_map_is_refused(item, allowed):
    with pytest.raises(ConfigError, match=allowed):
        parse_security_map([item])


def test_listeners():
    assert parse_listeners("listeners", ["PLAINTEXT://a:1", "grpc://[::1]:2"], PLAIN) == (
        Endpoint("PLAINTEXT", "a", 1),
        Endpoint("GRPC", "::1", 2),
    )


def test_several_may_take_any_free_port():
    assert len(parse_listeners("listeners", ["PLAINTEXT://a:0", "GRPC://a:0"], PLAIN)) == 2


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["a:1"], "'a:1'; it must be a list of NAME://host:port"),
        (["PLAINTEXT://a:70000"], "with a port up to 65535"),
        (["SSL://a:1"], "listener.security.protocol.map has: GRPC, PLAINTEXT"),
        (["PLAINTEXT://a:1", "PLAINTEXT://b:2"], "PLAINTEXT://a:1 stands before it"),
        (["PLAINTEXT://a:1", "GRPC://b:1"], "a port of its own; PLAINTEXT://a:1 has the same"),
    ],
)
def test_bad_listeners_are_refused(items, message):
    with pytest.raises(ConfigError) as error:
        parse_listeners("listeners", items, PLAIN)
    assert message in str(error.value)


def test_advertised_ports_may_be_equal():
    assert len(parse_listeners("advertised.listeners", ["PLAINTEXT://a:1", "GRPC://b:1"], PLAIN)) == 2
