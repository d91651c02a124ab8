"""How long until a new controller is ready?

The brokers' replicas are stubs behind their real gRPC door; ZooKeeper and the controller are real. The clock
starts when the candidate looks at ``/controller``, a moment before it creates it, and stops when the failover
is through: every LeaderAndIsr and UpdateMetadata is with the brokers' senders.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvloop

from barnabas.zookeeper import EmbeddedZooKeeper
from bench.registry import Bench, Run, at_most
from cluster.model.commands import CreateTopics
from cluster.model.ids import BrokerId, TopicPartition
from cluster.model.partition import Assignment, LeaderAndIsr
from cluster.model.statechange import StateChange
from cluster.model.statechange.kinds import Kind
from cluster.model.statechange.levels import Level
from cluster.runtime.metrics import Metrics
from cluster.runtime.statechange_log import StateChangeLog
from cluster.runtime.supervisor import Supervisor
from cluster.zk.operations import WatchEvent
from cluster.zk.session import ZooKeeperSession
from cluster.zk.store import ZooKeeperStore
from controller.channels import PARTITIONS_PER_MESSAGE
from controller.node import ControllerNode, ControllerSettings

TOPICS = 100
BROKERS = tuple(BrokerId(number) for number in (1, 2, 3))
SESSION_TIMEOUT_MS = 30_000
DEADLINE_S = 120
LAG_PERIOD_S = 0.001


def measure(partitions: int) -> Run:
    """One failover over so many partitions in `TOPICS` topics, replication factor 3."""
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory:
        zookeeper = EmbeddedZooKeeper(Path(directory) / "zookeeper")
        zookeeper.start()
        try:
            return uvloop.run(_measure(zookeeper.address, Path(directory), partitions))
        finally:
            zookeeper.stop()


async def _measure(zookeeper: str, directory: Path, partitions: int) -> Run:
    await _lay_out(zookeeper, partitions)
    with _stub_brokers(zookeeper):
        return await _fail_over(zookeeper, directory, partitions)


async def _lay_out(zookeeper: str, partitions: int) -> None:
    """Write the topics and their leaderships, as a former controller has left them."""
    session = await ZooKeeperSession.connect(
        zookeeper, session_timeout_ms=SESSION_TIMEOUT_MS, on_event=lambda _: None
    )
    store = ZooKeeperStore(session)
    await store.cluster.create_persistent_paths()
    fence = await store.controller.elect(BROKERS[0], 0)
    for topic, numbers in layout(partitions).items():
        await store.topics.create(topic, numbers, {}, fence)
        states = {
            TopicPartition(topic, number): LeaderAndIsr.initial(assignment.replicas[0], assignment.replicas)
            for number, assignment in numbers.items()
        }
        await store.partitions.create(states, fence)
    await session.close()


def layout(partitions: int) -> dict[str, dict[int, Assignment]]:
    """So many partitions over `TOPICS` topics; the replicas of each begin with another broker."""
    topics: dict[str, dict[int, Assignment]] = {}
    for number in range(partitions):
        start = number % len(BROKERS)
        replicas = BROKERS[start:] + BROKERS[:start]
        topics.setdefault(f"topic-{number % TOPICS}", {})[number // TOPICS] = Assignment(replicas)
    return topics


@contextmanager
def _stub_brokers(zookeeper: str) -> Iterator[None]:
    command = [sys.executable, "-P", "-m", "bench.stub_brokers", zookeeper, *(str(id_) for id_ in BROKERS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        if process.stdout.readline().split() != [str(id_).encode() for id_ in BROKERS]:
            raise RuntimeError("the stub brokers did not come up")
        try:
            yield
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(DEADLINE_S)


class _Answers(StateChangeLog):
    """A state-change.log that counts the answers to LeaderAndIsr, and knows when the last one came."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, Level.INFO)
        self.count = 0
        self.last = 0.0
        self.come = asyncio.Event()

    def write(self, line: StateChange) -> None:
        if line.kind is Kind.RESPONSE_RECEIVED and line.values["api"] == "LEADER_AND_ISR":
            self.count += 1
            self.last = time.perf_counter()
            self.come.set()
        super().write(line)


async def _fail_over(zookeeper: str, directory: Path, partitions: int) -> Run:
    node: ControllerNode | None = None

    def heard(event: object) -> None:
        if node is not None and isinstance(event, WatchEvent):
            node.on_zookeeper_event(event)

    session = await ZooKeeperSession.connect(zookeeper, session_timeout_ms=SESSION_TIMEOUT_MS, on_event=heard)
    supervisor = Supervisor(lambda name, error: sys.exit(f"{name} died of {error!r}"))
    log = _Answers(directory / "state-change.log")
    settings = ControllerSettings(BROKERS[0], state_change_log_traces=False)
    elected = asyncio.Event()
    node = ControllerNode(
        settings, supervisor, log, Metrics(), lambda id_, _: elected.set() if id_ == BROKERS[0] else None
    )
    lag = _Lag()
    watching = asyncio.get_running_loop().create_task(lag.watch())
    began = time.perf_counter()
    await node.start(ZooKeeperStore(session))
    async with asyncio.timeout(DEADLINE_S):
        await elected.wait()
        # Its turn in the mailbox comes when the failover is through.
        await node.port.submit(CreateTopics(()), DEADLINE_S * 1000)
        ready = time.perf_counter()
        expected = len(BROKERS) * -(-partitions // PARTITIONS_PER_MESSAGE)
        while log.count < expected:
            log.come.clear()
            await log.come.wait()
    watching.cancel()
    await node.stop()
    await supervisor.close(DEADLINE_S)
    log.close()
    await session.close()
    return Run(
        ready - began,
        {
            "ms per partition": (ready - began) * 1000 / partitions,
            "s to the last LeaderAndIsr answered": log.last - began,
            "ms of loop lag at most": lag.most_s * 1000,
        },
    )


class _Lag:
    """How late the loop is: what its other work has to wait for."""

    def __init__(self) -> None:
        self.most_s = 0.0

    async def watch(self) -> None:
        while True:
            due = time.perf_counter() + LAG_PERIOD_S
            await asyncio.sleep(LAG_PERIOD_S)
            self.most_s = max(self.most_s, time.perf_counter() - due)


BENCHES = (
    Bench(
        name="controller-failover",
        question="How long until a new controller is ready, state-change.log at INFO?",
        unit="s",
        target=at_most(0.5),
        measure=measure,
        sizes={"partitions": 10_000},
        scales_with="partitions",
    ),
)
