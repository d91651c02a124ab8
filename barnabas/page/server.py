"""The page's server: uvicorn on a thread of its own."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import uvicorn

from barnabas.local.errors import ClusterError
from barnabas.page.app import create_app
from barnabas.page.controls import Controls
from barnabas.page.live import LiveCluster, Source
from barnabas.page.readers import ReaderProtocol
from barnabas.page.report import WITHOUT_SPARK, Report

LOOPBACK = "127.0.0.1"
_STOP_TIMEOUT_S = 5.0


class PageError(ClusterError):
    """An error of a page that cannot be served; the message names the address."""


class PageServer:
    """A page that is served while the block runs.

    Args:
        source: The cluster to show.
        controls: The actions on it.
        host: The address to listen on; others than loopback let everybody press the buttons who can reach it.
        ports: The ports of which the first that is free is taken; 0 stands for any free one.
        out: The folder for the report of Spark's job.
        without_spark: What the page says instead of offering a report where Spark is not installed.
        names: Further names under which browsers reach the page, such as that of a published port's host.

    Raises:
        PageError: The ports are taken.
    """

    def __init__(
        self,
        source: Source,
        controls: Controls,
        *,
        out: Path,
        host: str = LOOPBACK,
        ports: Sequence[int] = (0,),
        names: Sequence[str] = (),
        without_spark: str = WITHOUT_SPARK,
    ) -> None:
        self._source = source
        self._controls = controls
        self._out = out
        self._without_spark = without_spark
        self._names = ["localhost", LOOPBACK, host, *names]
        self._socket = _bound(host, ports)
        self._address = f"{host}:{self._socket.getsockname()[1]}"
        self._server: uvicorn.Server | None = None
        self._thread = threading.Thread(target=self._serve, name="page", daemon=True)

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{self._address}/"

    def __enter__(self) -> Self:
        """Start serving."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop serving."""
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join(_STOP_TIMEOUT_S)
        self._socket.close()

    def _serve(self) -> None:
        # The page itself shows that ZooKeeper does not answer; the terminal belongs to `barnabas up`.
        logging.getLogger("kazoo").setLevel(logging.CRITICAL)
        live = LiveCluster(self._source, self._controls)
        report = Report(list(self._source.logs.values()), self._out, self._without_spark)
        config = uvicorn.Config(
            create_app(live, report, self._names),
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=1,
            lifespan="on",
            http=ReaderProtocol,
        )
        self._server = _Server(config, live)
        self._server.run(sockets=[self._socket])


class _Server(uvicorn.Server):
    """A server that ends the streams of browsers before it waits for requests to end."""

    def __init__(self, config: uvicorn.Config, live: LiveCluster) -> None:
        super().__init__(config)
        self._live = live

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop serving."""
        self._live.end_streams()
        await super().shutdown(sockets)


def _bound(host: str, ports: Sequence[int]) -> socket.socket:
    """Return a socket that listens on the first port that is free."""
    refusals = []
    for port in ports:
        bound = socket.socket()
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
            # Browsers may connect from now on; they are answered once the server runs.
            bound.listen()
        except OSError as error:
            bound.close()
            refusals.append(f"{host}:{port}: {error.strerror}")
        else:
            return bound
    raise PageError(f"the page cannot listen on {', '.join(refusals)}")
