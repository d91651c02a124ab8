"""TLS of the listener between brokers, by its settings."""

from __future__ import annotations

import pytest

from barnabas.broker.config.broker_config import parse
from barnabas.cluster.model.configs.declarations import ConfigError
from tests.certificates import Authority

LISTENERS = {"zookeeper.connect": "z", "listeners": "PLAINTEXT://h:1,GRPC://h:2"}
SECURED = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,GRPC:SSL"}
GRPC = "listener.name.grpc."
SUITE = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
ROOT = Authority("root")


def config(**settings):
    return parse({**LISTENERS, **settings}, hostname="here")[0]


@pytest.fixture
def stores(tmp_path):
    own = ROOT.issue("CN=b1", ("here",)).write_pem(tmp_path / "own.pem")
    (tmp_path / "ca.pem").write_text(ROOT.text)
    return {
        f"{GRPC}ssl.keystore.location": str(own),
        "ssl.keystore.type": "PEM",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(tmp_path / "ca.pem"),
    }


def test_there_is_none_by_default():
    assert config().peer_security is None


@pytest.mark.parametrize("settings", [SECURED, {"security.inter.broker.protocol": "SSL"}])
def test_stores_are_those_of_the_listener_or_of_all(stores, settings):
    parsed = config(**stores, **settings, **{f"{GRPC}ssl.client.auth": "required"})
    loaded = parsed.peer_security.load()
    assert (loaded.identity is not None, loaded.trusted) == (True, ROOT.text.encode())
    assert parsed.peer_security.mapping.user_of("CN=b1") == "CN=b1"
    (endpoint,) = [each for each in parsed.listeners if each.listener == "GRPC"]
    assert endpoint.security_protocol == "SSL"


def test_the_protocol_may_be_set_twice_alike_and_beside_a_map_without_it():
    assert config(**{"security.inter.broker.protocol": "PLAINTEXT"}).peer_security is None
    assert config(**SECURED, **{"security.inter.broker.protocol": "SSL"}).peer_security is not None
    others = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"}
    assert config(**others, **{"security.inter.broker.protocol": "SSL"}).peer_security is not None


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        (
            "security.inter.broker.protocol",
            "PLAINTEXT",
            "it must be SSL, which listener.security.protocol.map",
        ),
        ("security.inter.broker.protocol", "SASL_SSL", "it must be one of PLAINTEXT, SSL"),
        ("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,GRPC:SASL_PLAINTEXT", "PLAINTEXT or SSL for"),
        (f"{GRPC}ssl.client.auth", "requested", f"{GRPC}ssl.client.auth has the value 'requested'"),
        ("ssl.enabled.protocols", "TLSv1.3", "it must be TLSv1.2,TLSv1.3 for the listener between brokers"),
        (f"{GRPC}ssl.cipher.suites", SUITE, f"{GRPC}ssl.cipher.suites .* must be not set"),
        ("ssl.principal.mapping.rules", "RULE:(/x/", "ssl.principal.mapping.rules"),
    ],
)
def test_what_is_not_served_is_refused(name, value, error):
    with pytest.raises(ConfigError, match=error):
        config(**{**SECURED, name: value})


def test_settings_of_clients_do_not_count_where_the_listener_has_its_own():
    config(
        **SECURED,
        **{
            "ssl.client.auth": "none",
            "ssl.enabled.protocols": "TLSv1.3",
            f"{GRPC}ssl.enabled.protocols": "TLSv1.3,TLSv1.2",
            f"{GRPC}ssl.endpoint.identification.algorithm": "HTTPS",
        },
    )


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        (f"{GRPC}ssl.keystore.location", r"ssl\.keystore\.location is not set"),
        ("ssl.truststore.location", r"ssl\.truststore\.location is not set"),
    ],
)
def test_both_stores_are_needed(stores, missing, named):
    del stores[missing]
    with pytest.raises(ConfigError, match=named):
        config(**SECURED, **stores).peer_security.load()


def test_an_error_names_the_setting_as_it_was_given(stores):
    stores[f"{GRPC}ssl.keystore.location"] = "/nowhere/own.pem"
    with pytest.raises(ConfigError, match=rf"{GRPC}ssl.keystore.location has the value '/nowhere"):
        config(**SECURED, **stores).peer_security.load()
