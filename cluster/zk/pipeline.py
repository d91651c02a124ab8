"""How requests to ZooKeeper wait for their answers: in a pipeline, over lost connections, to a deadline.

Knows neither ZooKeeper's protocol nor its client library: a request is something that can be sent and that
calls back, from any thread, with what became of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypeVar

from barnabas.cluster.zk.errors import RequestFailed, SessionExpired, ZooKeeperError, ZooKeeperTimeout

_WINDOW = 1000
"""How many requests are under way at once, so that a huge batch does not hold up what comes after it."""

_RESEND_PAUSE_S = 0.01
"""Between losing a connection and sending again: the loss may be heard before the disconnection."""


class Lost(Enum):
    """The outcome of a request whose connection broke before its answer: it may have been carried out."""

    LOST = auto()


class _Unanswered(Enum):
    UNANSWERED = auto()


LOST = Lost.LOST
_UNANSWERED = _Unanswered.UNANSWERED


@dataclass(frozen=True, slots=True)
class Request:
    """Something to send.

    Attributes:
        path: The node it is about, for errors.
        send: Sends it; the function given is to be called exactly once, from any thread, with the answer, a
            ``ZooKeeperError``, or ``LOST``. Must not block.
    """

    path: str
    send: Callable[[Callable[[Any], None]], None]


class Pipeline:
    """Sends requests while the connection stands, and sends again those that lost it.

    Belongs to one event loop. It starts out disconnected.

    Args:
        timeout_s: How long a request, or a batch of them, may take; resendings included.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._connected = asyncio.Event()
        self._over: ZooKeeperError | None = None
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def is_connected(self) -> bool:
        """Whether the connection stands and the session has not ended."""
        return self._connected.is_set() and self._over is None

    def connected(self) -> None:
        """The connection stands: send what waits."""
        self._connected.set()

    def disconnected(self) -> None:
        """The connection broke: hold back what comes."""
        if self._over is None:
            self._connected.clear()

    def end(self, reason: str) -> None:
        """Let every request, waiting or to come, fail with ``SessionExpired``."""
        self._over = SessionExpired(reason)
        self._connected.set()
        for waiting in self._waiting:
            _settle(waiting)

    async def wait_connected(self, timeout_s: float) -> bool:
        """Wait for the connection; whether it stood within ``timeout_s`` and the session has not ended."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._connected.wait()
        except TimeoutError:
            return False
        return self._over is None

    async def one(self, request: Request) -> Any:
        """Send one request and return its answer, or raise its error."""
        return value((await self.all([request]))[0])

    async def all(self, requests: Sequence[Request]) -> list[Any]:
        """Send these requests in order and return the answer or ``ZooKeeperError`` of each, in that order.

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
        """Send these now; their outcomes, ``_UNANSWERED`` for those that had none by the deadline."""
        outcomes: list[Any] = [_UNANSWERED] * len(requests)
        finished = self._loop.create_future()
        arrived: list[int] = []

        def arrive(index: int, outcome: Any) -> None:
            outcomes[index] = outcome
            arrived.append(index)
            # Callbacks may come from two threads: both may see the last arrival, which _settle takes calmly.
            if len(arrived) == len(requests) and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(_settle, finished)

        self._waiting.add(finished)
        try:
            for index, request in enumerate(requests):
                request.send(_call_with_index(arrive, index))
            async with asyncio.timeout_at(deadline):
                await finished
        except TimeoutError:
            return list(outcomes)
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
    """The answer, or raise where it is an error."""
    if isinstance(outcome, ZooKeeperError):
        raise outcome
    return outcome


def _call_with_index(call: Callable[[int, Any], None], index: int) -> Callable[[Any], None]:
    return lambda outcome: call(index, outcome)


def _settle(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
