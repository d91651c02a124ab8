"""The login that ``sasl.jaas.config`` of Java's clients names."""

from __future__ import annotations

import confluent_kafka
import pytest

from barnabas.tools.clients.client_login import ClientLoginError, with_login
from barnabas.tools.clients.client_properties import for_librdkafka
from barnabas.tools.command_line.parser import ToolError

MODULES = "org.apache.kafka.common.security"
PLAIN = f'{MODULES}.plain.PlainLoginModule required username="alice" password="s=\\"x";'
SCRAM = f"{MODULES}.scram.ScramLoginModule required username='alice' password='secret';"


@pytest.mark.parametrize(
    ("entry", "mechanism", "password"),
    [(PLAIN, "PLAIN", 's="x'), (SCRAM, "SCRAM-SHA-256", "secret"), (SCRAM, "SCRAM-SHA-512", "secret")],
)
def test_user_and_password_come_from_the_entry(entry: str, mechanism: str, password: str) -> None:
    given = {"sasl.mechanism": mechanism, "sasl.jaas.config": entry, "security.protocol": "SASL_PLAINTEXT"}
    expected = {
        "sasl.mechanism": mechanism,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.username": "alice",
        "sasl.password": password,
    }
    assert with_login(given) == for_librdkafka(given) == expected
    confluent_kafka.Producer(for_librdkafka(given))


def test_properties_without_a_login_stay_as_they_are() -> None:
    assert with_login({"client.id": "me"}) == {"client.id": "me"}


@pytest.mark.parametrize(
    ("properties", "complaint"),
    [
        ({"sasl.mechanism": "PLAIN", "sasl.jaas.config": "secret"}, "is no JAAS entry, expected a login"),
        ({"sasl.mechanism": "PLAIN", "sasl.jaas.config": SCRAM}, "names .*Scram.*, but PLAIN needs .*Plain"),
        (
            {"sasl.mechanism": "GSSAPI", "sasl.jaas.config": SCRAM},
            "sasl.mechanism is GSSAPI, expected one of",
        ),
        ({"sasl.jaas.config": SCRAM}, "sasl.mechanism is GSSAPI, expected one of PLAIN, SCRAM-SHA-256"),
        (
            {
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f'{MODULES}.plain.PlainLoginModule required a="secret";',
            },
            "lacks the option username",
        ),
        (
            {
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f'{MODULES}.plain.PlainLoginModule required username="secret";',
            },
            "lacks the option password",
        ),
    ],
)
def test_another_entry_is_refused_without_being_shown(properties: dict[str, str], complaint: str) -> None:
    with pytest.raises(ClientLoginError, match=complaint) as refused:
        with_login(properties)
    assert "secret" not in str(refused.value)
    with pytest.raises(ToolError, match=complaint):
        for_librdkafka(properties)
