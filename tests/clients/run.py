"""Clients that are not ours against a cluster of ours: their own tests and tools.

``make clients`` runs it. It needs a network with PyPI and Maven Central, and Java, Maven and kcat; a client
that cannot be had is reported as such. ``README.md`` beside this file says what is run and what cannot apply.
"""

from __future__ import annotations

import os
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree as ET

from barnabas.local.cluster import LocalCluster
from tests.clients import kcat, way_back
from tests.clients.java_security import java_of_up, java_over_tls
from tests.clients.running import (
    OVERRIDES,
    RECORDS,
    MavenError,
    Result,
    checked,
    class_path_of,
    run,
    watched,
)

AUTHORIZER = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
"""The settings of security that kafka-python's tests expect."""

KAFKA_PYTHON_NEEDS = ("py", "pytest-mock", "pytest-timeout", "crc32c", "lz4", "python-snappy", "zstandard")

NOT_SERVED = "transactions are not served"
CANNOT_APPLY = {
    "test_transactional_producer_messages": NOT_SERVED,
    "test_transactional_producer_offsets": NOT_SERVED,
    "test_kafka_version_infer": "it takes brokers that serve ListOffsets 7 for release 3.0",
    "test_create_partitions": "it assigns replicas to broker 0, and brokers are numbered from 1 here",
}
"""Tests of kafka-python that fail here, and why."""

SERVICE = '''"""Nothing: only brokers that the tests start themselves need this file, which they lack."""
class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port
    def open(self): pass
    def close(self): pass
    def stop(self): pass
class SpawnedService: pass
'''

JAVA_TOOLS = {
    "2.8.2": ("kafka.tools.ConsumerPerformance", "kafka.admin.ConsumerGroupCommand"),
    "3.9.1": (
        "org.apache.kafka.tools.ConsumerPerformance",
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    ),
    "4.0.0": (
        "org.apache.kafka.tools.ConsumerPerformance",
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    ),
}
"""The classes of kafka-consumer-perf-test.sh and kafka-consumer-groups.sh of each release."""


