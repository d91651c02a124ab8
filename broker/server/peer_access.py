"""The check of other brokers' calls, by the certificates of their connections.

A call is checked before its message is read, so gRPC must not read it first: methods with one request are
registered as if they had a stream of them, which is the same on the wire. Source: ``KafkaApis`` of release
2.8 (``CLUSTER_ACTION``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

import grpc
import structlog

from barnabas.broker.authorizer.authorizer import AclAuthorizer, requester_of
from barnabas.broker.server.peer_claims import PeerClaims
from barnabas.cluster.model.acls import CLUSTER_NAME, AclOperation, ResourceType
from barnabas.cluster.model.authorization import Action, Requester
from barnabas.cluster.model.principal import KafkaPrincipal
from barnabas.cluster.runtime.line_limit import LINES
from barnabas.cluster.zk.errors import ZooKeeperError

_CLUSTER_ACTION = Action(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
_KNOWN_CERTIFICATES = 1024

_log = structlog.get_logger(__name__)


class _Caller(NamedTuple):
    """The caller of a method, and the hosts that its certificate is for."""

    requester: Requester
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PeerIdentity:
    """The identity that a certificate gives.

    Attributes:
        principal: The principal, as ACLs and super users name it.
        hosts: The hosts that the certificate is for.
    """

    principal: KafkaPrincipal
    hosts: tuple[str, ...]


class PeerAccess:
    """The decision who may call.

    Args:
        credentials: The credentials of the server.
        identify: Returns the identity in a certificate (PEM); a ``ValueError`` if it gives none.
        claims: Checks which broker a request says that it is from.
        authorizer: Decides who is a broker; None if everybody is whose trusted certificate names one's host.
    """

    def __init__(
        self,
        credentials: grpc.ServerCredentials,
        identify: Callable[[bytes], PeerIdentity],
        claims: PeerClaims,
        authorizer: AclAuthorizer | None,
    ) -> None:
        self.credentials = credentials
        self._identify = lru_cache(maxsize=_KNOWN_CERTIFICATES)(identify)
        self._claims = claims
        self._authorizer = authorizer

    def guarded(self, methods: Mapping[str, Any]) -> dict[str, Any]:
        """Return the methods of a service, each with its check before it."""
        return {name: self._guarded(name, method) for name, method in methods.items()}

    def _guarded(self, name: str, method: Any) -> Any:
        if method.request_streaming:
            return grpc.stream_stream_rpc_method_handler(
                self._stream(name, method.stream_stream),
                request_deserializer=method.request_deserializer,
                response_serializer=method.response_serializer,
            )
        return grpc.stream_unary_rpc_method_handler(
            self._single(name, method.unary_unary),
            request_deserializer=method.request_deserializer,
            response_serializer=method.response_serializer,
        )

    def _single(self, name: str, handle: Any) -> Any:
        async def checked(requests: AsyncIterator[Any], context: Any) -> Any:
            caller = await self._caller(name, context)
            try:
                request = await anext(aiter(requests))
            except StopAsyncIteration:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"no request of {name} came")
                raise
            await self._require(self._claims.refusal(name, request, caller.hosts), name, caller, context)
            return await handle(request, context)

        return checked

    def _stream(self, name: str, handle: Any) -> Any:
        async def checked(requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
            caller = await self._caller(name, context)
            incoming = aiter(requests)
            try:
                first = await anext(incoming)
            except StopAsyncIteration:
                return
            await self._require(self._claims.refusal(name, first, caller.hosts), name, caller, context)
            refusal = None

            async def while_allowed() -> AsyncIterator[Any]:
                nonlocal refusal
                yield first
                async for request in incoming:
                    # The right may be taken away while the stream stands.
                    refusal = self._refusal(caller.requester, name)
                    if refusal is not None:
                        return
                    yield request

            async for response in handle(while_allowed(), context):
                yield response
            if refusal is not None:
                await context.abort(grpc.StatusCode.PERMISSION_DENIED, refusal)

        return checked

    async def _caller(self, name: str, context: Any) -> _Caller:
        """Return the caller, or end a call that it may not make."""
        (certificate,) = context.auth_context()["x509_pem_cert"]
        try:
            identity = self._identify(certificate)
        except ValueError as error:
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, str(error))
            raise
        requester = requester_of(identity.principal, _host_of(context.peer()))
        refusal = self._refusal(requester, name)
        if refusal is not None:
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, refusal)
        caller = _Caller(requester, identity.hosts)
        await self._require(self._claims.stranger(identity.hosts), name, caller, context)
        return caller

    async def _require(self, check: Awaitable[str | None], name: str, caller: _Caller, context: Any) -> None:
        """End the call if the check of its caller has an objection."""
        try:
            refusal = await check
        except ZooKeeperError as error:
            await context.abort(grpc.StatusCode.UNAVAILABLE, f"the caller cannot be checked now: {error}")
            raise
        if refusal is not None:
            if LINES.allow("refused claim of a broker"):
                _log.warning(
                    "request refused", request=name, caller=str(caller.requester.principal), reason=refusal
                )
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, refusal)

    def _refusal(self, requester: Requester, name: str) -> str | None:
        if self._authorizer is None or self._authorizer.is_authorized(requester, _CLUSTER_ACTION, name):
            return None
        return f"{requester.principal} must have ClusterAction on Cluster:{CLUSTER_NAME}"


def _host_of(peer: str) -> str:
    """Return the address in gRPC's name of a peer, such as ``ipv4:10.0.0.1:80`` or ``ipv6:[::1]:80``."""
    address = unquote(peer).partition(":")[2].rpartition(":")[0]
    return address.removeprefix("[").removesuffix("]")
