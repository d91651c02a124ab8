from __future__ import annotations

import pytest

from barnabas.cluster.model.configs.declarations import ConfigError
from barnabas.cluster.zk.client.client_settings import (
    SYSTEM_PROPERTIES,
    ZooKeeperSecurityError,
    login_of,
    security_of,
    system_properties,
)
from barnabas.cluster.zk.client.connect_string import parse_connect_string
from barnabas.cluster.zk.client.security import UNSECURED, Login, ZooKeeperSecurity
from tests.certificates import Authority

DIGEST = "org.apache.zookeeper.server.auth.DigestLoginModule"
CLIENT = f'Client {{ {DIGEST} required username="kafka" password="s=cret"; }};'


@pytest.fixture
def jaas(tmp_path):
    """Write a JAAS file, and return its path."""

    def write(text):
        path = tmp_path / "jaas.conf"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


def test_system_properties_are_found_among_other_options():
    options = " -Xmx1g -Da=1 -Db=x=y -Dflag -Da=2 java.x=3 "
    assert system_properties(options) == {"a": "2", "b": "x=y", "flag": ""}


def test_nothing_is_secured_by_default():
    assert security_of({}, {}) == UNSECURED
    assert security_of({"zookeeper.set.acl": "false"}, {"KAFKA_OPTS": "-Xmx1g"}) == UNSECURED


def test_the_login_comes_from_the_file_of_kafka_opts(jaas):
    environment = {"KAFKA_OPTS": f"-Xmx1g -Djava.security.auth.login.config={jaas(CLIENT)}"}
    security = security_of({}, environment)
    assert security == ZooKeeperSecurity(Login("kafka", "s=cret"))
    assert "s=cret" not in repr(security)
    assert security_of({"zookeeper.set.acl": "true"}, environment).set_acl


def test_a_setting_names_the_file_before_kafka_opts(jaas):
    given = {"java.security.auth.login.config": jaas(CLIENT), "other": "x"}
    environment = {"KAFKA_OPTS": "-Djava.security.auth.login.config=/missing"}
    assert security_of(given, environment).login == Login("kafka", "s=cret")


def test_another_section_may_be_named(jaas):
    text = CLIENT.replace("Client", "zk.Client")
    properties = {"java.security.auth.login.config": jaas(text)}
    assert login_of(properties) is None
    assert login_of({**properties, "zookeeper.sasl.clientconfig": "zk.Client"}) is not None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Client {", "must have }; at the end of section Client"),
        (b"\xff", "must be UTF-8"),
        ("Client { };", "section Client must have one login module"),
        (CLIENT.replace(" };", f" {DIGEST} required; }};"), "section Client must have one login module"),
        (
            CLIENT.replace(DIGEST, "com.sun.security.auth.module.Krb5LoginModule"),
            "not com.sun.security.*Krb5",
        ),
        (CLIENT.replace("username", "user"), "section Client must have options username and password"),
        (CLIENT.replace("s=cret", ""), "section Client must have options username and password"),
    ],
)
def test_a_bad_file_is_named_without_its_secrets(jaas, text, reason):
    with pytest.raises(ZooKeeperSecurityError, match=reason) as caught:
        login_of({"java.security.auth.login.config": jaas(text)})
    assert "Zookeeper JAAS login context [java.security.auth.login.config=/" in str(caught.value)
    assert "s=cret" not in str(caught.value)


def test_a_missing_file_is_named():
    with pytest.raises(ZooKeeperSecurityError, match="cannot read /missing: No such file"):
        login_of({"java.security.auth.login.config": "/missing"})


def test_a_login_that_is_switched_off_contradicts_its_section(jaas):
    file = jaas(CLIENT)
    options = f"-Djava.security.auth.login.config={file} -Dzookeeper.sasl.client=false"
    with pytest.raises(ZooKeeperSecurityError, match="Exception while determining if ZooKeeper is secure"):
        security_of({}, {"KAFKA_OPTS": options})
    assert security_of({}, {"KAFKA_OPTS": f"{options} -Dzookeeper.sasl.clientconfig=Other"}) == UNSECURED


