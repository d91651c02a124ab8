"""Clients that are not ours against a cluster of ours: their own tests and tools.

``make clients`` runs it. It needs a network with PyPI and Maven Central, and Java, Maven and kcat; a client
that cannot be had is reported as such. ``README.md`` beside this file says what is run and what cannot apply.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree as ET

from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.properties import parse_properties
from barnabas.local.cluster import LocalCluster
from barnabas.local.ports import any_free

HERE = Path(__file__).parent
RECORDS = 200
TIMEOUT_S = 900

OVERRIDES = {
    "auto.create.topics.enable": "true",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "offsets.topic.num.partitions": "3",
}

KAFKA_PYTHON_NEEDS = ("py", "pytest-mock", "pytest-timeout", "crc32c", "lz4", "python-snappy", "zstandard")

NOT_SERVED = "transactions are not served"
CANNOT_APPLY = {
    "test_transactional_producer_messages": NOT_SERVED,
    "test_transactional_producer_offsets": NOT_SERVED,
    "test_create_describe_delete_acls": "ACLs are not served",
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


@dataclass(frozen=True)
class Result:
    """What a client did.

    Attributes:
        client: Its name and version.
        passed: The number of its tests that passed.
        failed: What failed though it should not have.
        excused: What cannot apply, with the reason.
    """

    client: str
    passed: int
    failed: tuple[str, ...] = ()
    excused: tuple[str, ...] = ()


def run(*command: str, stdin: str | None = None, cwd: Path | None = None, **environment: str) -> str:
    """Run a command and return its output, errors included."""
    done = subprocess.run(
        command,
        input=stdin,
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return done.stdout


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


def kcat(bootstrap: str, _scratch: Path) -> Result:
    """Write with kcat, and read with a group of one member (``kcat -G``), twice."""
    if shutil.which("kcat") is None:
        return Result("kcat", 0, ("it is not installed: apt-get install kcat",))
    lines = [str(number) for number in range(RECORDS)]
    run("kcat", "-b", bootstrap, "-P", "-t", "kcat", stdin="\n".join(lines) + "\n")
    group = ("kcat", "-q", "-b", bootstrap, "-G", "kcat", "-X", "auto.offset.reset=earliest")
    read = run(*group, "-c", str(RECORDS), "kcat").split()
    again = run(*group, "-e", "kcat").split()
    return checked(
        "kcat " + " ".join(run("kcat", "-V").partition("Version ")[2].split()[:1]),
        {
            "kcat -P, kcat -G read all records": sorted(read) == sorted(lines),
            "kcat -G goes on where it has committed": again == [],
        },
    )


def checked(name: str, checks: dict[str, bool]) -> Result:
    """The result of checks that are not tests of the client's own."""
    failed = tuple(check for check, holds in checks.items() if not holds)
    return Result(name, len(checks) - len(failed), failed)


class MavenError(Exception):
    """Maven is not there, or does not find what it is asked for."""


def class_path_of(release: str, scratch: Path) -> str:
    """Return the class path of a release of Apache Kafka.

    Raises:
        MavenError: Maven cannot build it.
    """
    path = scratch / f"classpath-{release}"
    maven = ("mvn", "-q", "-f", str(HERE / "pom.xml"), f"-Dkafka.version={release}")
    if shutil.which("mvn") is None:
        raise MavenError("Maven is not installed")
    said = run(*maven, "dependency:build-classpath", f"-Dmdep.outputFile={path}")
    if not path.exists():
        raise MavenError(f"Maven did not find it: {said[-300:]}")
    return path.read_text()


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


def java_over_tls(release: str, scratch: Path) -> Result:
    """Run Apache Kafka's verifiable producer over TLS, as it is let in and as it is refused."""
    name = f"Apache Kafka {release} over TLS"
    try:
        class_path = class_path_of(release, scratch)
    except MavenError as error:
        return Result(name, 0, (str(error),))
    cluster = LocalCluster(scratch / f"tls-{release}", brokers=1, overrides=OVERRIDES)
    settings, clients = tls_settings(scratch)
    broker = cluster.brokers[BrokerId(1)]
    mutual, sasl = (f"127.0.0.1:{any_free(1).brokers[0].kafka}" for _ in range(2))
    broker.own_settings |= settings | {
        "listeners": f"PLAINTEXT://{broker.kafka},GRPC://{broker.grpc},SSL://{mutual},SASL_SSL://{sasl}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,GRPC:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL",
    }

    def sent(address: str, client: str) -> str:
        file = scratch / "client.properties"
        file.write_text(client + "max.block.ms=60000\n")
        main = "org.apache.kafka.tools.VerifiableProducer"
        command = ("java", "-Xmx256m", "-cp", class_path, main, "--bootstrap-server", address)
        return run(*command, "--topic", "tls", "--max-messages", "9", "--producer.config", str(file))

    with cluster:
        said = {
            "with a certificate": sent(mutual, clients["mutual"]),
            "with SASL": sent(sasl, clients["sasl"]),
            "without a certificate": sent(mutual, clients["none"]),
            "with another authority": sent(sasl, clients["other"]),
        }
    served, refused = '"sent":9,"acked":9', "SslAuthenticationException"
    has = {what: served if what in {"with a certificate", "with SASL"} else refused for what in said}
    return checked(
        name, {f"kafka-verifiable-producer {what}": has[what] in told for what, told in said.items()}
    )


def tls_settings(scratch: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return a broker's settings of TLS with the stores, and those of clients by what they have."""
    spec = importlib.util.spec_from_file_location("certificates", HERE.parent / "certificates.py")
    if spec is None or spec.loader is None:
        raise ImportError("tests/certificates.py")
    certificates = sys.modules["certificates"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(certificates)
    root, other = certificates.Authority("root"), certificates.Authority("other")
    password = "changeit"

    def store(kind: str, path: Path) -> str:
        names = {"type": "PKCS12", "location": str(path), "password": password}
        return "".join(f"ssl.{kind}.{name}={value}\n" for name, value in names.items())

    issued = root.issue("CN=broker", ("127.0.0.1",)).write_pkcs12(scratch / "broker.p12", password)
    key = root.issue("CN=client").write_pkcs12(scratch / "client.p12", password)
    trusted = certificates.write_trusted_pkcs12(scratch / "trusted.p12", password, root.certificate)
    others = certificates.write_trusted_pkcs12(scratch / "others.p12", password, other.certificate)
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    sasl = f'sasl.mechanism=PLAIN\nsasl.jaas.config={module} username="a" password="b";\n'
    broker = parse_properties(store("keystore", issued) + store("truststore", trusted)) | {
        "ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{module} user_a="b";',
    }
    return broker, {
        "mutual": "security.protocol=SSL\n" + store("truststore", trusted) + store("keystore", key),
        "none": "security.protocol=SSL\n" + store("truststore", trusted),
        "sasl": "security.protocol=SASL_SSL\n" + store("truststore", trusted) + sasl,
        "other": "security.protocol=SASL_SSL\n" + store("truststore", others) + sasl,
    }


def results(scratch: Path) -> Iterator[Result]:
    """Run each client; kafka-python's tests assume a single broker, the others get three."""
    with LocalCluster(scratch / "one", brokers=1, overrides=OVERRIDES) as cluster:
        yield kafka_python(cluster.bootstrap, scratch)
    with LocalCluster(scratch / "three", overrides=OVERRIDES) as cluster:
        for client in (kcat, *map(java, JAVA_TOOLS)):
            yield client(cluster.bootstrap, scratch)
    for release in JAVA_TOOLS:
        yield java_over_tls(release, scratch)


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
