"""The metrics page of a broker: HTTP on ``metrics.address``, served by a separate thread.

- ``GET /``: links to the other pages
- ``GET /metrics``: all metrics as Prometheus text
- ``GET /metrics/jmx``: the same metrics, under the names that ready dashboards for Kafka expect
- ``GET /health``: 200 while the broker serves, else 503
- ``GET /failpoints``: the actions of all failpoints
- ``POST /failpoints/<name>?action=<action>``: arms a failpoint if ``failpoints.over.http`` is true
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import structlog
from prometheus_client import CollectorRegistry, make_wsgi_app

from barnabas.cluster.runtime.dashboard_names import DashboardNames
from barnabas.cluster.runtime.failpoints import FAILPOINTS, Action, Failpoint, UnknownFailpointError, find
from barnabas.cluster.runtime.line_limit import LINES

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

_log = structlog.get_logger(__name__)

Arm = Callable[[Failpoint, Action], None]
"""A function that arms a failpoint. The page's thread calls it, so it must pass the call on to the loop."""


MOST_REQUESTS = 16
"""The most connections that are served at a time, each by a thread."""

REQUEST_S = 10.0
"""The seconds after which a connection is closed, however much of its request or answer is left."""


class _Server(ThreadingMixIn, WSGIServer):
    """A server whose connections end in time, and whose slow clients keep nobody out.

    If all places are taken, a new connection gets the place of the one whose request is incomplete for the
    longest time. It is closed only if all requests have arrived.
    """

    daemon_threads = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._lock = threading.Lock()
        # Both have the oldest first: when each connection ends, and those of incomplete requests.
        self._served: dict[socket.socket, float] = {}
        self._incomplete: dict[socket.socket, None] = {}
        super().__init__(*args, **kwargs)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Take one of ``MOST_REQUESTS`` places for a connection; return False if there is none."""
        del client_address
        with self._lock:
            if len(self._served) >= MOST_REQUESTS:
                oldest = next(iter(self._incomplete), None)
                if oldest is None:
                    return False
                self._end(oldest)
            self._served[request] = time.monotonic() + REQUEST_S
            self._incomplete[request] = None
        return True

    def has_arrived(self, request: socket.socket) -> None:
        """Note that the request of a connection is complete."""
        with self._lock:
            self._incomplete.pop(request, None)

    def service_actions(self) -> None:
        """End the connections whose time is up; called several times a second."""
        now = time.monotonic()
        with self._lock:
            for request in [each for each, end in self._served.items() if end <= now]:
                self._end(request)

    def _end(self, request: socket.socket) -> None:
        """Give the place of a connection to others; its thread notices the end of the stream."""
        self._leave(request)
        with contextlib.suppress(OSError):
            request.shutdown(socket.SHUT_RDWR)

    def _leave(self, request: socket.socket) -> None:
        self._served.pop(request, None)
        self._incomplete.pop(request, None)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection and release its place."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._leave(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log one line where `socketserver` would print a traceback.

        Most clients just closed the connection.
        """
        del request
        if LINES.allow("a request to the metrics page failed"):
            _log.info(
                "a request to the metrics page failed", peer=str(client_address), error=repr(sys.exception())
            )


class _ServerIpv6(_Server):
    address_family = socket.AF_INET6


class _Handler(WSGIRequestHandler):
    timeout = REQUEST_S

    def parse_request(self) -> bool:
        """Parse the request, which must arrive before others need the place of the connection."""
        is_valid = super().parse_request()
        cast("_Server", self.server).has_arrived(self.connection)
        return is_valid

    def log_message(self, *args: Any, **kwargs: Any) -> None:
        """Log nothing, because a scraper sends a request every few seconds."""


class MetricsPage:
    """A server of the page.

    Args:
        host: The address to bind.
        port: The TCP port; 0 takes a free one.
        registry: The metrics to show.
        healthy: Returns whether the broker serves; called on the page's thread.
        arm: Arms a failpoint; None to refuse, because a failpoint can end the broker.

    Raises:
        OSError: The address cannot be bound.
    """

    def __init__(
        self, host: str, port: int, registry: CollectorRegistry, healthy: Callable[[], bool], arm: Arm | None
    ) -> None:
        self._metrics: Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]] = make_wsgi_app(registry)
        renamed = CollectorRegistry()
        renamed.register(DashboardNames(registry))
        self._renamed: Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]] = make_wsgi_app(renamed)
        self._healthy = healthy
        self._arm = arm
        kind = _ServerIpv6 if ":" in host else _Server
        self._server = make_server(host, port, self._answer, server_class=kind, handler_class=_Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="metrics-page", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """Return the port that the server is bound to."""
        return int(self._server.server_port)

    def close(self) -> None:
        """Stop serving and release the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, request: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        method, path = str(request["REQUEST_METHOD"]), str(request["PATH_INFO"])
        match method, path.strip("/").split("/"):
            case "GET", [""]:
                return _say(start, "200 OK", _LINKS, "text/html")
            case "GET", ["metrics"]:
                return self._metrics(request, start)
            case "GET", ["metrics", "jmx"]:
                return self._renamed(request, start)
            case "GET", ["health"]:
                return _say(start, *(("200 OK", "serving") if self._healthy() else _NOT_SERVING))
            case "GET", ["failpoints"]:
                armed = (f"{point.name}={point.action.value}" for point in FAILPOINTS.values())
                return _say(start, "200 OK", "\n".join(armed))
            case "POST", ["failpoints", name]:
                return self._arm_one(name, parse_qs(str(request["QUERY_STRING"])), start)
            case _:
                return _say(start, "404 Not Found", f"there is no {method} {path}; expected {_PAGES}")

    def _arm_one(self, name: str, query: dict[str, list[str]], start: StartResponse) -> Iterable[bytes]:
        if self._arm is None:
            return _say(
                start, "403 Forbidden", "failpoints.over.http is false: no failpoint is armed over HTTP"
            )
        try:
            point, action = find(name, query.get("action", [""])[0])
        except UnknownFailpointError as error:
            return _say(start, "400 Bad Request", str(error))
        self._arm(point, action)
        return _say(start, "200 OK", f"{point.name}={action.value}")


_PAGES = (
    "GET /metrics, GET /metrics/jmx, GET /health, GET /failpoints or POST /failpoints/<name>?action=<action>"
)

_LINKS = """<!DOCTYPE html>
<title>Barnabas broker</title>
<ul>
<li><a href="/metrics">/metrics</a>: what the broker measures, for Prometheus
<li><a href="/metrics/jmx">/metrics/jmx</a>: the same, under the names of ready dashboards for Kafka
<li><a href="/health">/health</a>: whether the broker serves clients
<li><a href="/failpoints">/failpoints</a>: what tests make fail
</ul>"""

_NOT_SERVING = ("503 Service Unavailable", "not serving")


def _say(start: StartResponse, status: str, text: str, kind: str = "text/plain") -> Iterable[bytes]:
    body = (text + "\n").encode()
    start(status, [("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(body)))])
    return [body]
