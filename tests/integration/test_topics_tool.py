"""scripts/kafka-topics.sh and admin clients on a cluster of real processes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from barnabas.local.waiting import wait_until
from tests.logged import logged
from tests.metadata import metadata_of

SCRIPT = Path(__file__).parents[2] / "scripts" / "kafka-topics.sh"
TOPIC = "orders"
CREATE = ("--create", "--topic", TOPIC, "--partitions", "3", "--replication-factor", "2")
CONFIGS = ("--config", "min.insync.replicas=2", "--config", "retention.ms=7200000")


class Tool:
    """Runs the script as a person would."""

    def __init__(self, bootstrap):
        self._bootstrap = bootstrap

    def run(self, *arguments):
        """The exit code and what was printed."""
        command = [SCRIPT, "--bootstrap-server", self._bootstrap, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.stderr == ""
        return done.returncode, done.stdout


def has_heard(broker):
    """Whether the broker has taken over what UpdateMetadata says of all partitions of the topic."""
    told = [line for line in logged(broker.state_change_log).splitlines() if "Cached leader info" in line]
    return all(any(f"for partition {TOPIC}-{number} " in line for line in told) for number in range(3))


@pytest.fixture(scope="module")
def tool(cluster):
    """The tool, after it has created the topic."""
    tool = Tool(cluster.bootstrap)
    assert tool.run(*CREATE, *CONFIGS) == (0, f"Created topic {TOPIC}.\n")
    # The controller's broker answers as soon as it knows the leaders itself; the next client asks any broker.
    wait_until(lambda: all(map(has_heard, cluster.brokers.values())), f"{TOPIC} at every broker")
    return tool


def test_list_names_the_topic(tool, tmp_path):
    code, printed = tool.run("--list")
    assert (code, TOPIC in printed.splitlines()) == (0, True)
    own = tmp_path / "client.properties"
    own.write_text("client.id=me\nsecurity.protocol=PLAINTEXT\n")
    assert tool.run("--list", "--topic", TOPIC, "--command-config", str(own)) == (0, f"{TOPIC}\n")
    assert tool.run("--describe", "--command-config", str(own))[0] == 0


def test_describe_has_kafkas_layout_and_the_overriding_settings(tool, admin):
    code, printed = tool.run("--describe", "--topic", TOPIC)
    assert code == 0, printed
    described = printed.splitlines()
    partitions = metadata_of(admin, TOPIC).topics[TOPIC].partitions
    head, _, configs = described[0].partition("Configs: ")
    assert head == f"Topic: {TOPIC}\tPartitionCount: 3\tReplicationFactor: 2\t"
    of_brokers = {"segment.index.bytes=4096", "file.delete.delay.ms=500"}
    assert set(configs.split(",")) == {"min.insync.replicas=2", "retention.ms=7200000", *of_brokers}
    for number, line in enumerate(described[1:]):
        replicas = ",".join(map(str, partitions[number].replicas))
        assert line == (
            f"\tTopic: {TOPIC}\tPartition: {number}\tLeader: {partitions[number].replicas[0]}"
            f"\tReplicas: {replicas}\tIsr: {replicas}"
        )
    assert len(described) == 4


def test_create_again_is_an_error_unless_it_may_exist(tool):
    complaint = f"Error while executing topic command : Topic '{TOPIC}' already exists.\n"
    assert tool.run(*CREATE) == (1, complaint)
    assert tool.run(*CREATE, "--if-not-exists") == (0, "")


def test_create_with_an_unknown_setting_is_an_error(tool):
    code, printed = tool.run("--create", "--topic", "painted", "--config", "colour=red")
    assert code == 1
    assert printed.startswith("Error while executing topic command : ")
    assert "colour" in printed


def test_alter_adds_partitions_and_delete_ends_topics(tool, admin):
    def partitions(name):
        topics = metadata_of(admin).topics
        return {n: p.replicas for n, p in topics[name].partitions.items()} if name in topics else {}

    assert tool.run("--create", "--topic", "by-hand", "--replica-assignment", "3:1,1:2")[0] == 0
    extended = ("--partitions", "3", "--replica-assignment", "3:1,1:2,2:3")
    assert tool.run("--alter", "--topic", "by-hand", *extended) == (0, "")
    assert partitions("by-hand") == {0: [3, 1], 1: [1, 2], 2: [2, 3]}
    complaint = "Error while executing topic command : Topic already has 3 partitions.\n"
    assert tool.run("--alter", "--topic", "by-hand", "--partitions", "3") == (1, complaint)
    assert tool.run("--describe", "--topic", "by-.*", "--under-replicated-partitions") == (0, "")
    assert tool.run("--list", "--topic", "by-.*|ghost") == (0, "by-hand\n")
    assert tool.run("--delete", "--topic", "by-.*") == (0, "")
    complaint = "Error while executing topic command : Topic 'by-.*' does not exist as expected\n"
    assert tool.run("--delete", "--topic", "by-.*") == (1, complaint)
    assert tool.run("--delete", "--topic", "by-.*", "--if-exists") == (0, "")


def test_describe_of_an_unknown_topic_is_an_error(tool):
    complaint = "Error while executing topic command : Topic 'missing' does not exist as expected\n"
    assert tool.run("--describe", "--topic", "missing") == (1, complaint)


def test_the_tool_lasts_through_the_death_of_the_controller(tool, cluster):
    controller = cluster.controller_id()
    cluster.kill(controller)
    try:
        assert tool.run("--describe", "--topic", TOPIC)[0] == 0
        created = (0, "Created topic afterwards.\n")
        assert tool.run("--create", "--topic", "afterwards", "--replication-factor", "2") == created
    finally:
        cluster.restart(controller)
