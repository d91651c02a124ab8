"""The demo: a leader and the controller are killed while clients write, and nothing is lost."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import NoReturn, Self

import confluent_kafka
from rich.console import Console

from barnabas.checker.checker import Verdict, check
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.zk.schema import paths
from barnabas.local.cluster import LocalCluster
from barnabas.local.errors import ClusterError
from barnabas.local.observe import ClusterView, Observer
from barnabas.local.waiting import wait_until
from barnabas.local.zookeeper_jars import ZooKeeperStartError
from barnabas.local.zookeeper_wire import Connection
from barnabas.picture import Frame, Scene, cluster_picture, failover_picture, verdict_picture
from barnabas.stage import Stage
from barnabas.workload.clients import LIBRARIES, Library
from barnabas.workload.history import History, save
from barnabas.workload.workload import Workload, read_back

TOPIC = "story"
PARTITIONS = 6
REPLICATION_FACTOR = 3
MIN_INSYNC_REPLICAS = 2
RATE = 1_500.0
"""Records per second."""

CALM_S = 3.0
"""The seconds between two kills."""

CLUSTER, REPORT = Path("cluster"), Path("analysis", "report.html")
"""The names of the cluster's folder and of the file that is kept of a demo that went well."""

RECOVERY_TIMEOUT_S = 30.0
WATCH_EVERY_S = 0.25


