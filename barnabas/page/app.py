"""The page's HTTP interface.

Only the page itself may press its buttons: a request must name this server as its host, and a request that
changes something must be JSON from a page of this server, which a browser does not let other pages send.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from kafka.protocol.admin import CreateTopicsRequest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from barnabas.cluster.model.errors import ErrorCode
from barnabas.local.client_login import kafka_python
from barnabas.page.controls import Action, ControlError
from barnabas.page.live import LiveCluster
from barnabas.page.log_lines import lines_about
from barnabas.page.report import Report
from barnabas.tools.clients.admin_client import SERVER_MS, AdminClient, AdminError

STATIC = Path(__file__).with_name("static")

MOST_STREAMS = 256
"""The most browsers that follow a cluster at a time."""

_KEEP_ALIVE_S = 15.0
_MOST_BODY_BYTES = 64 * 1024
_LONGEST_NUMBER = 14
"""Digits of a time, which is a date then, or of a change's number."""

_TOPIC = re.compile(r"[\w.-]{1,249}", re.ASCII)
_HEADERS = (
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data:; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)


class RefusedError(Exception):
    """An error of a request; the message says what is wrong with it."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def create_app(live: LiveCluster, report: Report, allowed_hosts: Sequence[str]) -> Starlette:
    """Return the ASGI application.

    Args:
        live: The cluster; its tasks run as long as the application.
        report: The report of Spark's job.
        allowed_hosts: The names under which the page may be addressed, without the port.
    """
    page = _Page(live, report)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        following = asyncio.create_task(live.run())
        try:
            yield
        finally:
            live.workload.stop()
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    return Starlette(
        routes=[
            Route("/", page.index),
            Route("/api/history", page.history),
            Route("/api/stream", page.stream),
            Route("/api/failover", page.failover),
            Route("/api/lines", page.lines),
            Route("/api/brokers/{broker:int}/{action}", page.act, methods=["POST"]),
            Route("/api/topics", page.create_topic, methods=["POST"]),
            Route("/api/workload/{what}", page.change_workload, methods=["POST"]),
            Route("/api/report", page.start_report, methods=["POST"]),
            Route("/api/report", page.report_state),
            Route("/report/{path:path}", page.report_file),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=list(allowed_hosts)),
            Middleware(_SameOrigin),
        ],
        exception_handlers={RefusedError: _refused},
        lifespan=lifespan,
    )


async def _refused(_request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, RefusedError) else 500
    return JSONResponse({"error": str(error)}, status)


class _SameOrigin:
    """Refuses changes that another page asks for, and sets the headers that an answer does not set itself.

    Args:
        app: The application behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                # Of two content security policies a browser enforces both, so an answer's own replaces ours.
                own = {name for name, _ in message["headers"]}
                ours = [header for header in _HEADERS if header[0] not in own]
                message["headers"] = [*message["headers"], *ours]
            await send(message)

        request = Request(scope)
        if request.method not in ("GET", "HEAD") and (why := _is_foreign(request)):
            await JSONResponse({"error": why}, 403)(scope, receive, with_headers)
            return
        await self._app(scope, receive, with_headers)


def _is_foreign(request: Request) -> str:
    """Return why a change is refused; empty if it comes from this server's page, or from no browser."""
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if origin is not None and origin != f"http://{host}":
        return f"the origin {origin} may not change this cluster, expected http://{host}"
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return "expected a request of type application/json"
    return ""


