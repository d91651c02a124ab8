"""Fixtures that every test may use."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Iterator

import pytest

from barnabas.zookeeper import EmbeddedZooKeeper

_chroots = itertools.count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--regenerate` writes the transcripts anew; review the difference as prose."""
    parser.addoption("--regenerate", action="store_true", help="write tests/transcripts/*.txt anew")


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedZooKeeper]:
    """A real ZooKeeper server for the whole run; a test that stops or kills one starts its own."""
    with EmbeddedZooKeeper(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture
def zk_connect(zookeeper: EmbeddedZooKeeper) -> str:
    """A connect string with a chroot that no other test uses (not created yet: the session creates it)."""
    return f"{zookeeper.address}/test-{next(_chroots)}"


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
