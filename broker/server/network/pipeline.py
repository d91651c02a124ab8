"""The requests of one connection, from decoding to encoded answers, which leave in the requests' order.

Kafka handles one request of a connection at a time. Here too, with one exception: requests of a pipelined API
(Produce) start while earlier ones of the same kind wait for their answers, so that an idempotent producer's
five batches are appended and replicated together.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from time import monotonic
from typing import Protocol, cast

from barnabas.broker.server.context import (
    Answer,
    CloseConnectionError,
    Handler,
    ServerContext,
)
from barnabas.broker.server.handlers import api_versions
from barnabas.broker.server.network.eager import start
from barnabas.broker.server.quotas import Timed, TimeSpent
from barnabas.broker.server.request_meter import RequestTimes
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import (
    NO_THROTTLE,
    Chunk,
    Prefix,
    Progress,
    Request,
    UnreadableFrameError,
    decode,
    decode_in_pieces,
    encode,
    encode_in_pieces,
    milliseconds,
)
from barnabas.broker.wire.pieces import Steps
from barnabas.broker.wire.receive import CHUNK_BYTES
from barnabas.cluster.model.principal import KafkaPrincipal
from barnabas.cluster.runtime.collector import many_at_once
from barnabas.cluster.runtime.turn import freed_in_turns, in_turns

MAX_IN_FLIGHT = 64
"""The most pipelined requests of one connection that may wait for their answers."""

LONG_FRAME_BYTES = 4096
"""The size from which a frame is decoded in pieces; a shorter one cannot have too many elements."""


class Connection(Protocol):
    """The connection that the requests belong to."""

    @property
    def principal(self) -> KafkaPrincipal:
        """The identity of the client."""
        ...

    def answer(self, chunks: list[Chunk]) -> bool:
        """Send encoded answers; return whether the socket has taken all that there was to send."""
        ...

    def wake(self) -> None:
        """Start the next request if one is there and may start."""
        ...

    def mute(self, wait_ms: int) -> None:
        """Start no request for so many milliseconds."""
        ...

    def close(self, reason: str, **details: object) -> None:
        """Close after what was written has been sent."""
        ...

    def close_after_error(self, error: Exception, **request: object) -> None:
        """Log an unforeseen error of a handler, and close."""
        ...


@dataclass(slots=True)
class _InFlight(Progress):
    """A request whose answer has not been sent.

    Attributes:
        pipeline: The requests of its connection.
        prefix: The first eight bytes of its frame.
        times: When it arrived, started and so on.
        size: The bytes of its frame.
        claimed: The bytes it holds of ``ServerContext.requests``.
        held: The bytes it holds of ``ServerContext.started``.
        client_id: The name that the client gives itself, or None.
        task: The task that continues it, if it had to wait.
        is_carried_out: Whether only its answer is pending, so that the next request may start.
        builds: Whether it is one of the few whose long answers are built at a time.
        chunks: The encoded answer (empty for a request without one); None while it is not known.
        spent: The time spent on it; None if no client has a quota.
    """

    pipeline: RequestPipeline
    prefix: Prefix
    times: RequestTimes
    size: int
    claimed: int = 0
    held: int = 0
    client_id: str | None = None
    task: asyncio.Task[None] | None = None
    is_carried_out: bool = False
    builds: bool = False
    chunks: list[Chunk] | None = None
    spent: TimeSpent | None = None

    def carried_out(self) -> None:
        """Free the memory of the request, and let the next one start."""
        self.is_carried_out = True
        self.pipeline.carried_out(self)

    async def begin_long_answer(self) -> None:
        """Wait until few other long answers are being built, until they are encoded."""
        await self.pipeline.building.acquire()
        self.builds = True


class RequestPipeline:
    """The requests of one connection that have started, until their answers are sent.

    Args:
        connection: The connection.
        context: Passed to the handlers.
        handlers: The handler of each API.
        listener: The name of the listener that accepted the connection.
        client_host: The address of the client, without the port.
    """

    __slots__ = (
        "_client_host", "_connection", "_context", "_handlers",
        "_in_flight", "_leaving", "_listener", "_loop",
    )  # fmt: skip

    def __init__(
        self,
        connection: Connection,
        context: ServerContext,
        handlers: Mapping[ApiKey, Handler],
        listener: str,
        client_host: str,
    ) -> None:
        self._connection = connection
        self._client_host = client_host
        self._context = context
        self._handlers = handlers
        self._listener = listener
        self._in_flight: deque[_InFlight] = deque()
        self._leaving: list[_InFlight] = []
        """Requests whose answers the socket has not taken yet."""
        self._loop = asyncio.get_running_loop()

    @property
    def is_empty(self) -> bool:
        """Return whether the client waits for no answer."""
        return not self._in_flight

    def may_start(self, prefix: Prefix) -> bool:
        """Return whether the next request of the connection may start now."""
        if not self._in_flight:
            return True
        api = APIS.get(prefix.api_key)
        return (
            api is not None
            and api.pipelined
            and self._in_flight[-1].is_carried_out
            and len(self._in_flight) < MAX_IN_FLIGHT
        )

    def start(self, prefix: Prefix, frame: memoryview, claimed: int, arrived: float, sent_at: float) -> bool:
        """Start a request; return whether its memory is still in use after the call.

        Args:
            prefix: The first eight bytes of the frame.
            frame: The request without its size.
            claimed: The bytes of ``ServerContext.requests`` that the request holds; given back here.
            arrived: When its connection last received bytes (``time.monotonic``).
            sent_at: When the client sent it at the latest (``time.monotonic``).
        """
        api = APIS.get(prefix.api_key)
        if api is None or not api.serves(prefix.api_version):
            self._refuse(prefix, claimed)
            return False
        in_flight = _InFlight(self, prefix, RequestTimes(arrived, monotonic()), len(frame), claimed)
        if not claimed and len(frame) > CHUNK_BYTES:
            in_flight.held = len(frame)
            self._context.started.hold(len(frame))
        try:
            return self._decode(in_flight, frame, sent_at) or in_flight.held > 0
        except UnreadableFrameError as error:
            self._give_back(in_flight)
            self._connection.close("a frame that is no Kafka request", error=str(error))
            return False

    @property
    def building(self) -> asyncio.Semaphore:
        """The limit on long answers that are built at a time."""
        return self._context.building

    def carried_out(self, request: _InFlight) -> None:
        """Free the memory of a request of which only the answer is pending; wake the next one."""
        request.times.handled = monotonic()
        self._give_back(request)
        self._wake_after(request)

    def cancel(self) -> int:
        """Cancel every request, because nobody waits for the answers; return the number of requests."""
        for request in self._in_flight:
            task, request.task = request.task, None
            if task is not None:
                task.cancel()
            self._give_back(request)
        cancelled = len(self._in_flight)
        self._in_flight.clear()
        self._leaving.clear()
        return cancelled

    def _decode(self, in_flight: _InFlight, frame: memoryview, sent_at: float) -> bool:
        """Decode and handle a request; return whether that continues in a task of its own."""
        principal = self._connection.principal
        arguments = frame, self._listener, self._client_host, principal, sent_at
        if len(frame) < LONG_FRAME_BYTES:
            request = decode(*arguments, progress=in_flight)
        else:
            steps = decode_in_pieces(*arguments, progress=in_flight)
            try:
                next(steps)
            except StopIteration as decoded:
                request = decoded.value
            else:
                self._in_flight.append(in_flight)
                in_flight.task = self._loop.create_task(self._finish_long(in_flight, steps))
                return True
        self._in_flight.append(in_flight)
        in_flight.task = start(self._finish(in_flight, self._handled(in_flight, request)))
        if in_flight.task is not None and not in_flight.is_carried_out:
            in_flight.times.handled = monotonic()
        return False

    async def _handled(self, in_flight: _InFlight, request: Request) -> Answer:
        """Return the answer of the handler; measure the time if any client has a quota."""
        in_flight.client_id = request.client_id
        handling: Awaitable[Answer] = self._handlers[request.api.key](self._context, request)
        del request  # the handler keeps what it needs while it waits
        if self._context.quotas.are_set:
            in_flight.spent = TimeSpent()
            handling = Timed(handling, in_flight.spent)
        return self._throttled(in_flight, await handling)

    def _throttled(self, in_flight: _InFlight, answer: Answer) -> Answer:
        """Count the request as use of its client's quotas; mute the connection if it has used too much.

        The answer goes out at once and tells the client how long it should wait (KIP-219).
        """
        spent = in_flight.spent
        if spent is None:
            return answer
        quotas, client_id, produced_ms, busy_ms = self._context.quotas, in_flight.client_id, 0, 0
        user = self._connection.principal.name
        if in_flight.prefix.api_key == ApiKey.PRODUCE:
            produced_ms = quotas.produced(user, client_id, in_flight.size)
        if answer is None or spent.is_exempt:
            quotas.exempted(spent.take())
        else:
            busy_ms = quotas.handled(user, client_id, spent.take())
        handler_ms = milliseconds(getattr(answer, "throttle_time", NO_THROTTLE))
        wait_ms = max(handler_ms, 0 if spent.is_decided else quotas.delay(produced_ms, busy_ms))
        if wait_ms <= 0:
            return answer
        self._connection.mute(wait_ms)
        if answer is None or not hasattr(answer, "throttle_time"):
            return answer
        return cast("Answer", replace(answer, throttle_time=timedelta(milliseconds=wait_ms)))

    async def _finish_long(self, in_flight: _InFlight, steps: Steps[Request]) -> None:
        with many_at_once():
            await self._finish(in_flight, self._handled_long(in_flight, steps))

    async def _handled_long(self, in_flight: _InFlight, steps: Steps[Request]) -> Answer:
        """Decode a request of many elements, in turns with other connections, and handle it."""
        request = await in_turns(steps)
        in_flight.times.handled = monotonic()
        body, handling = [request.body], self._handled(in_flight, request)
        del request
        answer = await handling
        await freed_in_turns(body)
        return answer

    def _refuse(self, prefix: Prefix, claimed: int) -> None:
        """Answer an ApiVersions of an unknown version (KIP-511); close for any other API or version."""
        times = RequestTimes(monotonic(), monotonic())
        in_flight = _InFlight(self, prefix, times, size=0, claimed=claimed)
        if prefix.api_key != ApiKey.API_VERSIONS:
            self._give_back(in_flight)
            self._connection.close(
                "an API or version that is not served", api_key=prefix.api_key, version=prefix.api_version
            )
            return
        self._in_flight.append(in_flight)
        self._settle(in_flight, encode(prefix.correlation_id, api_versions.unsupported_version()))

    async def _finish(self, in_flight: _InFlight, handled: Awaitable[Answer]) -> None:
        """Await the answer to a request, encode it and settle the request."""
        try:
            answers = [await handled]
            self._settle(in_flight, await self._encoded(in_flight, answers))
        except CloseConnectionError as error:
            self._connection.close(error.reason, client_id=in_flight.client_id, **error.details)
        except UnreadableFrameError as error:
            self._connection.close("a frame that is no Kafka request", error=str(error))
        except Exception as error:  # noqa: BLE001  (one request's error must not be another's)
            self._fail(in_flight, error)
        else:
            self._wake_after(in_flight)
        finally:
            if in_flight.builds:
                self.building.release()

    def _wake_after(self, in_flight: _InFlight) -> None:
        """Wake the connection after a request that had to wait.

        The next request starts outside of the task of this one: see ``eager``.
        """
        if in_flight.task is not None:
            self._loop.call_soon(self._connection.wake)

    @staticmethod
    async def _encoded(in_flight: _InFlight, answers: list[Answer]) -> list[Chunk]:
        """Encode the answer in the list, a long one in turns with others; free what that held.

        A request without an answer gets no bytes.
        """
        if answers[0] is None:
            return []
        steps = encode_in_pieces(in_flight.prefix.correlation_id, answers[0])
        try:
            next(steps)
        except StopIteration as encoded:
            return cast("list[Chunk]", encoded.value)
        chunks = await in_turns(steps)
        await freed_in_turns(answers)
        return chunks

    def _settle(self, in_flight: _InFlight, chunks: list[Chunk]) -> None:
        """Note the answer to a request, and send all answers that no earlier request holds back."""
        in_flight.chunks = chunks
        in_flight.times.answered = monotonic()
        self._give_back(in_flight)
        self._context.meter.answered(in_flight.prefix.api_key, in_flight.size, sum(map(len, chunks)))
        ready: list[Chunk] = []
        while self._in_flight and (done := self._in_flight[0].chunks) is not None:
            leaving = self._in_flight.popleft()
            leaving.times.sending = monotonic()
            leaving.chunks = None
            self._leaving.append(leaving)
            ready += done
        if self._leaving and self._connection.answer(ready):
            self.sent()

    def sent(self) -> None:
        """Note that the socket has taken all answers."""
        if self._leaving:
            now = monotonic()
            for request in self._leaving:
                self._context.meter.sent(request.prefix.api_key, request.times, now)
            self._leaving.clear()

    def _give_back(self, request: _InFlight) -> None:
        """Give back the memory of a request whose content is not needed any more."""
        if request.claimed:
            claimed, request.claimed = request.claimed, 0
            self._context.requests.give_back(claimed)
        if request.held:
            held, request.held = request.held, 0
            self._context.started.give_back(held)

    def _fail(self, in_flight: _InFlight, error: Exception) -> None:
        """Close after an unforeseen error of a handler."""
        self._connection.close_after_error(
            error,
            api=ApiKey(in_flight.prefix.api_key).name,
            version=in_flight.prefix.api_version,
            client_id=in_flight.client_id,
        )
