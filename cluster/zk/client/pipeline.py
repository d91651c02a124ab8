"""A pipeline of requests to ZooKeeper, with deadlines and resending after a lost connection.

The pipeline knows neither ZooKeeper's protocol nor its client library: a request can be sent, and calls back
with its outcome from any thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypeVar

from barnabas.cluster.zk.client.errors import RequestFailed, SessionExpired, ZooKeeperError, ZooKeeperTimeout

_WINDOW = 1000
"""The most requests in flight, so that a huge batch does not delay later requests."""

_PER_TURN = 100
"""The most requests sent in one turn of the event loop: a thousand take 27 ms."""

_RESEND_PAUSE_S = 0.01
"""The pause before resending, because a lost request may be reported before the disconnection."""


class Lost(Enum):
    """The outcome of a request whose connection broke before the response; it may have been carried out."""

    LOST = auto()


class _Unanswered(Enum):
    UNANSWERED = auto()


LOST = Lost.LOST
_UNANSWERED = _Unanswered.UNANSWERED


@dataclass(frozen=True, slots=True)
class Request:
    """A request to send.

    Attributes:
        path: The node's path, for errors.
        send: Sends the request without blocking. It must call the given function exactly once, from any
            thread, with the response, a ``ZooKeeperError``, or ``LOST``.
    """

    path: str
    send: Callable[[Callable[[Any], None]], None]


class Pipeline:
    """A pipeline that sends requests while connected, and resends those that lost their connection.

    It belongs to one event loop and is initially disconnected.

    Args:
        timeout_s: The timeout in seconds of a request or a batch, including resending.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._connected = asyncio.Event()
        self._over: ZooKeeperError | None = None
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def is_connected(self) -> bool:
        """Return whether the connection stands and the session has not ended."""
        return self._connected.is_set() and self._over is None

    def connected(self) -> None:
        """Start sending, because the connection was established."""
        self._connected.set()

    def disconnected(self) -> None:
        """Hold requests back, because the connection broke."""
        if self._over is None:
            self._connected.clear()

    def end(self, reason: str) -> None:
        """Fail all current and future requests with ``SessionExpired``."""
        self._over = SessionExpired(reason)
        self._connected.set()
        for waiting in self._waiting:
            _settle(waiting)

    async def wait_connected(self, timeout_s: float) -> bool:
        """Wait at most ``timeout_s`` seconds for the connection, and return whether it was established."""
        if not self._connected.is_set():
            # asyncio.timeout would need a task, which a request handler has only once it has waited.
            connected = asyncio.ensure_future(self._connected.wait())
            try:
                await asyncio.wait((connected,), timeout=timeout_s)
            finally:
                connected.cancel()
        return self.is_connected

    async def one(self, request: Request) -> Any:
        """Send one request, and return its response or raise its error."""
        return value((await self.all([request]))[0])

    async def all(self, requests: Sequence[Request]) -> list[Any]:
        """Send requests in order, and return the response or ``ZooKeeperError`` of each in that order.

        Requests of one batch are carried out in order unless a connection is lost in between.
        """
        deadline = self._loop.time() + self._timeout_s
        outcomes: list[Any] = [_UNANSWERED] * len(requests)
        sent: set[int] = set()
        pending = list(range(len(requests)))
        while pending and await self.wait_connected(deadline - self._loop.time()):
            batch = pending[:_WINDOW]
            answers = await self._exchange([requests[index] for index in batch], deadline)
            for index, answer in zip(batch, answers, strict=True):
                outcomes[index] = answer
                if isinstance(answer, RequestFailed):
                    answer.resent = index in sent
            sent.update(batch)
            if any(answer is _UNANSWERED for answer in answers):
                break
            lost = [index for index, answer in zip(batch, answers, strict=True) if answer is LOST]
            pending = lost + pending[_WINDOW:]
            if lost:
                await asyncio.sleep(_RESEND_PAUSE_S)
        return [
            self._unanswered(requests[index].path, sent=index in sent)
            if outcome is _UNANSWERED or outcome is LOST
            else outcome
            for index, outcome in enumerate(outcomes)
        ]

    async def _exchange(self, requests: Sequence[Request], deadline: float) -> list[Any]:
        """Send requests once, and return their outcomes.

        ``_UNANSWERED`` for those without one by the deadline.
        """
        outcomes: list[Any] = [_UNANSWERED] * len(requests)
        finished = self._loop.create_future()
        arrived: list[int] = []

        def arrive(index: int, outcome: Any) -> None:
            outcomes[index] = outcome
            arrived.append(index)
            # Callbacks may come from two threads, and both may see the last arrival; _settle handles that.
            if len(arrived) == len(requests) and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(_settle, finished)

        self._waiting.add(finished)
        try:
            for index, request in enumerate(requests):
                if index % _PER_TURN == 0 and index:
                    await asyncio.sleep(0)
                request.send(_call_with_index(arrive, index))
            await asyncio.wait((finished,), timeout=deadline - self._loop.time())
        finally:
            self._waiting.discard(finished)
        return list(outcomes)

    def _unanswered(self, path: str, *, sent: bool) -> ZooKeeperError:
        if self._over is not None:
            return SessionExpired(*self._over.args)
        what = "no answer" if sent else "no connection to ask over"
        return ZooKeeperTimeout(f"{what} about {path} within {self._timeout_s:g} s")


T = TypeVar("T")


def value(outcome: T | ZooKeeperError) -> T:
    """Return a response, or raise it if it is an error."""
    if isinstance(outcome, ZooKeeperError):
        raise outcome
    return outcome


def _call_with_index(call: Callable[[int, Any], None], index: int) -> Callable[[Any], None]:
    return lambda outcome: call(index, outcome)


def _settle(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