class Stopped(BaseException):
    """An interruption by SIGINT (Ctrl-C) or SIGTERM."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_status = 128 + number
        """The exit status of a program that the signal ended, as shells report it."""


class Watch:
    """A thread that polls the cluster as a client does; ``view`` is the latest view.

    Args:
        observer: Reads the view.
        on_look: Called after each look, also of one that failed.
    """

    def __init__(self, observer: Observer, on_look: Callable[[], None] = lambda: None) -> None:
        self._observer = observer
        self._on_look = on_look
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self.view = ClusterView()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(WATCH_EVERY_S):
            # While brokers die and start, none may answer; then the last view stays.
            with contextlib.suppress(confluent_kafka.KafkaException):
                self.view = self._observer.look(TOPIC, timeout_s=1.0)
            self._on_look()

    def wait_for(self, holds: Callable[[ClusterView], bool], what: str) -> ClusterView:
        """Wait until ``holds`` is true for the view, and return that view.

        Raises:
            TimeoutError: It was not true within ``RECOVERY_TIMEOUT_S``.
        """

        def seen() -> ClusterView | None:
            view = self.view
            return view if holds(view) else None

        return wait_until(seen, what, RECOVERY_TIMEOUT_S)


class Demo:
    """The demo's cluster, clients and steps.

    Args:
        cluster: A running cluster.
        console: The console to print to.
        library: The client library.

    Attributes:
        history: The writes, reads and faults so far.
        frames: The scenes of the story so far.
    """

    def __init__(self, cluster: LocalCluster, console: Console, library: Library) -> None:
        self._cluster = cluster
        self._library = library
        self._observer = Observer(cluster.bootstrap)
        self._zookeeper = Connection(cluster.zookeeper_connect)
        self._asking = threading.Lock()
        self._watch = Watch(self._observer, self._note)
        self._began = time.monotonic()
        self._workload: Workload | None = None
        self._stage = Stage(console, lambda: cluster_picture(self._scene()))
        self.history = History(time.monotonic)
        self.frames: list[Frame] = []

    def play(self) -> Verdict:
        """Run all steps and return the verdict.

        Raises:
            TimeoutError: The cluster did not recover from a fault in time.
            ClusterError: A broker did not start again.
        """
        self._zookeeper.connect()
        partitions = self._observer.create_topic(
            TOPIC,
            partitions=PARTITIONS,
            replication_factor=REPLICATION_FACTOR,
            configs={"min.insync.replicas": str(MIN_INSYNC_REPLICAS)},
        )
        with self._zookeeper, self._watch, self._stage:
            self._stage.say(
                f"Topic [b]{TOPIC}[/]: {PARTITIONS} partitions, replication factor {REPLICATION_FACTOR}, "
                f"min.insync.replicas={MIN_INSYNC_REPLICAS}. Writing with acks=all."
            )
            self._write_during_faults(partitions)
            self._stage.say("Writing has stopped. Reading everything back.")
            reader = self._library.reader(self._cluster.bootstrap, partitions)
            read_back(reader, partitions, self.history)
        return check(self.history.ops())

    def _write_during_faults(self, partitions: tuple[TopicPartition, ...]) -> None:
        stage, watch = self._stage, self._watch
        producer = self._library.producer(self._cluster.bootstrap)
        with Workload(producer, partitions, self.history, rate=RATE) as workload:
            self._workload = workload
            workload.wait_for_progress(RECOVERY_TIMEOUT_S)
            time.sleep(CALM_S)
            before = watch.view
            leader = before.leader_of_most()
            self._kill(leader, "which leads most partitions")
            stage.say(
                f"[red]SIGKILL[/] broker {leader}, which led {before.led_by(leader)} of {PARTITIONS} "
                f"partitions; none led more."
            )
            workload.wait_for_progress(RECOVERY_TIMEOUT_S)
            stage.say("Every partition takes writes again.")
            time.sleep(CALM_S)
            alive = watch.wait_for(lambda view: view.controller not in (None, leader), "a live controller")
            controller = alive.controller
            assert controller is not None
            self._kill(controller, "which is the controller")
            stage.say(
                f"[red]SIGKILL[/] broker {controller}, the controller. One broker is left: fewer than "
                f"min.insync.replicas, so writes wait."
            )
            dead = (None, leader, controller)
            watch.wait_for(lambda view: view.controller not in dead, "a new controller")
            stage.say(f"Broker {watch.view.controller} is controller now.")
            for broker in (leader, controller):
                self.history.fault(f"restart broker {broker}")
                self._cluster.restart(broker)
                stage.say(f"Broker {broker} is back.")
            workload.wait_for_progress(RECOVERY_TIMEOUT_S)
            stage.say("Every partition takes writes again.")
            watch.wait_for(lambda view: view.whole == PARTITIONS, "a full ISR")
            stage.say("All replicas are in sync again.")
            time.sleep(CALM_S)

    def _kill(self, broker: BrokerId, role: str) -> None:
        self.history.fault(f"SIGKILL broker {broker}, {role}")
        self._cluster.kill(broker)

    def _note(self) -> None:
        if self._workload is not None:
            if not self.frames:
                self._began = time.monotonic()
            self.frames.append(Frame(time.monotonic() - self._began, self._scene()))

    def _scene(self) -> Scene:
        return Scene(
            view=self._watch.view,
            processes={broker.id: broker.pid for broker in self._cluster.brokers.values()},
            epoch=self._epoch(),
            acknowledged={} if self._workload is None else self._workload.acknowledged,
            waiting_s={} if self._workload is None else self._workload.waiting_s(),
        )

    def _epoch(self) -> int:
        """Return the controller epoch, for which ordinary clients cannot ask."""
        with self._asking:
            return int(self._zookeeper.data(paths.CONTROLLER_EPOCH) or 0)


def run(picture: Path | None = None) -> int:
    """Run the demo on the terminal.

    Args:
        picture: An SVG file for the failover over time; None for no file.

    Returns:
        The exit status: 0 if every acknowledged record was read back, once and in order, and the logs
        could be read, and the report is kept; 130 where Ctrl-C ended it, 143 where SIGTERM did; 2 if the
        picture cannot be written there; otherwise 1, and history and logs are kept.
    """
    console = Console()
    objection = None if picture is None else _objection(picture)
    if objection is not None:
        console.print(f"--picture {picture}: {objection}", highlight=False, soft_wrap=True)
        return 2
    directory = Path(tempfile.mkdtemp(prefix="barnabas-demo-"))
    try:
        with _stopped_by_signals():
            kept = _tell(console, directory, picture)
    except (ClusterError, ZooKeeperStartError, TimeoutError, confluent_kafka.KafkaException) as error:
        console.print(f"[bold red]The demo ended early:[/] {error}", highlight=False)
        kept = False
    except Stopped as stopped:
        shutil.rmtree(directory)
        console.print("Stopped. Its logs and data are removed.")
        return stopped.exit_status
    if not kept:
        console.print(f"History, logs and data are kept in {directory}", highlight=False, soft_wrap=True)
        return 1
    report = directory / REPORT
    if not report.exists():
        shutil.rmtree(directory)
        return 0
    shutil.rmtree(directory / CLUSTER)
    console.print(f"The report: {report}", highlight=False, soft_wrap=True)
    return 0


def _objection(picture: Path) -> str | None:
    """Return why the picture cannot be written; None if it can, as far as one can tell before."""
    if picture.is_dir():
        return "is a folder, expected the name of an SVG file"
    if not picture.parent.is_dir():
        return f"there is no folder {picture.parent}"
    writable = picture if picture.exists() else picture.parent
    return None if os.access(writable, os.W_OK) else f"{writable} is not writable"


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    def stop(number: int, _frame: FrameType | None) -> NoReturn:
        raise Stopped(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(console: Console, directory: Path, picture: Path | None) -> bool:
    began = time.monotonic()
    console.print("Starting ZooKeeper and three brokers, each a process of its own.")
    with LocalCluster(directory / CLUSTER) as cluster:
        console.print(f"They serve after {time.monotonic() - began:.1f} s.", highlight=False)
        demo = Demo(cluster, console, LIBRARIES["confluent-kafka"])
        try:
            verdict = demo.play()
        finally:
            save(directory / "history.jsonl", demo.history.ops())
        console.print(verdict_picture(verdict))
        if picture is not None:
            picture.write_text(failover_picture(demo.frames, verdict), encoding="utf-8")
        # Before the brokers stop, or the end of the demo would be the largest incident of the report.
        analyzed = _analyze(console, directory)
    console.print(f"The demo took {time.monotonic() - began:.0f} s.", highlight=False)
    return verdict.valid and analyzed == 0


def _analyze(console: Console, directory: Path) -> int:
    if importlib.util.find_spec("pyspark") is None:
        console.print("For a report of the brokers' logs, pip install 'barnabas[spark]'.", highlight=False)
        return 0
    from barnabas.analysis import job  # Spark takes seconds to import

    console.print("What the brokers' logs say, read by Spark:")
    return job.run([directory / CLUSTER], (directory / REPORT).parent)
