"""Three brokers of Apache Kafka as processes: 3.x with ZooKeeper, 4.x in KRaft mode; needs Java and Maven."""

from __future__ import annotations

import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.local.broker_process import RUNNING, STATE
from barnabas.local.pausing import pause
from barnabas.local.ports import free_ports
from barnabas.local.zookeeper import EmbeddedZooKeeper

RELEASES = {
    "3.9.1": ("org.slf4j:slf4j-reload4j:1.7.36",),
    "4.0.0": (
        "org.apache.logging.log4j:log4j-slf4j-impl:2.24.3",
        "org.apache.logging.log4j:log4j-core:2.24.3",
    ),
}
"""The releases, and what they log with."""

SESSION_S = 4.0
WAIT_S = 300.0

LOGS = {"server": "", "controller": "kafka.controller", "state-change": "state.change.logger"}


def class_path(release: str, scratch: Path) -> str:
    """Ask Maven for a release's jars."""
    wanted = [f"org.apache.kafka:{name}:{release}" for name in ("kafka_2.13", "kafka-tools")]
    parts = (each.split(":") for each in (*wanted, *RELEASES[release]))
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        "</dependency>"
        for group, name, version in parts
    )
    pom, found = scratch / f"pom-{release}.xml", scratch / f"classpath-{release}"
    pom.write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>b</groupId>"
        f"<artifactId>b</artifactId><version>1</version><dependencies>{dependencies}</dependencies></project>"
    )
    command = ["mvn", "-q", "-f", str(pom), "dependency:build-classpath", f"-Dmdep.outputFile={found}"]
    subprocess.run(command, check=True)
    return found.read_text()


def logging_options(folder: Path, release: str) -> list[str]:
    """Write the logging configuration: Kafka's stock layout, files and levels."""
    if release.startswith("3."):
        path = folder / "log4j.properties"
        lines = ["log4j.rootLogger=INFO, server"]
        for name, logger in LOGS.items():
            lines += [
                f"log4j.appender.{name}=org.apache.log4j.FileAppender",
                f"log4j.appender.{name}.File={folder}/logs/{name}.log",
                f"log4j.appender.{name}.layout=org.apache.log4j.PatternLayout",
                f"log4j.appender.{name}.layout.ConversionPattern=[%d] %p %m (%c)%n",
            ]
            if logger:
                lines += [f"log4j.logger.{logger}=INFO, {name}", f"log4j.additivity.{logger}=false"]
        path.write_text("\n".join(lines) + "\n")
        return [f"-Dlog4j.configuration=file:{path}"]
    path = folder / "log4j2.xml"
    files = "".join(
        f'<File name="{name}" fileName="{folder}/logs/{name}.log">'
        '<PatternLayout pattern="[%d] %p %m (%c)%n"/></File>'
        for name in LOGS
    )
    of_controller = ("kafka.controller", "org.apache.kafka.controller")
    loggers = "".join(
        f'<Logger name="{logger}" level="INFO" additivity="false"><AppenderRef ref="{name}"/></Logger>'
        for logger, name in (
            *((each, "controller") for each in of_controller),
            ("state.change.logger", "state-change"),
        )
    )
    path.write_text(
        f"<Configuration><Appenders>{files}</Appenders><Loggers>"
        f'<Root level="INFO"><AppenderRef ref="server"/></Root>{loggers}</Loggers></Configuration>'
    )
    return [f"-Dlog4j2.configurationFile={path}"]


