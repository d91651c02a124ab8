"""A Java client through the same brokers, while the leader is killed.

The class path with kafka-clients is ``KAFKA_CLIENTS_CLASSPATH`` if that is set. Otherwise the jar is
downloaded once, checked, and kept in ``~/.cache/barnabas``, as the jars of ZooKeeper are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from barnabas.local.zookeeper_jars import Jar, ZooKeeperStartError, fetch, find_jars, wanted

KAFKA_CLIENTS = Jar(
    "org/apache/kafka/kafka-clients/3.9.1/kafka-clients-3.9.1.jar",
    "7568b998572d256f0b7bc0afdc1b7a2588b8b08415c62ce314c864a6851ae9d9",
)


@pytest.fixture(scope="module")
def class_path() -> str:
    if shutil.which("javac") is None:
        pytest.skip("there is no javac, which runs a Java file from its source")
    given = os.environ.get("KAFKA_CLIENTS_CLASSPATH")
    if given:
        return given
    try:
        jars = fetch([KAFKA_CLIENTS], wanted()[0], "kafka-clients")
    except ZooKeeperStartError as error:
        pytest.skip(f"set KAFKA_CLIENTS_CLASSPATH: {error}")
    # ZooKeeper needs the same library for its log.
    return os.pathsep.join(
        str(jar) for jar in [*jars, *find_jars()] if jar.name.startswith(("kafka", "slf4j-api"))
    )


def test_a_java_producer_goes_on_without_its_leader(barnabas_cluster, class_path):
    barnabas_cluster.create_topic("bills")
    java = subprocess.Popen(
        ["java", "-cp", class_path, Path(__file__).parent / "Bills.java", barnabas_cluster.bootstrap_servers],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def written(text: str) -> int:
        java.stdin.write(f"{text}\n")
        java.stdin.flush()
        line = java.stdout.readline()
        return int(line) if line else pytest.fail(java.stderr.read())

    assert written("first") == 0
    leader = barnabas_cluster.leader_of("bills")
    with barnabas_cluster.killed(leader):
        assert written("second") == 1
        assert barnabas_cluster.leader_of("bills") != leader
    java.communicate(timeout=60)
    assert java.returncode == 0
