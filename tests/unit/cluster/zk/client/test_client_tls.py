"""TLS to ZooKeeper by settings; the connections themselves are in tests/integration."""

from __future__ import annotations

import re
import ssl

import pytest

from barnabas.cluster.model.configs.declarations import ConfigError
from barnabas.cluster.zk.client.client_tls import ClientTls
from tests.certificates import Authority, write_trusted_pkcs12

AUTHORITY = Authority("ours")
ISSUED = AUTHORITY.issue("CN=broker")


@pytest.fixture
def stores(tmp_path):
    """The settings of stores of each kind, all with one password where they may have one."""
    trusted = tmp_path / "ca.pem"
    trusted.write_text(AUTHORITY.text)
    pem = tmp_path / "zk.pem"
    p12 = tmp_path / "zk.p12"
    ISSUED.write_pem(pem, "secret")
    ISSUED.write_pkcs12(p12, "secret")
    trusted_p12 = write_trusted_pkcs12(tmp_path / "ca.p12", "secret", AUTHORITY.certificate)
    return {
        "PEM": named(pem, trusted),
        "PKCS12": named(p12, trusted_p12),
        "trusted": {"zookeeper.ssl.truststore.location": str(trusted)},
    }


def named(keystore, truststore):
    return {
        "zookeeper.ssl.keystore.location": str(keystore),
        "zookeeper.ssl.keystore.password": "secret",
        "zookeeper.ssl.truststore.location": str(truststore),
        "zookeeper.ssl.truststore.password": "secret",
    }


@pytest.mark.parametrize("kind", ["PEM", "PKCS12"])
@pytest.mark.parametrize("said", [False, True])
def test_stores_of_each_kind_are_read(stores, kind, said):
    types = {f"zookeeper.ssl.{store}.type": kind.lower() for store in ("keystore", "truststore")}
    context = ClientTls.of(stores[kind] | (types if said else {})).context()
    assert [each["subject"] for each in context.get_ca_certs()] == [((("commonName", "ours"),),)]
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_versions_and_the_check_of_names_are_as_set(stores):
    context = ClientTls.of(stores["trusted"]).context()
    assert (context.minimum_version, context.maximum_version) == (ssl.TLSVersion.TLSv1_2,) * 2
    given = {"zookeeper.ssl.enabled.protocols": "TLSv1.3,TLSv1.2"}
    context = ClientTls.of(stores["trusted"] | given).context()
    assert (context.minimum_version, context.maximum_version) == (
        ssl.TLSVersion.TLSv1_2,
        ssl.TLSVersion.TLSv1_3,
    )
    for text, checks in (("https", True), ("", False), ("none", False)):
        given = {"zookeeper.ssl.endpoint.identification.algorithm": text}
        assert ClientTls.of(stores["trusted"] | given).context().check_hostname is checks


def test_cipher_suites_are_as_set(stores):
    given = {"zookeeper.ssl.enabled.protocols": "TLSv1.2,TLSv1.3"}
    given["zookeeper.ssl.cipher.suites"] = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
    context = ClientTls.of(stores["trusted"] | given).context()
    assert context.maximum_version == ssl.TLSVersion.TLSv1_2
    names = {each["name"] for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"}
    assert names == {"ECDHE-RSA-AES128-GCM-SHA256"}


@pytest.mark.parametrize(
    ("names", "allowed"),
    [
        ("TLS_RSA_WITH_NULL_MD5", "a list of served cipher suites"),
        ("TLS_AES_256_GCM_SHA384", "all suites of TLS 1.3 or none"),
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "a version in zookeeper.ssl.enabled.protocols"),
    ],
)
def test_a_bad_choice_of_suites_is_named(stores, names, allowed):
    given = {"zookeeper.ssl.protocol": "TLSv1.3", "zookeeper.ssl.cipher.suites": names}
    with pytest.raises(ConfigError, match=f"zookeeper.ssl.cipher.suites has the value '{names}'.*{allowed}"):
        ClientTls.of(stores["trusted"] | given).context()


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"zookeeper.ssl.truststore.location": None}, "zookeeper.ssl.truststore.location is not set"),
        ({"zookeeper.ssl.truststore.location": "/missing"}, "zookeeper.ssl.truststore.location has"),
        ({"zookeeper.ssl.keystore.location": "/missing.pem"}, "zookeeper.ssl.keystore.location has"),
        (
            {"zookeeper.ssl.keystore.password": "wrong"},
            "zookeeper.ssl.keystore.password has the value '[hidden",
        ),
        ({"zookeeper.ssl.keystore.type": "JCEKS"}, "zookeeper.ssl.keystore.type has the value 'JCEKS'"),
    ],
)
def test_a_bad_store_is_named_as_it_was_set(stores, changed, error):
    given = {name: text for name, text in (stores["PEM"] | changed).items() if text is not None}
    given.pop("zookeeper.ssl.truststore.password", None)
    tls = ClientTls.of(given)
    with pytest.raises(ConfigError, match=re.escape(error)) as caught:
        tls.context()
    assert "wrong" not in str(caught.value)
    with pytest.raises(ConnectionError, match="must be"):
        tls.dialling()()


def test_each_connection_reads_the_stores_again(stores, tmp_path):
    dial = ClientTls.of(stores["trusted"]).dialling()
    dial()
    renewed = Authority("renewed")
    (tmp_path / "ca.pem").write_text(renewed.text)
    assert [each["subject"] for each in dial().get_ca_certs()] == [((("commonName", "renewed"),),)]
