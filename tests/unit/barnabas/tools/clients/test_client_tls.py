"""The properties of TLS of Java's clients."""

from __future__ import annotations

import ssl
from pathlib import Path

import confluent_kafka
import pytest

from barnabas.cluster.model.configs.declarations import ConfigError
from barnabas.tools.clients.client_properties import for_librdkafka
from barnabas.tools.clients.client_tls import taken
from barnabas.tools.clients.command_config import for_kafka_python
from barnabas.tools.command_line.parser import ToolError
from tests.certificates import Authority, write_trusted_pkcs12

ROOT = Authority("root")
CLIENT = ROOT.issue("CN=client")


@pytest.fixture
def stores(tmp_path: Path) -> dict[str, str]:
    trusted = write_trusted_pkcs12(tmp_path / "trusted.p12", "secret", ROOT.certificate)
    return {
        "ssl.truststore.location": str(trusted),
        "ssl.truststore.password": "secret",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(CLIENT.write_pem(tmp_path / "client.pem", "key-secret")),
        "ssl.key.password": "key-secret",
    }


def test_other_properties_stay_as_they_are() -> None:
    assert taken({"acks": "1", "ssl.ca.location": "/x"}) == (None, {"acks": "1", "ssl.ca.location": "/x"})


def test_librdkafka_gets_the_content_of_stores(stores: dict[str, str]) -> None:
    settings = for_librdkafka({"security.protocol": "SSL", "acks": "1", **stores})
    assert settings == {
        "security.protocol": "SSL",
        "acks": "1",
        "ssl.endpoint.identification.algorithm": "https",
        "ssl.ca.pem": ROOT.text,
        "ssl.certificate.pem": CLIENT.chain(),
        "ssl.key.pem": CLIENT.key_text(),
    }
    confluent_kafka.Producer(settings)


def test_an_empty_algorithm_means_no_check_of_the_name(stores: dict[str, str]) -> None:
    given = {**stores, "ssl.endpoint.identification.algorithm": ""}
    assert for_librdkafka(given)["ssl.endpoint.identification.algorithm"] == "none"
    tls, _ = taken(given)
    assert tls is not None
    context = tls.context()
    assert context is not None
    assert not context.check_hostname


def test_a_client_of_python_gets_a_context(stores: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    given = {"security.protocol": "SSL", "ssl.enabled.protocols": "TLSv1.3", **stores}
    file.write_text("".join(f"{name}={text}\n" for name, text in given.items()))
    arguments = for_kafka_python(str(file))
    context = arguments.pop("ssl_context")
    assert arguments == {"security_protocol": "SSL"}
    assert context.check_hostname
    assert context.minimum_version is ssl.TLSVersion.TLSv1_3
    assert [each["serialNumber"] for each in context.get_ca_certs()] == [
        f"{ROOT.certificate.serial_number:02X}"
    ]


def test_without_stores_the_library_s_own_authorities_are_trusted() -> None:
    tls, _ = taken({"ssl.protocol": "TLSv1.2"})
    assert tls is not None
    assert tls.context() is None
    assert tls.for_librdkafka() == {"ssl.endpoint.identification.algorithm": "https"}


def test_a_key_store_needs_a_trust_store_in_python(stores: dict[str, str]) -> None:
    tls, _ = taken({name: text for name, text in stores.items() if "trust" not in name})
    assert tls is not None
    with pytest.raises(ConfigError, match=r"ssl.truststore.location is not set"):
        tls.context()


def test_a_bad_store_is_named_without_its_password(stores: dict[str, str], tmp_path: Path) -> None:
    bad = {**stores, "ssl.truststore.password": "wrong-secret"}
    with pytest.raises(ToolError, match=r"ssl.truststore.password has the value '\[hidden\]'"):
        for_librdkafka(bad)
    file = tmp_path / "client.properties"
    file.write_text("ssl.truststore.location=/nowhere\n")
    with pytest.raises(ToolError, match=r"ssl.truststore.location has the value '/nowhere'"):
        for_kafka_python(str(file))
