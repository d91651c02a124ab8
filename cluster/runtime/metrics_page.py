"""The page of a broker's metrics: HTTP on ``metrics.address``, served from a thread of its own.

``GET /`` links to the others · ``GET /metrics`` Prometheus text · ``GET /health`` 200 while the broker
serves, else 503 · ``GET /failpoints`` what is armed · ``POST /failpoints/<name>?action=<action>`` arms one,
where ``failpoints.over.http`` allows it.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import structlog
from prometheus_client import CollectorRegistry, make_wsgi_app

from barnabas.cluster.runtime.failpoints import FAILPOINTS, Action, Failpoint, UnknownFailpointError, find
from barnabas.cluster.runtime.line_limit import LINES

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

_log = structlog.get_logger(__name__)

Arm = Callable[[Failpoint, Action], None]
"""Arms a failpoint; called from the page's thread, so it has to hand the matter to the loop."""


MOST_REQUESTS = 16
"""So many connections to the page are served at a time, each by a thread; one more is closed."""

SILENCE_S = 10.0
"""A connection that says nothing for so long is closed, seconds."""


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._free = threading.Semaphore(MOST_REQUESTS)
        super().__init__(*args, **kwargs)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Take a place for a connection, if there is one."""
        del request, client_address
        return self._free.acquire(blocking=False)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection and free its place."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say in one line what `socketserver` would print with a traceback: most clients just hung up."""
        del request
        if LINES.allow("a request to the metrics page failed"):
            _log.info(
                "a request to the metrics page failed", peer=str(client_address), error=repr(sys.exception())
            )


class _ServerIpv6(_Server):
    address_family = socket.AF_INET6


class _Handler(WSGIRequestHandler):
    timeout = SILENCE_S

    def log_message(self, *args: Any, **kwargs: Any) -> None:
        """Requests are not logged: a scraper asks every few seconds."""


class MetricsPage:
    """Serves the page until it is closed.

    Args:
        host: The address to bind.
        port: The TCP port; 0 takes a free one.
        registry: The metrics to show.
        healthy: Whether the broker serves; asked from the page's thread.
        arm: Arms a failpoint; None refuses to: whoever reaches the page could end the broker by it.

    Raises:
        OSError: The address cannot be bound.
    """

    def __init__(
        self, host: str, port: int, registry: CollectorRegistry, healthy: Callable[[], bool], arm: Arm | None
    ) -> None:
        self._metrics: Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]] = make_wsgi_app(registry)
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
        """The port it is bound to."""
        return int(self._server.server_port)

    def close(self) -> None:
        """Stop serving and free the port."""
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


_PAGES = "GET /metrics, GET /health, GET /failpoints or POST /failpoints/<name>?action=<action>"

_LINKS = """<!DOCTYPE html>
<title>Barnabas broker</title>
<ul>
<li><a href="/metrics">/metrics</a>: what the broker measures, for Prometheus
<li><a href="/health">/health</a>: whether the broker serves clients
<li><a href="/failpoints">/failpoints</a>: what tests make fail
</ul>"""

_NOT_SERVING = ("503 Service Unavailable", "not serving")


def _say(start: StartResponse, status: str, text: str, kind: str = "text/plain") -> Iterable[bytes]:
    body = (text + "\n").encode()
    start(status, [("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(body)))])
    return [body]