class _Page:
    """The handlers.

    Args:
        live: The cluster.
        report: The report of Spark's job.
    """

    def __init__(self, live: LiveCluster, report: Report) -> None:
        self._live = live
        self._report = report

    async def index(self, _request: Request) -> Response:
        """Return the page."""
        return FileResponse(STATIC / "index.html")

    async def history(self, _request: Request) -> Response:
        """Return the first snapshot and all changes since, and what this page can do."""
        return JSONResponse({**self._live.snapshot(), "no_report": self._report.hindrance})

    async def stream(self, request: Request) -> Response:
        """Send what changes from now on, as server-sent events."""
        last = request.headers.get("last-event-id") or request.query_params.get("after", "0")
        if not last.isdecimal() or len(last) > _LONGEST_NUMBER:
            raise RefusedError(f"after is {last!r}, expected the number of a change")
        if self._live.followers >= MOST_STREAMS:
            raise RefusedError(f"{MOST_STREAMS} browsers follow this cluster, which is the most", 503)
        return StreamingResponse(
            _events(self._live, int(last)),
            media_type="text/event-stream",
            headers={"cache-control": "no-store"},
        )

    async def failover(self, _request: Request) -> Response:
        """Return the last failover and its steps."""
        return JSONResponse(self._live.failover())

    async def lines(self, request: Request) -> Response:
        """Return the log lines about a subject around a time."""
        subject, at = request.query_params.get("subject", ""), request.query_params.get("at", "")
        if not subject or not at.isdecimal() or len(at) > _LONGEST_NUMBER:
            raise RefusedError("expected a subject, and a time `at` in milliseconds since 1970")
        found = await asyncio.to_thread(lines_about, self._live.source.logs, subject[:300], int(at))
        return JSONResponse([{"broker": each.broker, "file": each.file, "text": each.text} for each in found])

    async def act(self, request: Request) -> Response:
        """Carry out an action on a broker."""
        try:
            action = Action(request.path_params["action"])
        except ValueError:
            known = ", ".join(Action)
            raise RefusedError(
                f"no action {request.path_params['action']!r}, expected {known}", 404
            ) from None
        try:
            await self._live.act(action, request.path_params["broker"])
        except ControlError as error:
            raise RefusedError(str(error), 409) from error
        return JSONResponse({})

    async def create_topic(self, request: Request) -> Response:
        """Create a topic of a name and a number of partitions."""
        body = await _body(request)
        name, partitions = body.get("name"), body.get("partitions")
        if not isinstance(name, str) or _TOPIC.fullmatch(name) is None:
            raise RefusedError(f"the name is {name!r}, expected up to 249 letters, digits, '.', '_' or '-'")
        if type(partitions) is not int or not 1 <= partitions <= 1000:  # True is an int, too
            raise RefusedError(f"partitions is {partitions!r}, expected 1 to 1000")
        await asyncio.to_thread(self._create, name, partitions)
        return JSONResponse({})

    def _create(self, name: str, partitions: int) -> None:
        """Create a topic; in a failover the request is sent again until a controller answers."""
        try:
            source = self._live.source
            with AdminClient(source.bootstrap, kafka_python(source.login)) as admin:
                topics: list[Any] = [(name, partitions, -1, [], [])]  # the brokers' replication factor
                request = CreateTopicsRequest(topics=topics, timeout_ms=SERVER_MS, min_version=4)
                answer = admin.ask_controller(request)
        except AdminError as error:
            raise RefusedError(f"cannot create {name}: {error}", 409) from error
        (created,) = answer.body.topics
        existed_before = created.error_code == ErrorCode.TOPIC_ALREADY_EXISTS and not answer.tried_before
        if existed_before or created.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
            raise RefusedError(f"cannot create {name}: {created.error_message}", 409)

    async def change_workload(self, request: Request) -> Response:
        """Start or stop the workload."""
        match request.path_params["what"]:
            case "start":
                self._live.workload.start()
            case "stop":
                self._live.workload.stop()
            case other:
                raise RefusedError(f"no {other!r} of the workload, expected start or stop", 404)
        return JSONResponse({})

    async def start_report(self, _request: Request) -> Response:
        """Start Spark's job over the brokers' logs, unless it runs."""
        self._report.start()
        return JSONResponse(self._report.json())

    async def report_state(self, _request: Request) -> Response:
        """Return the state of the report."""
        return JSONResponse(self._report.json())

    async def report_file(self, request: Request) -> Response:
        """Return a file of the report."""
        file = self._report.file(request.path_params["path"])
        if file is None:
            raise RefusedError("there is no such file of a report", 404)
        # The report is one page with its script inside.
        policy = "default-src 'self' 'unsafe-inline'; img-src 'self' data:"
        return FileResponse(file, headers={"content-security-policy": policy})


async def _body(request: Request) -> dict[str, object]:
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > _MOST_BODY_BYTES:
            raise RefusedError(f"the request has more than {_MOST_BODY_BYTES} bytes", 413)
    try:
        body = json.loads(bytes(content))
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"the request is no JSON: {error}") from error
    if not isinstance(body, dict):
        raise RefusedError("expected a JSON object")
    return body


async def _events(live: LiveCluster, after: int) -> AsyncIterator[str]:
    messages = live.follow(after)
    waiting = asyncio.ensure_future(anext(messages))
    try:
        while True:
            done, _ = await asyncio.wait([waiting], timeout=_KEEP_ALIVE_S)
            if not done:
                yield ": still here\n\n"
                continue
            try:
                message = waiting.result()
            except StopAsyncIteration:
                return
            if message is None:
                yield "event: reset\ndata: {}\n\n"
                return
            yield message.text
            waiting = asyncio.ensure_future(anext(messages))
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await messages.aclose()
