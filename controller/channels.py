"""One channel for each broker epoch (Kafka: ``RequestSendThread``): a queue, and one request in flight.

While a broker does not answer its queue does not grow: waiting requests are merged per partition (`Queue`).
The queue ends with the broker epoch, so that no request reaches the broker's next incarnation. Source:
docs/kafka/requests.md, Order.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import grpc
import structlog

from barnabas.cluster.model.brokers import GRPC_LISTENER, Broker, Endpoint
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.requests import (
    ControlRequest,
    ControlResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from barnabas.cluster.rpc.channels import CORRELATION_ID_KEY, current_credentials, open_channel
from barnabas.cluster.rpc.control_requests import CALLS, Encoder
from barnabas.cluster.runtime.supervisor import Supervisor
from barnabas.controller.core.batches.request_queue import Queue

_log = structlog.stdlib.get_logger("kafka.controller.RequestSendThread")

RETRY_BACKOFF_S = 0.1
"""The time in seconds before a request that was not answered is sent again."""

PARTITIONS_PER_MESSAGE = 500
"""The most partitions of one message: building and reading one takes a few milliseconds."""

_UNENCODABLE = (ValueError, TypeError)
"""The errors that protobuf raises about a value that its field cannot hold."""

OnResponse = Callable[[Broker, ControlRequest, ControlResponse, int], None]
"""The callback for responses: it gets the broker, the request, the response and the correlation id."""


@dataclass(frozen=True, slots=True)
class ChannelSettings:
    """The settings of a channel.

    Attributes:
        session_timeout_ms: ``zookeeper.session.timeout.ms``, which the keepalive follows.
        request_timeout_ms: ``controller.socket.timeout.ms``: the longest wait for the answer to one attempt.
        listener: The name of the brokers' listener to connect to.
    """

    session_timeout_ms: int
    request_timeout_ms: int
    listener: str = GRPC_LISTENER


class BrokerChannel:
    """The channel to one incarnation of one broker.

    Args:
        broker: The broker, with the epoch of the incarnation.
        settings: The settings of the channel.
        encoder: Encodes the requests to all brokers.
        on_response: Called with every response, in order.
    """

    def __init__(
        self, broker: Broker, settings: ChannelSettings, encoder: Encoder, on_response: OnResponse
    ) -> None:
        self._encoder = encoder
        self._broker = broker
        self._settings = settings
        self._on_response = on_response
        self._queue = Queue()
        self._filled = asyncio.Event()
        self._taken = self._answered = 0
        self._progress = asyncio.Condition()
        self._correlation_ids = itertools.count()
        self._channel: grpc.aio.Channel | None = None
        self._credentials = current_credentials()
        self._calls: dict[type[ControlRequest], Any] = {}

    def send(self, request: ControlRequest) -> None:
        """Queue ``request``."""
        self._queue.put(request)
        self._filled.set()

    async def settle(self) -> None:
        """Wait until the broker has answered what is queued or in flight now.

        Merging makes a queue shorter and moves no UpdateMetadata back. So after as many answers as there are
        requests now, or when nothing is left, each UpdateMetadata of now is answered.
        """
        last = self._taken + len(self._queue)

        def is_settled() -> bool:
            return self._answered >= min(last, self._taken + len(self._queue))

        async with self._progress:
            await self._progress.wait_for(is_settled)

    async def run(self) -> None:
        """Send what is queued, one at a time, until cancelled."""
        try:
            await self._connect()
            while True:
                await self._filled.wait()
                request = self._queue.take()
                if request is None:
                    self._filled.clear()
                    continue
                self._taken += 1
                for part in chunks(request):
                    for message, encoded in self._encodable(part):
                        await self._send_until_answered(encoded, message)
                self._answered += 1
                async with self._progress:
                    self._progress.notify_all()
        finally:
            await self._disconnect()

    async def _connect(self) -> None:
        """Open the channel, in place of one with credentials that have changed."""
        await self._disconnect()
        endpoint = self._endpoint()
        self._credentials = current_credentials()
        channel = open_channel(endpoint.host, endpoint.port, self._settings.session_timeout_ms)
        self._calls = {kind: channel.unary_unary(call.path) for kind, call in CALLS.items()}
        self._channel = channel

    async def _disconnect(self) -> None:
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    def _endpoint(self) -> Endpoint:
        endpoint = self._broker.endpoint(self._settings.listener)
        if endpoint is None:
            names = ", ".join(e.listener for e in self._broker.endpoints) or "none"
            raise LookupError(
                f"broker {self._broker.id} has the listeners {names}, expected one named "
                f"{self._settings.listener}"
            )
        return endpoint

    def _encodable(self, request: ControlRequest) -> Iterator[tuple[bytes, ControlRequest]]:
        """Encode ``request``, in parts if partitions must be left out because they cannot be encoded.

        A person may have written a number into a znode that is too large for its field. The broker must get
        all other partitions nevertheless.
        """
        try:
            message = self._encoder.encode(request)
        except _UNENCODABLE as error:
            is_partitions_fault = self._can_encode(_some(request, slice(0)))
            if len(request.partitions) > 1 and is_partitions_fault:
                for half in chunks(request, (len(request.partitions) + 1) // 2):
                    yield from self._encodable(half)
                return
            name = type(request).__name__.removesuffix("Request")
            blamed = request.partitions if is_partitions_fault else ()
            _log.error(
                "left out what cannot be encoded; the broker does not hear of it",
                broker=self._broker.id,
                what=" of ".join([name, *(str(partition.topic_partition) for partition in blamed)]),
                error=str(error),
            )
            if is_partitions_fault and isinstance(request, LeaderAndIsrRequest) and request.is_full:
                # The receiver waits for the last part, also if nothing of it is left.
                empty = _some(request, slice(0))
                yield self._encoder.encode(empty), empty
            return
        yield message, request

    def _can_encode(self, request: ControlRequest) -> bool:
        try:
            self._encoder.encode(request)
        except _UNENCODABLE:
            return False
        return True

    async def _send_until_answered(self, request: ControlRequest, message: bytes) -> None:
        failures = 0
        while True:
            correlation_id = next(self._correlation_ids)
            try:
                response = await self._calls[type(request)](
                    message,
                    timeout=self._settings.request_timeout_ms / 1000,
                    metadata=((CORRELATION_ID_KEY, str(correlation_id)),),
                )
            except grpc.aio.AioRpcError as error:
                if failures == 0:
                    _log.warning(
                        "broker does not answer; sending again until it does or is gone",
                        broker=self._broker.id,
                        request=type(request).__name__,
                        status=error.code().name,
                        details=error.details(),
                    )
                failures += 1
                await asyncio.sleep(RETRY_BACKOFF_S)
                if current_credentials() is not self._credentials:
                    await self._connect()
            else:
                if failures:
                    _log.info("broker answers again", broker=self._broker.id, sendings=failures + 1)
                self._on_response(self._broker, request, self._answer(request, response), correlation_id)
                return

    def _answer(self, request: ControlRequest, response: Any) -> ControlResponse:
        """Decode ``response``; a response that cannot be decoded counts as an error of the broker.

        The controller sends such a request again. If the error ended the channel instead, the broker would
        get no requests until it registers again.
        """
        try:
            return CALLS[type(request)].response(response)
        except Exception as error:  # noqa: BLE001  (whatever a broker answers, it hears of what comes next)
            _log.error(
                "the answer of a broker cannot be understood",
                broker=self._broker.id,
                request=type(request).__name__,
                exc_info=error,
            )
        failed = ErrorCode.UNKNOWN_SERVER_ERROR
        match request:
            case UpdateMetadataRequest():
                return UpdateMetadataResponse(failed)
            case LeaderAndIsrRequest(partitions=partitions):
                errors = dict.fromkeys((each.topic_partition for each in partitions), failed)
                return LeaderAndIsrResponse(ErrorCode.NONE, errors)
            case StopReplicaRequest(partitions=replicas):
                errors = dict.fromkeys((each.topic_partition for each in replicas), failed)
                return StopReplicaResponse(ErrorCode.NONE, errors)


class BrokerChannels:
    """The channels of all brokers that are registered.

    Args:
        supervisor: The owner of the channels' tasks.
        settings: The settings of each channel.
        on_response: Called with every response.
    """

    def __init__(self, supervisor: Supervisor, settings: ChannelSettings, on_response: OnResponse) -> None:
        self._supervisor = supervisor
        self._settings = settings
        self._encoder = Encoder()
        self._on_response = on_response
        self._open: dict[BrokerId, tuple[BrokerChannel, asyncio.Task[None]]] = {}

    def open(self, broker: Broker) -> None:
        """Open the channel to this incarnation of a broker."""
        self.close(broker.id)
        channel = BrokerChannel(broker, self._settings, self._encoder, self._on_response)
        name = f"Controller-to-broker-{broker.id}-send-thread"
        self._open[broker.id] = channel, self._supervisor.spawn(name, channel.run(), _log_death)

    def close(self, broker_id: BrokerId) -> None:
        """Close the channel to a broker; a request in flight is cancelled."""
        _, task = self._open.pop(broker_id, (None, None))
        if task is not None:
            task.cancel()

    def close_all(self) -> None:
        """Close all channels."""
        for broker_id in list(self._open):
            self.close(broker_id)

    def send(self, broker_id: BrokerId, request: ControlRequest) -> None:
        """Queue ``request``, or drop it with a warning where the broker has no channel."""
        channel, _ = self._open.get(broker_id, (None, None))
        if channel is None:
            _log.warning("dropped a request: no channel", broker=broker_id, request=type(request).__name__)
        else:
            channel.send(request)

    async def settle(self, timeout_s: float) -> None:
        """Wait until all brokers have answered what is queued now, at most ``timeout_s`` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await asyncio.gather(*(channel.settle() for channel, _ in self._open.values()))


def chunks(request: ControlRequest, size: int = PARTITIONS_PER_MESSAGE) -> Iterator[ControlRequest]:
    """Split ``request`` into parts of at most ``size`` partitions."""
    starts = range(0, max(len(request.partitions), 1), size)
    for number, start in enumerate(starts, start=1):
        part = _some(request, slice(start, start + size))
        if isinstance(part, LeaderAndIsrRequest) and part.is_full:
            part = replace(part, parts_to_follow=part.parts_to_follow + len(starts) - number)
        yield part


def _some(request: ControlRequest, part: slice) -> ControlRequest:
    """Return a copy of ``request`` with some of its partitions."""
    match request:
        case LeaderAndIsrRequest():
            return replace(request, partitions=request.partitions[part])
        case UpdateMetadataRequest():
            is_last = part.stop >= len(request.partitions)
            return replace(
                request,
                partitions=request.partitions[part],
                is_complete=request.is_complete and is_last,
            )
        case StopReplicaRequest():
            return replace(request, partitions=request.partitions[part])


def _log_death(name: str, error: BaseException) -> None:
    _log.error(
        "a channel is broken; the broker hears nothing until it registers again", task=name, exc_info=error
    )
