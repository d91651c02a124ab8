from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.tools.clients.command_config import for_kafka_python
from barnabas.tools.command_line.parser import ToolError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "client.properties"
    path.write_text("# ours\nclient.id=me\nrequest.timeout.ms = 7000\nsecurity.protocol:PLAINTEXT\n")
    return path


def test_without_the_flag_there_is_nothing() -> None:
    assert for_kafka_python(None) == {}


def test_kafka_python_has_other_names_and_types(file: Path) -> None:
    assert for_kafka_python(str(file)) == {
        "client_id": "me",
        "request_timeout_ms": 7000,
        "security_protocol": "PLAINTEXT",
    }
    file.write_text("ssl.check.hostname=false")
    assert for_kafka_python(str(file)) == {"ssl_check_hostname": False}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("colour=red", "has no property 'colour'"),
        ("selector=epoll", "has no property 'selector'"),
        ("api.version=2.8", "has no property 'api.version'"),
        ("request.timeout.ms=soon", "is 'soon', expected a whole"),
    ],
)
def test_what_the_client_cannot_take_is_named(file: Path, text: str, complaint: str) -> None:
    file.write_text(text)
    with pytest.raises(ToolError, match=complaint):
        for_kafka_python(str(file))


def test_the_login_of_java_s_clients_is_understood(file: Path) -> None:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    file.write_text(
        "sasl.mechanism=SCRAM-SHA-256\nsecurity.protocol=SASL_PLAINTEXT\n"
        f'sasl.jaas.config={module} required \\\n  username="alice" password="secret";\n'
    )
    assert for_kafka_python(str(file)) == {
        "sasl_mechanism": "SCRAM-SHA-256",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_plain_username": "alice",
        "sasl_plain_password": "secret",
    }
    file.write_text("sasl.jaas.config=secret")
    with pytest.raises(ToolError, match=r"--command-config .*: sasl.mechanism is GSSAPI") as refused:
        for_kafka_python(str(file))
    assert "secret" not in str(refused.value)
