"""A controller among stub brokers: ZooKeeper and the controller are real, the brokers only their gRPC doors.

The controller runs in the bench's own process, so that its turns can be timed.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import IO

import uvloop

from barnabas.bench.harness.registry import Run
from barnabas.cluster.model.commands.topics import CreateTopics
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr
from barnabas.cluster.model.statechange import StateChange
from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.levels import Level
from barnabas.cluster.runtime import logs
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.statechange_log import StateChangeLog
from barnabas.cluster.runtime.supervisor import Supervisor
from barnabas.cluster.zk.client.operations import OnEvent, WatchEvent, ZooKeeperEvent
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema.paths import BROKER_IDS
from barnabas.cluster.zk.store import ZooKeeperStore
from barnabas.controller.node import ControllerNode, ControllerSettings
from barnabas.local.zookeeper import EmbeddedZooKeeper

TOPICS = 100
BROKERS = tuple(BrokerId(number) for number in (1, 2, 3))
SESSION_TIMEOUT_MS = 30_000
DEADLINE_S = 120
SILENCE_S = 2.0
"""Seconds without a response after which no more are expected; the slowest message takes a tenth of it."""
LAG_PERIOD_S = 0.001


def with_zookeeper(measure: Callable[[str, Path], Awaitable[Run]]) -> Run:
    """Run ``measure`` with the address of an empty ZooKeeper and a directory."""
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory:
        zookeeper = EmbeddedZooKeeper(Path(directory) / "zookeeper")
        zookeeper.start()
        try:
            return uvloop.run(_awaited(measure(zookeeper.address, Path(directory))))
        finally:
            zookeeper.stop()


async def _awaited(measured: Awaitable[Run]) -> Run:
    return await measured


def layout(partitions: int) -> dict[str, dict[int, Assignment]]:
    """Return assignments of ``partitions`` partitions in `TOPICS` topics; the preferred leaders rotate."""
    topics: dict[str, dict[int, Assignment]] = {}
    for number in range(partitions):
        start = number % len(BROKERS)
        replicas = BROKERS[start:] + BROKERS[:start]
        topics.setdefault(f"topic-{number % TOPICS}", {})[number // TOPICS] = Assignment(replicas)
    return topics


@asynccontextmanager
async def session(zookeeper: str, on_event: OnEvent = lambda _: None) -> AsyncIterator[ZooKeeperStore]:
    """Open a ZooKeeper session for the block, and yield its stores."""
    opened = await ZooKeeperSession.connect(
        zookeeper, session_timeout_ms=SESSION_TIMEOUT_MS, on_event=on_event
    )
    try:
        yield ZooKeeperStore(opened)
    finally:
        await opened.close()


async def lay_out(zookeeper: str, topics: Mapping[str, Mapping[int, Assignment]]) -> None:
    """Write the topics and their partition states, as a former controller would have left them."""
    async with session(zookeeper) as store:
        await store.cluster.create_persistent_paths()
        fence = await store.controller.elect(BROKERS[0], 0)
        for topic, numbers in topics.items():
            await store.topics.create(topic, numbers, {}, fence)
            states = {
                TopicPartition(topic, number): LeaderAndIsr.initial(
                    assignment.replicas[0], assignment.replicas
                )
                for number, assignment in numbers.items()
            }
            await store.partitions.create(states, fence)


async def led_by(zookeeper: str, broker: BrokerId, topics: Mapping[str, Mapping[int, Assignment]]) -> int:
    """Return the number of partitions of ``topics`` that the broker leads according to ZooKeeper."""
    tps = [TopicPartition(topic, number) for topic, numbers in topics.items() for number in numbers]
    async with session(zookeeper) as store:
        states = await store.partitions.read(tps)
    return sum(state.leader_and_isr.leader == broker for state in states.values())


@contextmanager
def stub_brokers(zookeeper: str, ids: Sequence[BrokerId] = BROKERS) -> Iterator[IO[bytes]]:
    """Run stub brokers in a process, and yield its standard input; closing that ends their registrations."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "barnabas.bench.stubs.brokers",
        zookeeper,
        *(str(id_) for id_ in ids),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if process.stdout.readline().split() != [str(id_).encode() for id_ in ids]:
            raise RuntimeError(f"the stub brokers {ids} did not come up")
        try:
            yield process.stdin
        finally:
            process.stdin.close()
            process.wait(DEADLINE_S)


