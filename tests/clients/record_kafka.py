"""Scripted failures of Apache Kafka, recorded with their truth below ``tests/data/truth``.

``python -m tests.clients.record_kafka DIRECTORY [RELEASE …]`` plays them on 3.9 with ZooKeeper and on 4.0
in KRaft mode, three brokers each. It needs Java, Maven and Maven Central. ``make test`` judges the
recordings. With ``--scenarios N --seed S`` it plays failures that are drawn from seeds instead.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from barnabas.analysis.reading.events.broker_kinds import SETTINGS_READ
from barnabas.bench.truth.derive import truth_of
from barnabas.bench.truth.measured import at
from barnabas.bench.truth.play import Stage, StalledError
from barnabas.bench.truth.recordings import judged, keep, keep_measured, sentences
from barnabas.bench.truth.scenarios import CONTROLLER, Action, Scenario, Step, draw
from barnabas.bench.truth.truths import Tenure
from barnabas.bench.truth.znodes import Written, Znodes
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.brokers import decode_controller
from barnabas.local.errors import ClusterError
from barnabas.local.zookeeper_wire import Connection
from tests.clients.kafka_cluster import RELEASES, SESSION_S, WAIT_S, KafkaCluster, class_path

KILL = Step(Action.KILL, (1,), away_s=6.0, rest_s=2.0)
STOP = Step(Action.STOP, (2,), away_s=3.0, rest_s=2.0)
CONTROLLER_KILL = Step(Action.KILL, (CONTROLLER,), away_s=6.0, rest_s=2.0)
ROLLING = Step(Action.STOP, (1, 2, 3), is_rolling=True, away_s=1.0, rest_s=2.0)
ALL = Step(Action.STOP, (1, 2, 3), away_s=2.0, rest_s=2.0)
PAUSE = Step(Action.PAUSE, (3,), away_s=10.0, rest_s=2.0)
SCRIPTS = {
    "kill": (KILL,),
    "stop": (STOP,),
    "controller-kill": (CONTROLLER_KILL,),
    "rolling-restart": (ROLLING,),
    "stop-of-all": (ALL,),
    "pause": (PAUSE,),
}
"""The scenarios of ``tests/data/truth`` by their names."""

ACTIONS = (Action.KILL, Action.STOP, Action.PAUSE)
"""The actions of drawn scenarios: those that need nothing of Barnabas's own."""

PER_CLUSTER = 8
"""The drawn scenarios after which a cluster is replaced, so that its logs stay small."""

RECORD = re.compile(r"CreateTime: (\d+) .* payload: (\{.*\})$")
UNCHANGED = -2
"""The leader in a record that changes something else."""
ELECTED = re.compile(r"Completed transition to Leader\(.*?\bepoch=(\d+),")
REPEATED = re.compile(
    r"Replayed \w+|Recorded new KRaft controller.*|Completed load of|Created log for|Deleted \w* ?log|"
    r"Wrote producer snapshot|Log for partition \S+ is renamed|Attempting durable transition"
)
"""What is said again and again, and proves nothing the second time."""

STAMP, SECOND = "[2026-11-25 21:05:18,409]", "[2026-11-25 21:05:18"
"""The form of a line's time; the same text within a second is left out."""

UNREAD = (
    "UnifiedLog)", "UnifiedLog$)", "SnapshotFile)", "ReplicaFetcherManager)", "SocketServer)",
    "NodeToControllerRequestThread)", "LogCleaner)", "AbstractCoordinator)", "LogLoader)",
    "ProducerStateManager)", "ExpiredOperationReaper)", "ThrottledChannelReaper)",
    "SystemTimerReaper$Reaper)", "DefaultAutoTopicCreationManager)", "GroupCoordinator)",
    "AppInfoParser)", "MetadataLoader)", "LocalLog)", "LogSegment)", "EventProcessorThread)",
    "DynamicConfigPublisher)", "LogDirFailureHandler)", "SnapshotGenerator)",
)  # fmt: skip
"""The ends of the lines of loggers that say nothing about brokers or partitions."""

UNREAD_TEXT = re.compile(
    r"\] (?:Truncating partition |Partition \S+ (?:marked as failed|has an older epoch)|No checkpointed "
    r"|Log loaded for partition "
    r"|(?:Starting|Shutting down|Stopped|Shutdown completed) \((?!kafka\.server\.Kafka))"
)
"""The texts of lines that nothing reads, of loggers with others that are read."""


