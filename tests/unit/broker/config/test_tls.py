"""The settings of TLS of listeners."""

from __future__ import annotations

import pytest

from barnabas.broker.config.broker_config import parse
from barnabas.cluster.model.configs.declarations import ConfigError, Password

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
GIVEN = {
    "zookeeper.connect": "z",
    "listeners": "PLAINTEXT://h:1,GRPC://h:2,SSL://h:3,OUTER://h:4,SASL_SSL://h:5",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,GRPC:PLAINTEXT,SSL:SSL,OUTER:SSL,"
    "SASL_SSL:SASL_SSL",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{PLAIN} required user_a="secret";',
    "ssl.keystore.location": "/common.p12",
    "ssl.keystore.password": "secret",
    "ssl.client.auth": "required",
    "ssl.endpoint.identification.algorithm": "",
    "listener.name.outer.ssl.keystore.location": "/outer.pem",
    "listener.name.outer.ssl.keystore.type": "PEM",
    "listener.name.outer.ssl.client.auth": "requested",
    "listener.name.outer.ssl.enabled.protocols": "TLSv1.3",
    "listener.name.outer.ssl.principal.mapping.rules": "RULE:^CN=(.*?),.*$/$1/,DEFAULT",
    "listener.name.sasl_ssl.ssl.cipher.suites": "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
}


def security(**changes):
    config, unknown = parse(GIVEN | changes, hostname="here")
    assert unknown == ()
    return {name: each.ssl for name, each in config.security.items()}


def test_each_listener_has_its_own_tls():
    found = security()
    assert set(found) == {"PLAINTEXT", "SSL", "OUTER", "SASL_SSL"}
    assert found["PLAINTEXT"] is None
    common, outer = found["SSL"], found["OUTER"]
    assert common.stores["ssl.keystore.location"] == "/common.p12"
    assert common.stores["ssl.keystore.type"] == "JKS"
    assert common.stores["ssl.keystore.password"] == Password("secret")
    assert outer.stores["ssl.keystore.location"] == "/outer.pem"
    assert [each.terms.client_auth for each in (common, outer)] == ["required", "requested"]
    assert [each.terms.versions for each in (common, outer)] == [("TLSv1.2", "TLSv1.3"), ("TLSv1.3",)]
    assert [each.mapping.user_of("CN=a,O=b") for each in (common, outer)] == ["CN=a,O=b", "a"]
    assert common.named("ssl.keystore.location") == "ssl.keystore.location"
    assert outer.named("ssl.keystore.location") == "listener.name.outer.ssl.keystore.location"


def test_with_sasl_certificates_are_asked_for_by_the_listener_s_own_setting_alone():
    both = security()["SASL_SSL"]
    assert (both.terms.client_auth, both.mapping) == ("none", None)
    assert both.terms.versions == ("TLSv1.2",)
    own = security(**{"listener.name.sasl_ssl.ssl.client.auth": "required"})["SASL_SSL"]
    assert own.terms.client_auth == "required"


def test_host_names_are_not_checked_if_the_algorithm_is_empty():
    config, _ = parse(GIVEN)
    assert config.values["ssl.endpoint.identification.algorithm"] == ""


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        (
            "ssl.client.auth",
            "yes",
            "ssl.client.auth has the value 'yes'; it must be one of required, requested",
        ),
        ("listener.name.ssl.ssl.client.auth", "yes", "listener.name.ssl.ssl.client.auth has the value 'yes'"),
        ("ssl.enabled.protocols", "TLSv1.1,TLSv1.2", "it must be one of TLSv1.2, TLSv1.3"),
        (
            "ssl.protocol",
            "SSLv3",
            "ssl.protocol has the value 'SSLv3'; it must be one of TLS, TLSv1.2, TLSv1.3",
        ),
        ("listener.name.ssl.ssl.protocol", "SSL", "listener.name.ssl.ssl.protocol has the value 'SSL'"),
        (
            "ssl.cipher.suites",
            "RC4",
            "ssl.cipher.suites has the value 'RC4'; .* which 'RC4' is not: TLS_AES_256",
        ),
        ("ssl.cipher.suites", "TLS_AES_128_GCM_SHA256", "a list with TLS_AES_256_GCM_SHA384 if it has other"),
        (
            "listener.name.outer.ssl.cipher.suites",
            "TLS_RSA_WITH_AES_128_CBC_SHA",
            "listener.name.outer.ssl.cipher.suites .* suites of a version in ssl.enabled.protocols",
        ),
        (
            "ssl.principal.mapping.rules",
            "default",
            "rules has the value 'default'; .* the rule 'default' must be",
        ),
        ("ssl.endpoint.identification.algorithm", "none", "it must be one of https, HTTPS"),
    ],
)
def test_a_bad_setting_is_named(name, value, error):
    with pytest.raises(ConfigError, match=error):
        security(**{name: value})
