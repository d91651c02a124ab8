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

from barnabas.bench.registry import Run
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
from barnabas.cluster.zk.operations import OnEvent, WatchEvent, ZooKeeperEvent
from barnabas.cluster.zk.schema.paths import BROKER_IDS
from barnabas.cluster.zk.session import ZooKeeperSession
from barnabas.cluster.zk.store import ZooKeeperStore
from barnabas.controller.node import ControllerNode, ControllerSettings
from barnabas.local.zookeeper import EmbeddedZooKeeper

TOPICS = 100
BROKERS = tuple(BrokerId(number) for number in (1, 2, 3))
SESSION_TIMEOUT_MS = 30_000
DEADLINE_S = 120
SILENCE_S = 2.0
"""After so long without an answer none is to come: the slowest message takes a tenth of it."""
LAG_PERIOD_S = 0.001


def with_zookeeper(measure: Callable[[str, Path], Awaitable[Run]]) -> Run:
    """One run of ``measure``, which is given the address of an empty ZooKeeper and a directory."""
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
    """So many partitions over `TOPICS` topics; the replicas of each begin with another broker."""
    topics: dict[str, dict[int, Assignment]] = {}
    for number in range(partitions):
        start = number % len(BROKERS)
        replicas = BROKERS[start:] + BROKERS[:start]
        topics.setdefault(f"topic-{number % TOPICS}", {})[number // TOPICS] = Assignment(replicas)
    return topics


@asynccontextmanager
async def session(zookeeper: str, on_event: OnEvent = lambda _: None) -> AsyncIterator[ZooKeeperStore]:
    """The stores of a session that ends with the block."""
    opened = await ZooKeeperSession.connect(
        zookeeper, session_timeout_ms=SESSION_TIMEOUT_MS, on_event=on_event
    )
    try:
        yield ZooKeeperStore(opened)
    finally:
        await opened.close()


async def lay_out(zookeeper: str, topics: Mapping[str, Mapping[int, Assignment]]) -> None:
    """Write the topics and their leaderships, as a former controller has left them."""
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
    """How many partitions of ``topics`` the broker leads, by what stands in ZooKeeper."""
    tps = [TopicPartition(topic, number) for topic, numbers in topics.items() for number in numbers]
    async with session(zookeeper) as store:
        states = await store.partitions.read(tps)
    return sum(state.leader_and_isr.leader == broker for state in states.values())


@contextmanager
def stub_brokers(zookeeper: str, ids: Sequence[BrokerId] = BROKERS) -> Iterator[IO[bytes]]:
    """Brokers of these ids in a process of their own; closing what is yielded ends their registrations."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "barnabas.bench.stub_brokers",
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
    """A state-change.log that knows when the last answer to LeaderAndIsr came."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, Level.INFO)
        self.expect()

    def expect(self) -> None:
        """Forget the answers that came so far."""
        self._last: float | None = None
        self._come = asyncio.Event()

    def write(self, line: StateChange) -> None:
        """Take note of an answer, and log ``line``."""
        if line.kind is Kind.RESPONSE_RECEIVED and line.values["api"] == "LEADER_AND_ISR":
            self._last = time.perf_counter()
            self._come.set()
        super().write(line)

    async def settle(self) -> float:
        """When the last answer came, in seconds of ``time.perf_counter``, once no more come.

        Raises:
            RuntimeError: None came.
        """
        with suppress(TimeoutError):
            while True:
                async with asyncio.timeout(SILENCE_S):
                    await self._come.wait()
                self._come.clear()
        if self._last is None:
            raise RuntimeError(f"no LeaderAndIsr was answered within {SILENCE_S:g} s")
        return self._last


class Lag:
    """How late the loop is: what its other work has to wait for.

    Attributes:
        most_s: The longest that other work had to wait, by the clock.
        most_cpu_s: The longest that the loop's own thread worked without looking at other work, by its CPU
            time: what of ``most_s`` is the program's and not the machine's.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self.most_s = self.most_cpu_s = 0.0

    @property
    def details(self) -> dict[str, float]:
        """Both, in milliseconds, for a bench to print."""
        return {
            "ms of loop lag at most": self.most_s * 1000,
            "ms of CPU in the loop's longest turn": self.most_cpu_s * 1000,
        }

    async def watch(self) -> None:
        """Look every millisecond, until cancelled."""
        while True:
            due, cpu = time.perf_counter() + LAG_PERIOD_S, time.thread_time()
            await asyncio.sleep(LAG_PERIOD_S)
            self.most_s = max(self.most_s, time.perf_counter() - due)
            self.most_cpu_s = max(self.most_cpu_s, time.thread_time() - cpu)


class Candidate:
    """The first broker's controller in this process, which nobody else contests.

    Attributes:
        node: The controller.
        answers: Its state-change.log, at INFO.
        lag: How late the loop was since the candidate stood.
        brokers_changed: When the list of brokers last changed, in seconds of ``time.perf_counter``.
    """

    def __init__(self, store: ZooKeeperStore, supervisor: Supervisor, answers: Answers) -> None:
        self.answers = answers
        self.lag = Lag()
        self.brokers_changed: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._store = store
        self._elected = asyncio.Event()
        settings = ControllerSettings(BROKERS[0], state_change_log_traces=False)
        self.node = ControllerNode(settings, supervisor, answers, Metrics(), self._hear_of_controller)

    def _hear_of_controller(self, broker: BrokerId, _epoch: object) -> None:
        if broker == BROKERS[0]:
            self._elected.set()

    def hear(self, event: WatchEvent) -> None:
        """Hand a watch's event on."""
        if event.path == BROKER_IDS and not self.brokers_changed.done():
            self.brokers_changed.set_result(time.perf_counter())
        self.node.on_zookeeper_event(event)

    async def take_over(self) -> None:
        """Win the race and fail over; returns when every request is with its sender."""
        await self.node.start(self._store)
        await self._elected.wait()
        await self.catch_up()

    async def catch_up(self) -> None:
        """Wait until everything in the controller's mailbox is handled: this waits behind it."""
        await self.node.port.submit(CreateTopics(()), DEADLINE_S * 1000)


@asynccontextmanager
async def candidate(zookeeper: str, directory: Path) -> AsyncIterator[Candidate]:
    """A candidate that has not stood yet, with its session and, as a broker does, its start frozen."""
    standing: Candidate | None = None

    def heard(event: ZooKeeperEvent) -> None:
        if standing is not None and isinstance(event, WatchEvent):
            standing.hear(event)

    logs.set_up(directory, "INFO")
    supervisor = Supervisor(lambda name, error: sys.exit(f"{name} died of {error!r}"))
    answers = Answers(directory / "state-change.log")
    async with session(zookeeper, heard) as store, asyncio.timeout(DEADLINE_S):
        standing = Candidate(store, supervisor, answers)
        gc.collect()
        gc.freeze()
        watching = asyncio.get_running_loop().create_task(standing.lag.watch())
        try:
            yield standing
        finally:
            watching.cancel()
            await standing.node.stop()
            await supervisor.close(DEADLINE_S)
            answers.close()
            gc.unfreeze()