class KafkaStage(Stage):
    """A stage of Apache Kafka's brokers, of which in KRaft mode no ZooKeeper knows."""

    def _controller(self) -> int | None:
        if self.cluster.zookeeper_connect:
            with Connection(self.cluster.zookeeper_connect, WAIT_S) as connection:
                connection.connect()
                data = connection.data(paths.CONTROLLER)
            return None if data is None else int(decode_controller(data).broker)
        found = tenures(self.cluster.directory)
        return found[-1].broker if found else None

    def _owner(self, broker: int) -> int:
        """Return a number that changes when a broker registers again, or in KRaft mode is unfenced again."""
        if self.cluster.zookeeper_connect:
            return super()._owner(broker)
        unfenced = f"The request from broker {broker} to unfence has been granted"
        return sum(log.count(unfenced) for log in controller_logs(self.cluster.directory).values())

    def _znodes(self) -> Znodes:
        if self.cluster.zookeeper_connect:
            return super()._znodes()
        return Znodes([], tenures(self.cluster.directory), {})

    def _left(self, topics: Iterable[str]) -> list[str]:
        if self.cluster.zookeeper_connect:
            return super()._left(topics)
        known = AdminClient({"bootstrap.servers": self.cluster.bootstrap}).list_topics(timeout=WAIT_S).topics
        return sorted({*topics} & {*known})


def server_logs(directory: Path) -> dict[int, str]:
    """The server.log of each broker that has one."""
    logs = {n: directory / f"broker-{n}" / "logs" / "server.log" for n in (1, 2, 3)}
    return {n: log.read_text() for n, log in logs.items() if log.exists()}


def controller_logs(directory: Path) -> dict[int, str]:
    """The controller.log of each broker that has one."""
    logs = {n: directory / f"broker-{n}" / "logs" / "controller.log" for n in (1, 2, 3)}
    return {n: log.read_text() for n, log in logs.items() if log.exists()}


def tenures(directory: Path) -> list[Tenure]:
    """The controllers by their raft epochs, each since it knew of its election."""
    found: dict[int, Tenure] = {}
    for n, log in server_logs(directory).items():
        for line in log.splitlines():
            said = ELECTED.search(line)
            if said is not None and line.startswith("["):
                epoch = int(said[1])
                found.setdefault(epoch, Tenure(n, epoch, moment_of(line)))
    return [found[epoch] for epoch in sorted(found)]


def with_the_last_election(logs: Mapping[str, str], directory: Path, before: datetime) -> dict[str, str]:
    """Begin the log of the controller with the line of its election, however long ago that was.

    In KRaft mode no later line names the controller, and logs of days have that line.
    """
    elections = [
        (moment_of(line), f"broker-{n}/controller.log", line)
        for n, log in controller_logs(directory).items()
        for line in log.splitlines(keepends=True)
        if "Becoming the active controller at epoch " in line and moment_of(line) < before
    ]
    if not elections:
        return dict(logs)
    _, name, line = max(elections)
    return {**logs, name: line + logs.get(name, "")}


def moment_of(line: str) -> datetime:
    """The time of a line."""
    return datetime.strptime(line[1:24], "%Y-%m-%d %H:%M:%S,%f")  # noqa: DTZ007


def dumped(cluster: KafkaCluster) -> str:
    """The records of ``__cluster_metadata`` as Kafka's own tool decodes them."""
    segments = sorted(cluster.directory.glob("broker-1/data/__cluster_metadata-0/*.log"))
    tool = ["java", "-Xmx200m", "-cp", cluster.jars, "kafka.tools.DumpLogSegments"]
    options = ["--cluster-metadata-decoder", "--files", ",".join(map(str, segments))]
    return subprocess.run([*tool, *options], check=True, capture_output=True, text=True).stdout


def states_written(dump: str) -> dict[str, list[Written]]:
    """The states of each partition by time."""
    topics: dict[str, str] = {}
    found: dict[tuple[str, int], list[Written]] = {}
    for line in dump.splitlines():
        said = RECORD.search(line)
        if said is None:
            continue
        record = json.loads(said[2])
        data = record["data"]
        if record["type"] == "TOPIC_RECORD":
            topics[data["topicId"]] = data["name"]
        if not record["type"].startswith("PARTITION_"):
            continue
        states = found.setdefault((data["topicId"], data["partitionId"]), [])
        last = states[-1] if states else Written(at(0), -1, -1, ())
        leader = data.get("leader", UNCHANGED)
        states.append(
            Written(
                at(int(said[1]) / 1000),
                last.leader if leader == UNCHANGED else leader,
                last.epoch + (leader != UNCHANGED),
                tuple(data.get("isr") or last.isr),
            )
        )
    return {f"{topics[topic]}-{number}": states for (topic, number), states in found.items()}