@dataclass(slots=True)
class KafkaBroker:
    """A broker of Apache Kafka, with the part of ``BrokerProcess`` that a stage uses."""

    id: int
    folder: Path
    kafka: str
    java: list[str]
    process: subprocess.Popen[bytes] | None = None
    begun: int = 0

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process is not None and self.process.poll() is None else None

    @property
    def server_log(self) -> Path:
        return self.folder / "logs" / "server.log"

    def start(self) -> None:
        self.server_log.parent.mkdir(parents=True, exist_ok=True)
        self.begun = self.server_log.stat().st_size if self.server_log.exists() else 0
        with (self.folder / "console").open("ab") as output:
            command = [*self.java, "kafka.Kafka", str(self.folder / "server.properties")]
            self.process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)

    def signal(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(number)

    def pause(self) -> None:
        if self.process is not None:
            pause(self.process)

    def wait(self, timeout_s: float) -> bool:
        if self.process is not None:
            self.process.wait(timeout_s)
        return True

    def gauge(self, name: str) -> float | None:
        text = self.server_log.read_bytes()[self.begun :] if self.server_log.exists() else b""
        is_running = b"started (kafka.server.KafkaServer)" in text or b"Kafka Server started" in text
        return RUNNING if name == STATE and is_running else None

    def last_words(self) -> str:
        return (self.folder / "console").read_text()[-2_000:]


@dataclass(slots=True)
class KafkaCluster:
    """Three brokers of a release, with the part of ``LocalCluster`` that a stage uses."""

    directory: Path
    release: str
    jars: str
    brokers: dict[int, KafkaBroker] = field(default_factory=dict)
    zookeeper: EmbeddedZooKeeper | None = None

    @property
    def zookeeper_connect(self) -> str:
        return "" if self.zookeeper is None else self.zookeeper.address

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.kafka for broker in self.brokers.values())

    @property
    def is_kraft(self) -> bool:
        return not self.release.startswith("3.")

    def start(self) -> None:
        *ports, zookeeper = free_ports(7)
        if not self.is_kraft:
            self.zookeeper = EmbeddedZooKeeper(self.directory / "zookeeper", zookeeper)
            self.zookeeper.start()
        voters = ",".join(f"{n}@127.0.0.1:{ports[n + 2]}" for n in (1, 2, 3))
        for n in (1, 2, 3):
            folder = self.directory / f"broker-{n}"
            folder.mkdir(parents=True)
            java = ["java", "-Xmx300m", *logging_options(folder, self.release), "-cp", self.jars]
            self.brokers[n] = KafkaBroker(n, folder, f"127.0.0.1:{ports[n - 1]}", java)
            (folder / "server.properties").write_text(self._settings(n, ports[n - 1], ports[n + 2], voters))
            if self.is_kraft:
                config = str(folder / "server.properties")
                tool = [
                    *java,
                    "kafka.tools.StorageTool",
                    "format",
                    "-t",
                    "MkU3OEVBNTcwNTJENDM2Qg",
                    "-c",
                    config,
                ]
                subprocess.run(tool, check=True, stdout=subprocess.DEVNULL)
                (folder / "logs").mkdir(exist_ok=True)
        for broker in self.brokers.values():
            broker.start()
        self.wait_ready(WAIT_S)

    def _settings(self, n: int, port: int, controller: int, voters: str) -> str:
        settings = {
            "log.dirs": str(self.directory / f"broker-{n}" / "data"),
            "min.insync.replicas": "2",
            # A producer whose topic is deleted must not make it again.
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": "3",
            "replica.lag.time.max.ms": "4000",
            "controlled.shutdown.retry.backoff.ms": "500",
        }
        if self.is_kraft:
            settings |= {
                "node.id": str(n),
                "process.roles": "broker,controller",
                "controller.quorum.voters": voters,
                "controller.listener.names": "CONTROLLER",
                "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
                "broker.session.timeout.ms": str(round(SESSION_S * 1000)),
                "broker.heartbeat.interval.ms": "500",
            }
        else:
            settings |= {
                "broker.id": str(n),
                "listeners": f"PLAINTEXT://127.0.0.1:{port}",
                "zookeeper.connect": self.zookeeper_connect,
                "zookeeper.session.timeout.ms": str(round(SESSION_S * 1000)),
            }
        return "".join(f"{name}={value}\n" for name, value in settings.items())

    def broker(self, broker: int) -> KafkaBroker:
        return self.brokers[broker]

    def restart(self, broker: int, *, wait: bool) -> None:
        del wait
        self.brokers[broker].start()

    def pause(self, broker: int) -> None:
        self.brokers[broker].pause()

    def resume(self, broker: int) -> None:
        self.brokers[broker].signal(signal.SIGCONT)

    def wait_ready(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        running = [broker for broker in self.brokers.values() if broker.pid is not None]
        while any(broker.gauge(STATE) != RUNNING for broker in running):
            if time.monotonic() > deadline:
                raise TimeoutError("\n".join(broker.last_words() for broker in running))
            time.sleep(0.1)

    def stop(self) -> None:
        for broker in self.brokers.values():
            if broker.pid is not None:
                broker.signal(signal.SIGKILL)
                broker.wait(10)
        if self.zookeeper is not None:
            self.zookeeper.stop(5)
