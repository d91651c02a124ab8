"""Fixtures that every test may use."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import grpc.aio
import hypothesis
import pytest
from xdist.scheduler import LoadScopeScheduling

from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.requests import (
    ControlRequest,
    LeaderAndIsrResponse,
    StopReplicaResponse,
    UpdateMetadataResponse,
)
from barnabas.cluster.rpc import translate
from barnabas.cluster.rpc.channels import CORRELATION_ID_KEY, server_options
from barnabas.cluster.rpc.control_pb2_grpc import BrokerControlServicer, add_BrokerControlServicer_to_server
from barnabas.cluster.runtime import line_limit
from barnabas.local import ports
from barnabas.local.zookeeper import EmbeddedZooKeeper
from tests.clusters import SharedClusters

_chroots = itertools.count(1)

WORKERS = "PYTEST_XDIST_WORKER_COUNT"

EXAMPLES = 100 if os.environ.get("CI") else 40
"""How many inputs a property test draws that does not say it itself."""

GROUPS = ("spark", "containers")
"""Marks and fixtures whose tests run in one worker: another would start a second Spark, other containers."""

# How long an example takes says nothing on a machine that others use.
hypothesis.settings.register_profile("barnabas", deadline=None, max_examples=EXAMPLES)
hypothesis.settings.load_profile("barnabas")

EACH = tuple(
    f"tests/unit/analysis/{file}.py"
    for file in (
        "story/test_golden",
        "story/test_episodes",
        "story/test_missing_lines",
        "report/test_golden_reports",
    )
)
"""Files whose tests share nothing but the golden incident that names them, and take one worker minutes."""

SPARK_TIMEOUT_S = 1200
"""The limit of a test that starts Spark or runs jobs in it.