def scripted() -> dict[str, Scenario]:
    """The scripts by name."""
    return {name: Scenario(seed, steps) for seed, (name, steps) in enumerate(SCRIPTS.items(), start=1)}


def drawn(count: int, first: int) -> dict[str, Scenario]:
    """Scenarios that are drawn from seeds, by name.

    Left out are those that pause several brokers at once: without a majority of controllers nobody fences
    them, and the stage would wait for their return in vain.
    """
    scenarios = (draw(seed, SESSION_S, ACTIONS) for seed in range(first, first + count))
    return {
        f"{scenario.seed:04}": scenario
        for scenario in scenarios
        if not any(is_pause_of_several(step) for step in scenario.steps)
    }


def is_pause_of_several(step: Step) -> bool:
    return step.action is Action.PAUSE and len(step.victims) > 1 and not step.is_rolling


def recorded(release: str, scratch: Path, target: Path, scenarios: Mapping[str, Scenario]) -> Iterator[Path]:
    """Play scenarios, a few of them on each cluster, and yield the recordings."""
    jars = class_path(release, scratch)
    left = dict(scenarios)
    while left:
        with tempfile.TemporaryDirectory(prefix="barnabas-kafka-") as folder:
            cluster = KafkaCluster(Path(folder), release, jars)
            try:
                cluster.start()
                for name in list(left)[:PER_CLUSTER]:
                    path = played(cluster, left[name], target, f"kafka-{release}-{name}")
                    del left[name]
                    yield path
            except (ClusterError, StalledError, TimeoutError, OSError, KafkaException) as error:
                print(f"played again, {type(error).__name__}: {error}", flush=True)
            finally:
                cluster.stop()


def played(cluster: KafkaCluster, scenario: Scenario, target: Path, name: str) -> Path:
    """Play a scenario, and keep its recording and its measurements."""
    stage = KafkaStage(cluster, SESSION_S, 2, WAIT_S)  # type: ignore[arg-type]
    measured, logs = stage.play(scenario)
    if cluster.is_kraft:
        measured.znodes.states.update(states_written(dumped(cluster)))
        logs = with_the_last_election(logs, cluster.directory, measured.window.low)
    path = keep(target, name, truth_of(measured), trimmed(logs))
    keep_measured(path, measured)
    return path


def trimmed(logs: Mapping[str, str]) -> dict[str, str]:
    """Leave out what nothing reads: settings of clients, dumps of classes, chatty loggers, repetitions."""
    kept = {}
    for name, text in logs.items():
        lines: list[str] = []
        is_left_out, seen = False, Counter[str]()
        for line in text.splitlines(keepends=True):
            if line.startswith("["):
                is_dump = "values:" in line and "KafkaConfig" not in line
                again = REPEATED.search(line)
                key = again[0] if again else line[: len(SECOND)] + line[len(STAMP) :]
                seen[key] += 1
                is_again = seen[key] > 1
                is_left_out = (
                    is_dump or is_again or line.rstrip().endswith(UNREAD) or bool(UNREAD_TEXT.search(line))
                )
            is_setting = line.startswith("\t") and " = " in line
            is_read = not is_setting or line.split(" = ")[0].strip() in SETTINGS_READ
            if (
                not is_left_out
                and is_read
                and not line.startswith("\tat ")
                and "Client environment:" not in line
            ):
                lines.append(line)
        kept[name] = "".join(lines)
    return kept


def main(arguments: Sequence[str] | None = None) -> int:
    """Record all scenarios, and print what the judge finds wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.clients.record_kafka", description=__doc__)
    parser.add_argument("directory", type=Path, help="where recordings are kept")
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help=f"of {', '.join(RELEASES)} (all)")
    parser.add_argument("--scenarios", type=int, default=0, help="how many are drawn (0: the scripts)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first; each has the next (1)")
    options = parser.parse_args(arguments)
    scenarios = drawn(options.scenarios, options.seed) if options.scenarios else scripted()
    os.environ["TZ"] = "UTC"
    time.tzset()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="barnabas-kafka-") as scratch:
        for release in options.releases or RELEASES:
            for path in recorded(release, Path(scratch), options.directory, scenarios):
                story, found = judged(path)
                wrong += bool(found)
                print(
                    f"{path.stem}:",
                    *sentences(story),
                    *(f"WRONG: {each}" for each in found),
                    sep="\n  ",
                    flush=True,
                )
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