class Answers(StateChangeLog):
    """A state-change.log that records the time of the last LeaderAndIsr response."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, Level.INFO)
        self.expect()

    def expect(self) -> None:
        """Forget the responses so far."""
        self._last: float | None = None
        self._received = asyncio.Event()

    def write(self, line: StateChange) -> None:
        """Log ``line``, and record its time if it reports a LeaderAndIsr response."""
        if line.kind is Kind.RESPONSE_RECEIVED and line.values["api"] == "LEADER_AND_ISR":
            self._last = time.perf_counter()
            self._received.set()
        super().write(line)

    async def settle(self) -> float:
        """Wait until no more responses arrive, and return the time of the last (``time.perf_counter``).

        Raises:
            RuntimeError: There was no response.
        """
        with suppress(TimeoutError):
            while True:
                async with asyncio.timeout(SILENCE_S):
                    await self._received.wait()
                self._received.clear()
        if self._last is None:
            raise RuntimeError(f"no LeaderAndIsr was answered within {SILENCE_S:g} s")
        return self._last


class Lag:
    """The lag of the event loop, which other work has to wait for.

    Attributes:
        most_s: The longest lag, seconds.
        most_cpu_s: The longest turn of the loop in CPU time, seconds; it excludes the time that other
            processes use the core.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start a new measurement."""
        self.most_s = self.most_cpu_s = 0.0

    @property
    def details(self) -> dict[str, float]:
        """Return both in milliseconds, as details of a run."""
        return {
            "ms of loop lag at most": self.most_s * 1000,
            "ms of CPU in the loop's longest turn": self.most_cpu_s * 1000,
        }

    async def watch(self) -> None:
        """Measure every millisecond, until cancelled."""
        while True:
            due, cpu = time.perf_counter() + LAG_PERIOD_S, time.thread_time()
            await asyncio.sleep(LAG_PERIOD_S)
            self.most_s = max(self.most_s, time.perf_counter() - due)
            self.most_cpu_s = max(self.most_cpu_s, time.thread_time() - cpu)


class Candidate:
    """The controller of broker 1 in this process; no other broker contests the election.

    Attributes:
        node: The controller.
        answers: The controller's state-change.log, at INFO.
        lag: The lag of the event loop.
        brokers_changed: The time of the first change of ``/brokers/ids`` (``time.perf_counter``).
    """

    def __init__(self, store: ZooKeeperStore, supervisor: Supervisor, answers: Answers) -> None:
        self.answers = answers
        self.lag = Lag()
        self.brokers_changed: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._store = store
        self._elected = asyncio.Event()
        settings = ControllerSettings(BROKERS[0], state_change_log_traces=False)
        self.node = ControllerNode(settings, supervisor, answers, Metrics(), self._controller_changed)

    def _controller_changed(self, broker: BrokerId, _epoch: object) -> None:
        if broker == BROKERS[0]:
            self._elected.set()

    def on_watch_event(self, event: WatchEvent) -> None:
        """Pass a watch event on to the controller, and record a change of the brokers."""
        if event.path == BROKER_IDS and not self.brokers_changed.done():
            self.brokers_changed.set_result(time.perf_counter())
        self.node.on_zookeeper_event(event)

    async def take_over(self) -> None:
        """Win the election, and return when the failover has queued every request for its broker."""
        await self.node.start(self._store)
        await self._elected.wait()
        await self.catch_up()

    async def catch_up(self) -> None:
        """Wait until the controller's mailbox is empty, by submitting a command behind its inputs."""
        await self.node.port.submit(CreateTopics(()), DEADLINE_S * 1000)


@asynccontextmanager
async def candidate(zookeeper: str, directory: Path) -> AsyncIterator[Candidate]:
    """Create a candidate with a session; like a broker, exclude its start from garbage collection.

    The candidate contests the election when ``take_over`` is called.
    """
    created: Candidate | None = None

    def on_event(event: ZooKeeperEvent) -> None:
        if created is not None and isinstance(event, WatchEvent):
            created.on_watch_event(event)

    logs.set_up(directory, "INFO")
    supervisor = Supervisor(lambda name, error: sys.exit(f"{name} died of {error!r}"))
    answers = Answers(directory / "state-change.log")
    async with session(zookeeper, on_event) as store, asyncio.timeout(DEADLINE_S):
        created = Candidate(store, supervisor, answers)
        gc.collect()
        gc.freeze()
        watching = asyncio.get_running_loop().create_task(created.lag.watch())
        try:
            yield created
        finally:
            watching.cancel()
            await created.node.stop()
            await supervisor.close(DEADLINE_S)
            answers.close()
            gc.unfreeze()
