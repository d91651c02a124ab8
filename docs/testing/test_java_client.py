"""A Java client through the same brokers, while the leader is killed.

The jar of kafka-clients and that of slf4j-api come from ``KAFKA_CLIENTS_CLASSPATH``, else from Maven's local
repository (``mvn dependency:get -Dartifact=org.apache.kafka:kafka-clients:3.9.1``).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

MAVEN = Path.home() / ".m2" / "repository"
NEEDED = ("org/apache/kafka/kafka-clients/*/kafka-clients-*.jar", "org/slf4j/slf4j-api/*/slf4j-api-*.jar")


@pytest.fixture(scope="module")
def class_path() -> str:
    given = os.environ.get("KAFKA_CLIENTS_CLASSPATH")
    if shutil.which("javac") is None:
        pytest.skip("there is no javac, which runs a Java file from its source")
    if given:
        return given
    found = [sorted(MAVEN.glob(pattern)) for pattern in NEEDED]
    if not all(found):
        pytest.skip("no kafka-clients: set KAFKA_CLIENTS_CLASSPATH, or get it with Maven")
    return os.pathsep.join(str(jars[-1]) for jars in found)


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