The dearest need 60 CPU-seconds (Java compiles while it runs, and the first one starts Spark for all), which
are 40 s on two idle cores and were more than pytest's general limit of 300 s where eight others used them.
"""


@pytest.fixture(autouse=True)
def _no_lines_were_written_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of one process must not use up each other's lines."""
    monkeypatch.setattr(line_limit.LINES, "_limit", line_limit.LineLimit())


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--regenerate` writes the transcripts anew; review the difference as prose."""
    parser.addoption("--regenerate", action="store_true", help="write tests/transcripts/*.txt anew")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the ports of workers apart: a dead broker's port must not become another cluster's."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is not None:
        ranges = list(itertools.pairwise(range(20_000, 32_001, 12_000 // int(os.environ[WORKERS]))))
        ports._FIRST, ports._LAST = ranges[int(worker.removeprefix("gw"))]
        config.option.loadgroup = True  # xdist writes the groups into the names, as with `--dist loadgroup`


@pytest.hookimpl(tryfirst=True)  # before xdist writes the groups into the names
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that the workers end together."""
    items.sort(key=_turn)  # stable: the order within a turn stays
    for item in items:
        group = _group(item)
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))
        if group == "spark" and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SPARK_TIMEOUT_S))


def _turn(item: pytest.Item) -> int:
    if _group(item) is not None or item.nodeid.startswith(EACH):
        return 0
    return 2 if item.nodeid.startswith(("tests/unit/", "tests/shape/")) else 1


def _group(item: pytest.Item) -> str | None:
    return next((name for name in GROUPS if item.get_closest_marker(name) or name in item.fixturenames), None)


class Shares(LoadScopeScheduling):
    """Give a file or a group of tests to one worker as a whole, and the tests of some files one by one."""

    def _split_scope(self, nodeid: str) -> str:
        name, _, group = nodeid.rpartition("@")
        if name and group in GROUPS:
            return group
        return nodeid.partition("[")[2] or nodeid if nodeid.startswith(EACH) else nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Shares:
    """The way in which the tests are shared, whatever ``--dist`` says."""
    return Shares(config, log)


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedZooKeeper]:
    """A real ZooKeeper server for the whole run; a test that stops or kills one starts its own."""
    with EmbeddedZooKeeper(tmp_path_factory.mktemp("zookeeper"), force_sync=False) as server:
        yield server


@pytest.fixture(scope="session")
def new_chroot(zookeeper: EmbeddedZooKeeper) -> Callable[[], str]:
    """Returns connect strings, each with a chroot of its own (not created yet: the session creates it)."""
    return lambda: f"{zookeeper.address}/test-{next(_chroots)}"


@pytest.fixture
def zk_connect(new_chroot: Callable[[], str]) -> str:
    """A connect string with a chroot that no other test uses."""
    return new_chroot()


@pytest.fixture(scope="session")
def shared_clusters(
    new_chroot: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SharedClusters]:
    """The clusters of this worker by their settings, for modules that need none of their own."""
    clusters = SharedClusters(new_chroot, lambda: tmp_path_factory.mktemp("shared"))
    yield clusters
    clusters.stop()


class TcpProxy:
    """A way to a server that a test can cut: all connections at once, and, until ``mend``, all new ones.

    Attributes:
        address: ``host:port`` to connect to instead of the server's own.
    """

    def __init__(self, target: str) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._is_cut = False
        self.address = ""

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        self.address = f"{host}:{port}"

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()

    def cut(self) -> None:
        """Break what is connected and refuse what comes."""
        self._is_cut = True
        for writer in self._writers:
            writer.transport.abort()

    def mend(self) -> None:
        """Let new connections through."""
        self._is_cut = False

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        host, port = self._target.split(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        both = {writer, far_writer}
        self._writers |= both
        await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        self._writers -= both


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@pytest.fixture
async def zk_proxy(zookeeper: EmbeddedZooKeeper) -> AsyncIterator[TcpProxy]:
    """A cuttable way to the ZooKeeper of the run, for one test."""
    proxy = TcpProxy(zookeeper.address)
    await proxy.start()
    yield proxy
    await proxy.stop()


class StubBroker(BrokerControlServicer):
    """A broker to the controller alone: takes every control request, in order, and answers it.

    Attributes:
        id: Its broker id.
        port: Where its gRPC server listens.
        requests: What it was told.
        correlation_ids: The number that each request carried.
        errors: What it answers for a partition other than NONE.
        answers: How many UpdateMetadata it may still answer; None for all.
    """

    def __init__(self, broker_id: int) -> None:
        self.id = BrokerId(broker_id)
        self.port = 0
        self.requests: list[ControlRequest] = []
        self.correlation_ids: list[int] = []
        self.errors: dict[TopicPartition, ErrorCode] = {}
        self.answers: asyncio.Semaphore | None = None
        self._told = asyncio.Event()
        self._server: Any = None

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        return (Endpoint("GRPC", "127.0.0.1", self.port),)

    async def start(self) -> None:
        self._server = grpc.aio.server(options=server_options(6000))
        add_BrokerControlServicer_to_server(self, self._server)
        self.port = self._server.add_insecure_port(f"127.0.0.1:{self.port}")
        await self._server.start()

    async def stop(self) -> None:
        await self._server.stop(None)

    async def until(self, fits: Callable[[list[ControlRequest]], bool], deadline_s: float = 120) -> None:
        """Wait until what it was told fits."""
        async with asyncio.timeout(deadline_s):
            while not fits(self.requests):
                self._told.clear()
                await self._told.wait()

    def _hear(self, request: ControlRequest, context: Any) -> dict[TopicPartition, ErrorCode]:
        self.requests.append(request)
        self.correlation_ids.append(int(dict(context.invocation_metadata())[CORRELATION_ID_KEY]))
        self._told.set()
        return {
            p.topic_partition: self.errors.get(p.topic_partition, ErrorCode.NONE) for p in request.partitions
        }

    async def LeaderAndIsr(self, request: Any, context: Any) -> Any:  # noqa: N802  # the name is the proto's
        heard = self._hear(translate.leader_and_isr_request_from_message(request), context)
        return translate.leader_and_isr_response_to_message(LeaderAndIsrResponse(ErrorCode.NONE, heard))

    async def UpdateMetadata(self, request: Any, context: Any) -> Any:  # noqa: N802
        self._hear(translate.update_metadata_request_from_message(request), context)
        if self.answers is not None:
            await self.answers.acquire()
        return translate.update_metadata_response_to_message(UpdateMetadataResponse(ErrorCode.NONE))

    async def StopReplica(self, request: Any, context: Any) -> Any:  # noqa: N802
        heard = self._hear(translate.stop_replica_request_from_message(request), context)
        return translate.stop_replica_response_to_message(StopReplicaResponse(ErrorCode.NONE, heard))


@pytest.fixture
async def stub_brokers() -> AsyncIterator[Callable[..., Awaitable[list[StubBroker]]]]:
    """Starts stub brokers of the given ids, and stops them after the test."""
    started: list[StubBroker] = []

    async def start(*broker_ids: int) -> list[StubBroker]:
        brokers = [StubBroker(broker_id) for broker_id in broker_ids]
        for broker in brokers:
            await broker.start()
        started.extend(brokers)
        return brokers

    yield start
    for broker in started:
        await broker.stop()
