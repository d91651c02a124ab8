"""The gRPC listener: requests of the controller, commands to it, and the followers' fetch streams."""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import grpc
import grpc.aio
import structlog
from google.protobuf.message import DecodeError, Message

from barnabas.broker.replicas.control_requests import ControlRequests
from barnabas.broker.replicas.fetch_sessions import FetchSessions
from barnabas.broker.replicas.ranges import RangeReader
from barnabas.broker.server.peers.control_check import (
    ControlRequestCheck,
    NotConfirmedError,
    NotRegisteredError,
)
from barnabas.broker.server.peers.peer_access import PeerAccess
from barnabas.cluster.model.commands.command import Command, CommandResult, ControllerPort
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.requests import (
    ControlResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from barnabas.cluster.rpc import control_pb2, control_requests, replication_pb2, translate
from barnabas.cluster.rpc.channels import correlation_id_of, server_options
from barnabas.cluster.rpc.commands import METHODS, SERVICE
from barnabas.cluster.runtime.line_limit import LINES

HANDSHAKE_TIMEOUT_MS = 10_000
"""The longest TLS handshake, ms; until its end a stranger takes one of the connections (gRPC: 2 minutes)."""

_logger = structlog.get_logger(__name__)

Q = TypeVar("Q", LeaderAndIsrRequest, UpdateMetadataRequest, StopReplicaRequest)
A = TypeVar("A", bound=ControlResponse)
M = TypeVar("M", bound=Message)


class PeerServer:
    """The server of ``control.proto`` and ``replication.proto`` for the other brokers.

    Args:
        handler: Handles the controller's requests.
        sessions: Serves the followers' streams.
        check: Judges the controller's requests before they are decoded.
        controller: The controller in this process; it refuses with NOT_CONTROLLER if another broker has the
            role.
        session_timeout_ms: ``zookeeper.session.timeout.ms``, from which the keepalive follows.
        ranges: Serves replicas that fetch a damaged range again.
        most_connections: The most connections; one more is closed at once.
        max_idle_ms: ``connections.max.idle.ms``; below 0 for no limit.
        access: The check of its callers, and the certificates of this server if it has TLS; None with neither
            TLS nor an authorizer.
    """

    def __init__(
        self,
        handler: ControlRequests,
        sessions: FetchSessions,
        check: ControlRequestCheck,
        controller: ControllerPort,
        session_timeout_ms: int,
        *,
        ranges: RangeReader,
        most_connections: int,
        max_idle_ms: int = -1,
        access: PeerAccess | None = None,
    ) -> None:
        self._controller = controller
        self._sessions = sessions
        options = server_options(session_timeout_ms, most_connections, max_idle_ms)
        self._credentials = None if access is None else access.credentials
        if self._credentials is not None:
            options.append(("grpc.server_handshake_timeout_ms", HANDSHAKE_TIMEOUT_MS))
        self._server = grpc.aio.server(options=options)
        commands = {
            method.name: grpc.unary_unary_rpc_method_handler(
                self._submit, request_deserializer=method.decode, response_serializer=method.encode_result
            )
            for method in METHODS.values()
        }
        fetch = grpc.stream_stream_rpc_method_handler(
            self._fetch,
            request_deserializer=replication_pb2.FetchRequest.FromString,
            response_serializer=replication_pb2.FetchResponse.SerializeToString,
        )
        replication = {"Fetch": fetch, "ReadRange": _read_range(ranges)}
        services = {
            control_requests.SERVICE: _control_methods(check, handler),
            SERVICE: commands,
            "barnabas.replication.Replication": replication,
        }
        self._server.add_generic_rpc_handlers(
            tuple(
                grpc.method_handlers_generic_handler(
                    name, methods if access is None else access.guarded(methods)
                )
                for name, methods in services.items()
            )
        )

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port, a free one if ``port`` is 0.

        Raises:
            OSError: The address cannot be bound, for instance because another process listens there.
        """
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            if self._credentials is None:
                bound = self._server.add_insecure_port(address)
            else:
                bound = self._server.add_secure_port(address, self._credentials)
        except RuntimeError as error:
            raise OSError(errno.EADDRINUSE, f"cannot listen for peers on {address}: {error}") from error
        await self._server.start()
        return int(bound)

    async def stop(self, grace_s: float) -> None:
        """Stop accepting calls, wait up to ``grace_s`` seconds for those in flight, then cancel them."""
        await self._server.stop(grace_s)

    async def _submit(self, request: tuple[Command[Any], int], _context: Any) -> CommandResult:
        command, timeout_ms = request
        result: CommandResult = await self._controller.submit(command, timeout_ms)
        return result

    async def _fetch(
        self, requests: AsyncIterator[replication_pb2.FetchRequest], _context: Any
    ) -> AsyncIterator[replication_pb2.FetchResponse]:
        async for response in self._sessions.serve(requests):
            yield response


def _control_methods(check: ControlRequestCheck, handler: ControlRequests) -> dict[str, Any]:
    """Return the methods of the service ``BrokerControl``, which the controller calls, by name."""
    return {
        "LeaderAndIsr": _control(
            check,
            handler.leader_and_isr,
            request=LeaderAndIsrRequest,
            message=control_pb2.LeaderAndIsrRequest,
            from_message=translate.leader_and_isr_request_from_message,
            response=LeaderAndIsrResponse,
            to_message=translate.leader_and_isr_response_to_message,
        ),
        "UpdateMetadata": _control(
            check,
            handler.update_metadata,
            request=UpdateMetadataRequest,
            message=control_pb2.UpdateMetadataRequest,
            from_message=translate.update_metadata_request_from_message,
            response=UpdateMetadataResponse,
            to_message=translate.update_metadata_response_to_message,
        ),
        "StopReplica": _control(
            check,
            handler.stop_replica,
            request=StopReplicaRequest,
            message=control_pb2.StopReplicaRequest,
            from_message=translate.stop_replica_request_from_message,
            response=StopReplicaResponse,
            to_message=translate.stop_replica_response_to_message,
        ),
    }


def _control(
    check: ControlRequestCheck,
    carry_out: Callable[[Q, int], Awaitable[A]],
    *,
    request: type[Q],
    message: type[M],
    from_message: Callable[[M], Q],
    response: type[A],
    to_message: Callable[[A], Message],
) -> Any:
    """Return the gRPC handler of one kind of control request.

    The request is decoded only after ``check`` has accepted it. A correlation id that is missing or no number
    is the caller's error, ``INVALID_ARGUMENT``. An unforeseen error of ``carry_out`` is answered with
    ``UNKNOWN_SERVER_ERROR``, and the controller sends again what failed.

    Args:
        check: Judges the epochs of the request.
        carry_out: Handles a request; its second argument is the correlation id.
        request: The class of the request.
        message: The class of its protobuf message.
        from_message: Translates the message to the request.
        response: The class of the response.
        to_message: Translates the response to its protobuf message.
    """

    async def handle(data: bytes, context: Any) -> ControlResponse:
        try:
            correlation_id = correlation_id_of(context.invocation_metadata())
        except ValueError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            raise
        try:
            refusal = await check.refuse(request, data, correlation_id)
            if refusal is not None:
                return refusal
            return await carry_out(from_message(message.FromString(data)), correlation_id)
        except (NotConfirmedError, NotRegisteredError) as error:
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
            raise
        except DecodeError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"no {request.__name__}: {error}")
            raise
        except Exception:
            if LINES.allow(f"control request failed: {request.__name__}"):
                _logger.exception(
                    "control request failed", request=request.__name__, correlation_id=correlation_id
                )
            return response(ErrorCode.UNKNOWN_SERVER_ERROR)

    return grpc.unary_unary_rpc_method_handler(
        handle, response_serializer=lambda answer: to_message(answer).SerializeToString()
    )


def _read_range(ranges: RangeReader) -> Any:
    """Return the gRPC handler by which another replica fetches a damaged range again."""

    async def handle(request: replication_pb2.ReadRangeRequest, _context: Any) -> Any:
        return ranges.read(request)

    return grpc.unary_unary_rpc_method_handler(
        handle,
        request_deserializer=replication_pb2.ReadRangeRequest.FromString,
        response_serializer=replication_pb2.ReadRangeResponse.SerializeToString,
    )
