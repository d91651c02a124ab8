"""The check of other brokers' calls, by the certificates of their connections.

Without TLS there are none: then every caller is ``User:ANONYMOUS``, and only an authorizer can refuse it.

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
from barnabas.broker.server.peers.peer_claims import PeerClaims
from barnabas.cluster.model.acls import CLUSTER_NAME, AclOperation, ResourceType
from barnabas.cluster.model.authorization import Action, Requester
from barnabas.cluster.model.principal import ANONYMOUS, KafkaPrincipal
from barnabas.cluster.runtime.line_limit import LINES
from barnabas.cluster.zk.client.errors import ZooKeeperError

CLUSTER_ACTION = Action(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
"""The action that a caller must be allowed to perform to be treated as a broker."""

_KNOWN_CERTIFICATES = 1024

_log = structlog.get_logger(__name__)


class _Caller(NamedTuple):
    """The caller of a method, and the hosts that its certificate is for."""

    requester: Requester
    hosts: tuple[str, ...]


class _Objection(NamedTuple):
    """The reason why a call is refused, with the status of its end."""

    code: grpc.StatusCode
    reason: str


@dataclass(frozen=True, slots=True)
class PeerIdentity:
    """The identity that a certificate gives.

    Attributes:
        principal: The principal, as ACLs and super users name it.
        hosts: The hosts that the certificate is for.
    """

    principal: KafkaPrincipal
    hosts: tuple[str, ...]


_ANONYMOUS = PeerIdentity(ANONYMOUS, ())


@dataclass(frozen=True, slots=True)
class Certificates:
    """The certificates of the connections, and what they say.

    Attributes:
        credentials: The credentials of the server.
        identify: Returns the identity in a certificate (PEM); a ``ValueError`` if it gives none.
        claims: Checks which broker a request says that it is from.
    """

    credentials: grpc.ServerCredentials
    identify: Callable[[bytes], PeerIdentity]
    claims: PeerClaims


class PeerAccess:
    """The decision who may call.

    Args:
        certificates: The certificates of the connections; None if these have no TLS.
        authorizer: Decides who is a broker; without one every caller is that has a trusted certificate for
            a broker's host, or any caller if connections have no TLS.
    """

    def __init__(self, certificates: Certificates | None, authorizer: AclAuthorizer | None) -> None:
        self._certificates = certificates
        self._authorizer = authorizer
        if certificates is not None:
            self._identify = lru_cache(maxsize=_KNOWN_CERTIFICATES)(certificates.identify)

    @property
    def credentials(self) -> grpc.ServerCredentials | None:
        """The credentials of the server; None without TLS."""
        return None if self._certificates is None else self._certificates.credentials

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
            await _require(await self._claim_objection(name, request, caller), context)
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
            await _require(await self._claim_objection(name, first, caller), context)
            objection = None

            async def while_allowed() -> AsyncIterator[Any]:
                nonlocal objection
                yield first
                async for request in incoming:
                    # While the stream stands the right may be taken away, the broker may register elsewhere,
                    # and a request may speak for another broker than the first.
                    objection = (
                        self._right_objection(name, caller)
                        or await self._stranger_objection(name, caller)
                        or await self._claim_objection(name, request, caller)
                    )
                    if objection is not None:
                        return
                    yield request

            async for response in handle(while_allowed(), context):
                yield response
            await _require(objection, context)

        return checked

    async def _caller(self, name: str, context: Any) -> _Caller:
        """Return the caller, or end a call that it may not make."""
        identity = _ANONYMOUS
        if self._certificates is not None:
            (certificate,) = context.auth_context()["x509_pem_cert"]
            try:
                identity = self._identify(certificate)
            except ValueError as error:
                await context.abort(grpc.StatusCode.PERMISSION_DENIED, str(error))
                raise
        requester = requester_of(identity.principal, _host_of(context.peer()))
        caller = _Caller(requester, identity.hosts)
        await _require(self._right_objection(name, caller), context)
        await _require(await self._stranger_objection(name, caller), context)
        return caller

    async def _stranger_objection(self, name: str, caller: _Caller) -> _Objection | None:
        if self._certificates is None:
            return None
        return await _objection(self._certificates.claims.stranger(caller.hosts), name, caller)

    async def _claim_objection(self, name: str, request: Any, caller: _Caller) -> _Objection | None:
        if self._certificates is None:
            return None
        return await _objection(self._certificates.claims.refusal(name, request, caller.hosts), name, caller)

    def _right_objection(self, name: str, caller: _Caller) -> _Objection | None:
        requester = caller.requester
        if self._authorizer is None or self._authorizer.is_authorized(requester, CLUSTER_ACTION, name):
            return None
        reason = f"{requester.principal} must have ClusterAction on Cluster:{CLUSTER_NAME}"
        return _Objection(grpc.StatusCode.PERMISSION_DENIED, reason)


async def _objection(check: Awaitable[str | None], name: str, caller: _Caller) -> _Objection | None:
    """Return the objection of a check of the caller, which is logged; None if it has none."""
    try:
        refusal = await check
    except ZooKeeperError as error:
        return _Objection(grpc.StatusCode.UNAVAILABLE, f"the caller cannot be checked now: {error}")
    if refusal is None:
        return None
    if LINES.allow("refused claim of a broker"):
        _log.warning("request refused", request=name, caller=str(caller.requester.principal), reason=refusal)
    return _Objection(grpc.StatusCode.PERMISSION_DENIED, refusal)


async def _require(objection: _Objection | None, context: Any) -> None:
    """End the call if there is an objection."""
    if objection is not None:
        await context.abort(objection.code, objection.reason)


def _host_of(peer: str) -> str:
    """Return the address in gRPC's name of a peer, such as ``ipv4:10.0.0.1:80`` or ``ipv6:[::1]:80``."""
    address = unquote(peer).partition(":")[2].rpartition(":")[0]
    return address.removeprefix("[").removesuffix("]")
