"""`barnabas up --secure`: its files let every client in, and nobody gets in without them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import confluent_kafka
import confluent_kafka.admin
import pytest

from barnabas.cluster.model.properties import parse_properties
from barnabas.local.control import ControlClient
from barnabas.local.waiting import wait_until

SCRIPTS = Path(__file__).parents[2] / "scripts"
HERE = [sys.executable, "-P", "-m", "barnabas"]


def up(directory, *options):
    command = [*HERE, "up", "--detach", "--brokers=1", "--port=0", "--page-port=0", f"--dir={directory}"]
    return subprocess.run([*command, *options], capture_output=True, text=True, timeout=240, check=False)


def down(directory):
    subprocess.run([*HERE, "down", f"--dir={directory}"], timeout=240, check=True)


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    """The directory of a secured cluster in the background, and what was printed."""
    directory = tmp_path_factory.mktemp("secure") / "cluster"
    done = up(directory, "--secure")
    assert done.returncode == 0, done.stderr
    yield directory, done.stdout
    down(directory)


def bootstrap(directory):
    return ControlClient(directory).status().bootstrap


def tool(directory, name, *options, user="client", flag="--command-config"):
    """The output of one of Kafka's tools."""
    file = directory / "secure" / f"{user}.properties"
    command = [SCRIPTS / name, "--bootstrap-server", bootstrap(directory), flag, file, *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.parametrize("library", ["confluent_kafka", "kafka_python", "aiokafka"])
def test_the_program_of_each_library_writes_a_record(secured, library):
    directory, _ = secured
    program = directory / "secure" / f"with_{library}.py"
    done = subprocess.run(
        [sys.executable, "-P", program], capture_output=True, text=True, timeout=240, check=False
    )
    assert re.fullmatch(r"[0-9]+\n", done.stdout), done.stderr


def test_a_group_of_the_client_reads(secured):
    directory, _ = secured
    sent = subprocess.run(
        [
            SCRIPTS / "kafka-console-producer.sh",
            *("--bootstrap-server", bootstrap(directory), "--topic", "first"),
            *("--producer.config", directory / "secure" / "client.properties"),
        ],
        input="from the console\n",
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (sent.returncode, sent.stderr) == (0, "")
    options = ("--topic", "first", "--group", "g", "--from-beginning", "--max-messages", "1")
    done = tool(directory, "kafka-console-consumer.sh", *options, flag="--consumer.config")
    assert done.returncode == 0, done.stderr
    assert done.stdout in {"hello\n", "from the console\n"}


def test_the_client_administers_nothing_and_the_admin_does(secured):
    directory, _ = secured
    assert "CLUSTERAUTHORIZATIONEXCEPTION" in refusal(tool(directory, "kafka-acls.sh", "--list"))
    listed = tool(directory, "kafka-acls.sh", "--list", user="admin")
    assert "(principal=User:client, host=*, operation=WRITE, permissionType=ALLOW)" in listed.stdout
    topics = [tool(directory, "kafka-topics.sh", "--list", user=user).stdout for user in ("client", "admin")]
    assert "__" not in topics[0]
    assert "first" in topics[1]


def refusal(done):
    assert done.returncode != 0
    return (done.stdout + done.stderr).upper().replace(" ", "_")


def test_who_has_no_password_is_refused(secured):
    directory, _ = secured
    own = parse_properties((directory / "secure" / "client.properties").read_text())
    tls = {"security.protocol": "SASL_SSL", "ssl.ca.location": own["ssl.truststore.location"]}
    guess = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "client", "sasl.password": "guessed"}
    for settings, reason in (
        ({}, None),
        ({"security.protocol": "SSL", "ssl.ca.location": tls["ssl.ca.location"]}, None),
        (tls | guess, "_AUTHENTICATION"),
    ):
        errors = []
        client = confluent_kafka.admin.AdminClient(
            {"bootstrap.servers": bootstrap(directory), "error_cb": errors.append, "log_level": 0, **settings}
        )
        with pytest.raises(confluent_kafka.KafkaException):
            client.list_topics(timeout=5)
        if reason is not None:
            wait_until(lambda c=client, e=errors, r=reason: c.poll(0.1) or r in names(e), reason)


def test_a_tool_without_a_login_says_what_the_listener_demands(secured):
    directory, _ = secured
    command = [SCRIPTS / "kafka-topics.sh", "--bootstrap-server", bootstrap(directory), "--list"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 1
    assert "speaks TLS: security.protocol=SSL, or SASL_SSL and a login" in done.stdout + done.stderr


def names(errors):
    return {error.name() for error in errors}


def test_the_page_works_as_the_admin(secured):
    directory, _ = secured
    page = ControlClient(directory).status().page
    with urllib.request.urlopen(f"{page}api/history", timeout=60) as answer:
        told = json.load(answer)
    assert "expire" not in told["controls"]
    assert {"kill", "cut"} <= set(told["controls"])
    assert posted(f"{page}api/topics", {"name": "by-page", "partitions": 1}) == 200
    assert "by-page" in tool(directory, "kafka-topics.sh", "--list").stdout.split()
    assert posted(f"{page}api/brokers/1/expire") == 409


def posted(url, body=None):
    """The status of a request of the page."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body or {}).encode(), headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_no_password_is_shown_and_its_files_are_their_owners(secured):
    directory, printed = secured
    folder = directory / "secure"
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (folder, directory / "broker-1")} == {0o700}
    passwords = json.loads((folder / "passwords.json").read_text()).values()
    told = [path for path in directory.rglob("*.log") if path.is_file() and "data" not in path.parts]
    shown = printed + "".join(path.read_text(errors="replace") for path in told)
    assert "ready after" in shown
    assert not [password for password in passwords if password in shown]


def test_it_stays_secured_and_keeps_its_passwords(secured):
    directory, _ = secured
    kept = {path.name: path.read_bytes() for path in (directory / "secure").glob("*.[jp]*[mn]")}
    assert {"ca.pem", "broker-1.pem", "passwords.json"} <= set(kept)
    down(directory)
    assert up(directory).returncode == 0
    assert {name: (directory / "secure" / name).read_bytes() for name in kept} == kept
    done = tool(directory, "kafka-topics.sh", "--list")
    assert "first" in done.stdout.split(), done.stderr


def test_a_cluster_that_was_open_is_refused(tmp_path):
    (tmp_path / "zookeeper").mkdir()
    done = up(tmp_path, "--secure")
    assert done.returncode == 1
    assert "was made without --secure" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"zookeeper", "up.log"}