@pytest.fixture
def stores(tmp_path):
    """The settings of TLS with a certificate."""
    authority = Authority("ours")
    trusted = tmp_path / "ca.pem"
    trusted.write_text(authority.text)
    return {
        "zookeeper.ssl.client.enable": "true",
        "zookeeper.ssl.keystore.location": str(authority.issue("CN=broker").write_pem(tmp_path / "b.pem")),
        "zookeeper.ssl.truststore.location": str(trusted),
    }


def test_a_certificate_is_an_identity_too(stores):
    security = security_of({**stores, "zookeeper.set.acl": "true"}, {})
    assert security.has_certificate
    assert security.set_acl
    assert security.tls().check_hostname
    del stores["zookeeper.ssl.keystore.location"]
    assert not security_of(stores, {}).has_certificate
    with pytest.raises(ZooKeeperSecurityError, match=r"zookeeper\.set\.acl is true"):
        security_of({**stores, "zookeeper.set.acl": "true"}, {})


def test_tls_may_be_set_for_java_alone(stores):
    words = [f"-D{SYSTEM_PROPERTIES[name]}={text}" for name, text in stores.items()]
    words.append("-Dzookeeper.ssl.hostnameVerification=false")
    security = security_of({}, {"KAFKA_OPTS": " ".join(words)})
    assert not security.tls().check_hostname
    given = {"zookeeper.ssl.endpoint.identification.algorithm": "HTTPS"}
    assert security_of(given, {"KAFKA_OPTS": " ".join(words)}).tls().check_hostname
    given = {"zookeeper.ssl.client.enable": "false"}
    assert security_of(given, {"KAFKA_OPTS": " ".join(words)}).tls is None


def test_a_bad_store_ends_the_start(stores):
    with pytest.raises(ConfigError, match=r"zookeeper\.ssl\.truststore\.location"):
        security_of({**stores, "zookeeper.ssl.truststore.location": "/missing.pem"}, {})


def test_acls_need_an_identity():
    with pytest.raises(ZooKeeperSecurityError) as caught:
        security_of({"zookeeper.set.acl": "true"}, {})
    assert str(caught.value).endswith(
        "the verification of the JAAS login file failed [java.security.auth.login.config=null, "
        "zookeeper.sasl.client=default:true, zookeeper.sasl.clientconfig=default:Client]"
    )


def test_every_system_property_is_read_and_a_setting_wins():
    for setting, name in SYSTEM_PROPERTIES.items():
        if setting.endswith(("crl.enable", "ocsp.enable")):
            with pytest.raises(ConfigError, match=f"{setting} has the value 'true'"):
                security_of({}, {"KAFKA_OPTS": f"-D{name}=true"})
            security_of({setting: "false"}, {"KAFKA_OPTS": f"-D{name}=true"})
    with pytest.raises(ConfigError, match=r"zookeeper\.ssl\.enabled\.protocols has the value 'SSLv3'"):
        security_of({}, {"KAFKA_OPTS": "-Dzookeeper.ssl.enabledProtocols=SSLv3"})


@pytest.mark.parametrize(
    ("text", "servers", "chroot"),
    [
        ("localhost:2181", "localhost:2181", ""),
        ("localhost:2181/", "localhost:2181", ""),
        (" a:1,b:2,c:3/kafka ", "a:1,b:2,c:3", "/kafka"),
        ("[::1]:2181/deep/kafka/", "[::1]:2181", "/deep/kafka"),
    ],
)
def test_servers_and_chroot(text: str, servers: str, chroot: str) -> None:
    assert parse_connect_string(text) == (servers, chroot)


@pytest.mark.parametrize(
    "text", ["", "/kafka", "localhost", "a:1,", "a:1,b", "a:x", "a:1//kafka", "a b:1", "::1:2181"]
)
def test_what_is_malformed_is_named_with_what_was_expected(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"zookeeper.connect is .*, expected host:port\[,host:port...\]\[/chroot\]"
    ):
        parse_connect_string(text)
