"""A `ControllerPort` that finds the active controller: in this process, or over gRPC at another broker."""

from __future__ import annotations

from typing import cast

import grpc
import grpc.aio

from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.cluster.model.brokers import GRPC_LISTENER
from barnabas.cluster.model.commands.command import Command, ControllerPort, R, Refused
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.rpc.channels import open_channel
from barnabas.cluster.rpc.commands import METHODS

TRANSPORT_MARGIN_MS = 500
"""The milliseconds that the call waits longer than the controller, so that its own timeout is the answer."""


class AnyController:
    """The port of the active controller, wherever it is.

    Args:
        broker_id: This broker.
        own: The controller in this process.
        metadata: Has the id and endpoint of the controller.
        session_timeout_ms: ``zookeeper.session.timeout.ms``, from which the keepalive follows.
    """

    def __init__(
        self, broker_id: BrokerId, own: ControllerPort, metadata: MetadataCache, session_timeout_ms: int
    ) -> None:
        self._broker_id = broker_id
        self._own = own
        self._metadata = metadata
        self._session_timeout_ms = session_timeout_ms

    async def submit(self, command: Command[R], timeout_ms: int) -> R | Refused:
        """Submit ``command`` to the active controller; see `ControllerPort`."""
        controller = self._metadata.controller
        if controller == self._broker_id:
            return await self._own.submit(command, timeout_ms)
        broker = None if controller is None else self._metadata.broker(controller)
        if broker is None:
            return Refused(ErrorCode.NOT_CONTROLLER, "there is no controller now")
        endpoint = broker.endpoint(GRPC_LISTENER)
        if endpoint is None:
            raise LookupError(f"broker {broker.id} is the controller and has no listener {GRPC_LISTENER}")
        method = METHODS[type(command)]
        # Commands are too rare to keep a channel open across changes of the controller.
        async with open_channel(endpoint.host, endpoint.port, self._session_timeout_ms) as channel:
            call = channel.unary_unary(method.path)
            try:
                answer = await call(
                    method.encode(command, timeout_ms), timeout=(timeout_ms + TRANSPORT_MARGIN_MS) / 1000
                )
            except grpc.aio.AioRpcError as error:
                late = error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
                refusal = ErrorCode.REQUEST_TIMED_OUT if late else ErrorCode.NOT_CONTROLLER
                said = f"{error.code().name} {error.details()}"
                return Refused(refusal, f"the controller, broker {broker.id}, did not answer: {said}")
        return cast("R | Refused", method.decode_result(answer))
