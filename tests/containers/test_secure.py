"""docker-compose.secure.yml: who has a login is served, in containers and on the host; nobody else is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import confluent_kafka
import pytest

from barnabas.cluster.model.properties import parse_properties, render_properties
from barnabas.local.waiting import wait_until

pytestmark = [pytest.mark.containers, pytest.mark.timeout(1800)]

SCRIPTS = Path(__file__).parents[2] / "scripts"
FILES = ["docker-compose.yml", "docker-compose.secure.yml"]
TOPICS = ("kafka-topics.sh", "--bootstrap-server", "brokers:19092")
AS_ADMIN = ("--command-config", "/secured/secure/admin.properties")
TIMEOUT_S = 240


@pytest.fixture(scope="module")
def secured(compose):
    with compose("secure", compose_file_name=FILES) as running:
        yield running


@pytest.fixture
def login(secured, tmp_path):
    """The file of the user ``client`` on this host, made as docs/security.md says."""
    for name in ("ca.pem", "client.properties"):
        secured.run("cp", f"broker-1:/secured/secure/{name}", str(tmp_path / name))
    file = tmp_path / "client.properties"
    own = parse_properties(file.read_text().replace("/secured/secure", str(tmp_path)))
    del own["bootstrap.servers"]
    file.write_text(render_properties(own, "The login of the user client."))
    return file


def tool(secured, name, *options, text=None):
    command = [SCRIPTS / name, "--bootstrap-server", secured.bootstrap, *options]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def test_the_administrator_is_served_in_a_container_and_nobody_else(secured):
    secured.client(*TOPICS, "--create", "--topic", "by-admin", "--replication-factor", "3", *AS_ADMIN)
    assert "by-admin" in secured.client(*TOPICS, "--list", *AS_ADMIN).split()
    with pytest.raises(AssertionError):
        secured.client(*TOPICS, "--list")


def test_a_client_on_the_host_writes_and_reads_and_administers_nothing(secured, login):
    sent = tool(
        secured,
        "kafka-console-producer.sh",
        *("--topic", "first", "--producer.config", login),
        text="from the host\n",
    )
    assert (sent.returncode, sent.stderr) == (0, "")
    reading = ("--topic", "first", "--group", "g", "--from-beginning", "--max-messages", "1")
    read = tool(secured, "kafka-console-consumer.sh", *reading, "--consumer.config", login)
    assert read.stdout == "from the host\n", read.stderr
    listed = tool(secured, "kafka-acls.sh", "--list", "--command-config", login)
    assert listed.returncode == 1
    assert "ClusterAuthorizationException" in listed.stdout + listed.stderr


def test_a_wrong_password_is_refused(secured, login):
    own = parse_properties(login.read_text())
    errors = []
    client = confluent_kafka.Producer(
        {
            "bootstrap.servers": secured.bootstrap,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": own["ssl.truststore.location"],
            "sasl.mechanism": own["sasl.mechanism"],
            "sasl.username": "client",
            "sasl.password": "guessed",
            "error_cb": errors.append,
            "log_level": 0,
        }
    )

    def is_refused():
        client.poll(0.1)
        return any(error.code() == confluent_kafka.KafkaError._AUTHENTICATION for error in errors)

    wait_until(is_refused, "the refusal", TIMEOUT_S)


def test_zookeeper_serves_nobody_without_the_brokers_password(secured):
    shell = ("zookeeper-shell.sh", "zookeeper:2181", "ls", "/brokers/ids")
    assert "1, 2, 3" in secured.client(*shell)
    with pytest.raises(AssertionError):
        secured.run("run", "--rm", "-T", "-e", "KAFKA_OPTS=", "client", *shell)