def kafka_python(bootstrap: str, scratch: Path) -> Result:
    """Run the integration tests in kafka-python's source distribution, of the version that is installed."""
    name = f"kafka-python {version('kafka-python')}"
    wanted = name.replace(" ", "==")
    pip = (sys.executable, "-m", "pip")
    said = run(*pip, "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(scratch), wanted)
    said += run(*pip, "install", "-q", "--no-deps", "--target", str(scratch / "lib"), *KAFKA_PYTHON_NEEDS)
    try:
        with tarfile.open(next(scratch.glob("kafka_python-*.tar.gz"))) as archive:
            archive.extractall(scratch, filter="data")
    except StopIteration:
        return Result(name, 0, (f"no source distribution: {said[-300:]}",))
    source = next(each for each in scratch.glob("kafka_python-*") if each.is_dir())
    (source / "test" / "__init__.py").touch()
    (source / "test" / "service.py").write_text(SERVICE)
    report = scratch / "kafka-python.xml"
    options = ("-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", ".", "--timeout", "90")
    said = run(
        *(sys.executable, "-m", "pytest", *options, f"--junit-xml={report}"),
        *(f"test/integration/test_{each}_integration.py" for each in ("consumer", "producer", "admin")),
        cwd=source,
        KAFKA_ROOT=str(source),
        KAFKA_VERSION="2.8",
        KAFKA_URI=f"kafka://{bootstrap.split(',', maxsplit=1)[0]}",
        PYTHONPATH=os.pathsep.join((str(source), str(scratch / "lib"))),
    )
    if not report.exists():
        return Result(name, 0, (f"the tests did not run: {said[-300:]}",))
    return judged(name, ET.parse(report).getroot())


def judged(name: str, report: ET.Element) -> Result:
    """Compare a JUnit report with what cannot apply."""
    passed, failed, excused = 0, [], []
    for case in report.iter("testcase"):
        test, skipped = case.get("name", ""), case.find("skipped")
        failure = case.find("failure") if case.find("error") is None else case.find("error")
        reason = CANNOT_APPLY.get(test)
        if skipped is not None:
            excused.append(f"{test}: skipped by itself, {skipped.get('message')}")
        elif failure is None:
            passed += 1
            if reason is not None:
                failed.append(f"{test} passes, so it is not to be excused any more")
        elif reason is not None:
            excused.append(f"{test}: {reason}")
        else:
            failed.append(f"{test}: {failure.get('message', '')[:500]}")
    return Result(name, passed, tuple(failed), tuple(excused))


def java(release: str) -> Callable[[str, Path], Result]:
    """Run Apache Kafka's verifiable producer and consumer, its consumer benchmark and its group tool."""

    def tools(bootstrap: str, scratch: Path) -> Result:
        name, topic = f"Apache Kafka {release}", f"java-{release}"
        try:
            class_path = class_path_of(release, scratch)
        except MavenError as error:
            return Result(name, 0, (str(error),))

        def tool(main: str, *arguments: str) -> str:
            command = ("java", "-Xmx256m", "-cp", class_path, main, "--bootstrap-server", bootstrap)
            return run(*command, *arguments)

        perf, groups = JAVA_TOOLS[release]
        verifiable = "org.apache.kafka.tools.Verifiable"
        of_topic = ("--topic", topic, "--max-messages", str(RECORDS))
        sent = tool(f"{verifiable}Producer", *of_topic)
        read = tool(
            f"{verifiable}Consumer", *of_topic, "--group-id", f"{topic}.v", "--reset-policy", "earliest"
        )
        measured = tool(perf, "--topic", topic, "--messages", str(RECORDS), "--group", f"{topic}.p")
        described = tool(groups, "--timeout", "60000", "--describe", "--group", f"{topic}.v")
        rows = [line.split() for line in described.splitlines() if line.startswith(f"{topic}.v")]
        return checked(
            name,
            {
                "kafka-verifiable-producer": f'"sent":{RECORDS},"acked":{RECORDS}' in sent,
                "kafka-verifiable-consumer": f'"offset":{RECORDS}}}],"success":true' in read,
                "kafka-consumer-perf-test": f", {RECORDS}, " in measured,
                "kafka-consumer-groups --describe": [row[3:6] for row in rows]
                == [[str(RECORDS), str(RECORDS), "0"]],
            },
        )

    return tools


def replica_verification(release: str, cluster: LocalCluster, scratch: Path) -> Result:
    """Let Apache Kafka's ReplicaVerificationTool compare all replicas of all topics.

    It fetches from followers as a follower does, and reports until it is ended.
    """
    name = f"Apache Kafka {release} ReplicaVerificationTool"
    try:
        class_path = class_path_of(release, scratch)
    except MavenError as error:
        return Result(name, 0, (str(error),))
    tool = ("java", "-Xmx256m", "-cp", class_path, "kafka.tools.ReplicaVerificationTool")
    asked = ("--broker-list", cluster.bootstrap, "--topic-white-list", ".*", "--report-interval-ms", "2000")
    reports = 3
    said = watched(*tool, *asked, until=lambda text: text.count("max lag is") >= reports)
    lags = [line for line in said.splitlines() if "max lag is" in line]
    return checked(
        name,
        {
            f"it reports: {said[-300:]}": len(lags) >= reports,
            f"no replica lags behind: {lags}": all("max lag is 0 for partition" in line for line in lags),
            f"no fetch fails, no record differs: {said[-300:]}": not any(
                each in said for each in ("Exception", "ERROR", "doesn't match", "has checksum")
            ),
        },
    )


def results(scratch: Path) -> Iterator[Result]:
    """Run each client; kafka-python's tests assume a single broker, the others get three."""
    with LocalCluster(scratch / "one", brokers=1, overrides=OVERRIDES | AUTHORIZER) as cluster:
        yield kafka_python(cluster.bootstrap, scratch)
    with LocalCluster(scratch / "three", overrides=OVERRIDES) as cluster:
        yield kcat.alone(cluster.bootstrap)
        yield kcat.two_members(cluster)
        for client in map(java, JAVA_TOOLS):
            yield client(cluster.bootstrap, scratch)
        yield replica_verification("2.8.2", cluster, scratch)
    for release in way_back.RELEASES:
        yield way_back.to_kafka_and_back(release, scratch)
    for release in JAVA_TOOLS:
        yield java_over_tls(release, scratch)
    yield java_of_up(tuple(JAVA_TOOLS), scratch)


def main() -> int:
    """Print what passed, failed and cannot apply; return 1 if something failed."""
    has_failed = False
    with tempfile.TemporaryDirectory(prefix="barnabas-clients-") as scratch:
        for result in results(Path(scratch)):
            has_failed |= bool(result.failed)
            counts = (
                f"{result.passed} passed, {len(result.failed)} failed, {len(result.excused)} cannot apply"
            )
            print(f"{result.client}: {counts}", flush=True)
            for line in result.failed:
                print(f"  FAILED {line}")
            for line in result.excused:
                print(f"  cannot apply: {line}")
    return int(has_failed)


if __name__ == "__main__":
    sys.exit(main())
