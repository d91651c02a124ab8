"""The gRPC listener: the controller's word, commands for the controller, and the followers' fetch streams."""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
import structlog

from broker.replicas.leadership import Leadership
from broker.replicas.sessions import FollowerSessions
from cluster.model.commands import Command, CommandResult, ControllerPort
from cluster.model.errors import ErrorCode
from cluster.model.requests import (
    ControlRequest,
    ControlResponse,
    LeaderAndIsrResponse,
    StopReplicaResponse,
    UpdateMetadataResponse,
)
from cluster.rpc import control_pb2, control_requests, replication_pb2, translate
from cluster.rpc.channels import CORRELATION_ID_KEY, server_options
from cluster.rpc.commands import METHODS, SERVICE
from cluster.rpc.translate_replication import FetchResponse, fetch_response_to_bytes

_logger = structlog.get_logger(__name__)

_Carry = Callable[[Any, int], Awaitable[ControlResponse]]


class PeerServer:
    """Serves ``control.proto`` and ``replication.proto`` to the other brokers.

    Args:
        leadership: Carries out what the controller says.
        sessions: Serves the followers' streams.
        controller: The controller in this process; it refuses with NOT_CONTROLLER where another broker is it.
        session_timeout_ms: ``zookeeper.session.timeout.ms``, which the keepalive goes by.
    """

    def __init__(
        self,
        leadership: Leadership,
        sessions: FollowerSessions,
        controller: ControllerPort,
        session_timeout_ms: int,
    ) -> None:
        self._controller = controller
        self._sessions = sessions
        self._server = grpc.aio.server(options=server_options(session_timeout_ms))
        control = {
            "LeaderAndIsr": _control(
                leadership.leader_and_isr,
                LeaderAndIsrResponse(ErrorCode.UNKNOWN_SERVER_ERROR),
                lambda data: translate.leader_and_isr_request_from_message(
                    control_pb2.LeaderAndIsrRequest.FromString(data)
                ),
                lambda answer: translate.leader_and_isr_response_to_message(answer).SerializeToString(),
            ),
            "UpdateMetadata": _control(
                leadership.update_metadata,
                UpdateMetadataResponse(ErrorCode.UNKNOWN_SERVER_ERROR),
                lambda data: translate.update_metadata_request_from_message(
                    control_pb2.UpdateMetadataRequest.FromString(data)
                ),
                lambda answer: translate.update_metadata_response_to_message(answer).SerializeToString(),
            ),
            "StopReplica": _control(
                leadership.stop_replica,
                StopReplicaResponse(ErrorCode.UNKNOWN_SERVER_ERROR),
                lambda data: translate.stop_replica_request_from_message(
                    control_pb2.StopReplicaRequest.FromString(data)
                ),
                lambda answer: translate.stop_replica_response_to_message(answer).SerializeToString(),
            ),
        }
        commands = {
            method.name: grpc.unary_unary_rpc_method_handler(
                self._submit, request_deserializer=method.decode, response_serializer=method.encode_result
            )
            for method in METHODS.values()
        }
        fetch = grpc.stream_stream_rpc_method_handler(
            self._fetch,
            request_deserializer=replication_pb2.FetchRequest.FromString,
            response_serializer=fetch_response_to_bytes,
        )
        self._server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(control_requests.SERVICE, control),
                grpc.method_handlers_generic_handler(SERVICE, commands),
                grpc.method_handlers_generic_handler("barnabas.replication.Replication", {"Fetch": fetch}),
            )
        )

    async def start(self, host: str, port: int) -> int:
        """Listen; returns the port, which is a free one where ``port`` is 0.

        Raises:
            OSError: The address cannot be had, for instance because another process listens there.
        """
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            bound = self._server.add_insecure_port(address)
        except RuntimeError as error:
            raise OSError(errno.EADDRINUSE, f"cannot listen for peers on {address}: {error}") from error
        await self._server.start()
        return int(bound)

    async def stop(self, grace_s: float) -> None:
        """Take no more calls, give those under way ``grace_s`` seconds, then cut them off."""
        await self._server.stop(grace_s)

    async def _submit(self, request: tuple[Command[Any], int], _context: Any) -> CommandResult:
        command, timeout_ms = request
        result: CommandResult = await self._controller.submit(command, timeout_ms)
        return result

    async def _fetch(
        self, requests: AsyncIterator[replication_pb2.FetchRequest], _context: Any
    ) -> AsyncIterator[FetchResponse]:
        async for response in self._sessions.serve(requests):
            yield response


def _control(
    carry_out: _Carry,
    failure: ControlResponse,
    from_bytes: Callable[[bytes], ControlRequest],
    to_bytes: Callable[[Any], bytes],
) -> Any:
    """A method by which the controller speaks to this broker.

    An error that nobody foresaw is answered like any other: an unanswered request would be sent again for
    ever.
    """

    async def handle(request: ControlRequest, context: Any) -> ControlResponse:
        metadata = dict(context.invocation_metadata() or ())
        correlation_id = int(metadata.get(CORRELATION_ID_KEY, 0))
        try:
            return await carry_out(request, correlation_id)
        except Exception:
            _logger.exception(
                "control request failed", request=type(request).__name__, correlation_id=correlation_id
            )
            return failure

    return grpc.unary_unary_rpc_method_handler(
        handle, request_deserializer=from_bytes, response_serializer=to_bytes
    )
