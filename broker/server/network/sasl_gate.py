"""The gate of a connection that must authenticate by SASL: it takes each frame until the client is known.

`SaslAuthentication` makes all decisions.
Source: ``SaslServerAuthenticator`` and ``KafkaChannel`` of release 2.8.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import struct
from typing import Any, Protocol

import structlog

from barnabas.broker.core.sasl.authentication import Reply, SaslAuthentication
from barnabas.broker.server.context import ServerContext
from barnabas.broker.server.handlers import api_versions
from barnabas.broker.server.network.illegal_state import illegal_state
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import (
    Chunk,
    Prefix,
    Request,
    UnreadableFrameError,
    decode,
    encode,
    read_prefix,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.principal import KafkaPrincipal
from barnabas.cluster.runtime.line_limit import LINES

_log = structlog.get_logger("org.apache.kafka.common.network.Selector")

FOR_THE_GATE = Prefix(-1, 0, 0)
"""The prefix of a frame that the gate takes; no pipelined request starts beside it."""

_SIZE = struct.Struct(">i")


class GatedConnection(Protocol):
    """The connection behind the gate."""

    principal: KafkaPrincipal

    @property
    def peer(self) -> str:
        """The address of the client, for the log."""
        ...

    def answer(self, chunks: list[Chunk]) -> bool:
        """Send encoded answers."""
        ...

    def close(self, reason: str, **details: object) -> None:
        """Close after what was written has been sent, and log why."""
        ...

    def finish(self) -> None:
        """Close after what was written has been sent."""
        ...


class SaslGate:
    """The gate of one connection.

    Args:
        connection: The connection.
        authentication: The state of its authentication.
        context: Has the settings and the meter.
        listener: The name of the listener.
    """

    def __init__(
        self,
        connection: GatedConnection,
        authentication: SaslAuthentication,
        context: ServerContext,
        listener: str,
    ) -> None:
        self._connection = connection
        self._authentication = authentication
        self._context = context
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._delayed: asyncio.TimerHandle | None = None
        self.has_authenticated = False
        """True if the client has authenticated before on this connection."""

    @property
    def is_shut(self) -> bool:
        """Return whether the client has failed to authenticate.

        Then nothing more is read until the connection closes.
        """
        return self._delayed is not None

    @property
    def is_open(self) -> bool:
        """Return whether the client is authenticated."""
        return self._authentication.is_complete

    def prefix_of(self, frame: memoryview) -> Prefix:
        """Return the prefix of a frame that may pass, or ``FOR_THE_GATE``.

        A SaslHandshake that may begin a re-authentication closes the gate again.

        Raises:
            UnreadableFrameError: The frame is too short for a request.
        """
        authentication = self._authentication
        if not authentication.is_complete:
            return FOR_THE_GATE
        prefix = read_prefix(frame)
        is_again = prefix.api_key == ApiKey.SASL_HANDSHAKE
        return FOR_THE_GATE if is_again and authentication.may_reauthenticate(self._now_ms) else prefix

    def refuses(self, prefix: Prefix) -> bool:
        """Return whether the session has ended, so that the connection is closed without an answer (KIP-368).

        A client whose session has ended may only authenticate again.
        """
        if prefix is FOR_THE_GATE or prefix.api_key == ApiKey.SASL_HANDSHAKE:
            return False
        if not self._authentication.is_expired(self._now_ms):
            return False
        self._context.meter.connections.expired(self._listener)
        self._connection.close("the session has expired without a re-authentication")
        return True

    def receive(self, frame: memoryview) -> None:
        """Take a frame: a request of the authentication, or a token without a request around it."""
        authentication = self._authentication
        if authentication.expects_token:
            self._answer_raw(authentication.token(bytes(frame), self._now_ms))
            return
        try:
            prefix = read_prefix(frame)
            refusal = authentication.refusal_of(prefix.api_key)
            if refusal is not None:
                answer = illegal_state(prefix) if refusal.is_answered else None
                self._fail(refusal.reason, [] if answer is None else encode(prefix.correlation_id, answer))
                return
            api = APIS[prefix.api_key]
            if not api.serves(prefix.api_version):
                self._refuse_version(prefix)
                return
            self._handle(decode(frame, self._listener))
        except UnreadableFrameError as error:
            self._connection.close("a frame that is no Kafka request", error=str(error))

    def cancel(self) -> None:
        """Forget the delayed end: the connection is lost."""
        if self._delayed is not None:
            self._delayed.cancel()

    @property
    def _now_ms(self) -> int:
        return int(self._loop.time() * 1000)

    def _refuse_version(self, prefix: Prefix) -> None:
        if prefix.api_key == ApiKey.API_VERSIONS:
            self._connection.answer(encode(prefix.correlation_id, api_versions.unsupported_version()))
            return
        self._connection.close(
            "an API or version that is not served", api_key=prefix.api_key, version=prefix.api_version
        )

    def _handle(self, request: Request) -> None:
        match request.api.key:
            case ApiKey.API_VERSIONS:
                answer: Any = api_versions.served_versions(request)
                if answer.error_code == ErrorCode.NONE:
                    self._authentication.versions_answered()
                self._connection.answer(encode(request.correlation_id, answer))
            case ApiKey.SASL_HANDSHAKE:
                reply = self._authentication.handshake(request.body.mechanism, request.version, self._now_ms)
                enabled = self._authentication.enabled
                answer = request.answer("SaslHandshakeResponse", error_code=reply.error, mechanisms=enabled)
                self._finish(reply, encode(request.correlation_id, answer))
            case _:
                reply = self._authentication.token(request.body.auth_bytes, self._now_ms)
                answer = request.answer(
                    "SaslAuthenticateResponse",
                    error_code=reply.error,
                    error_message=reply.message,
                    auth_bytes=reply.token,
                    session_lifetime=dt.timedelta(milliseconds=reply.lifetime_ms),
                )
                self._finish(reply, encode(request.correlation_id, answer))

    def _answer_raw(self, reply: Reply) -> None:
        token = reply.token
        self._finish(reply, [_SIZE.pack(len(token)) + token] if reply.failure is None else [])

    def _finish(self, reply: Reply, chunks: list[Chunk]) -> None:
        if reply.failure is not None:
            self._fail(reply.failure, chunks)
            return
        principal = self._authentication.principal
        if self._authentication.is_complete and principal is not None:
            self._connection.principal = principal
            self._context.meter.connections.authenticated(self._listener, is_again=self.has_authenticated)
            self.has_authenticated = True
        self._connection.answer(chunks)

    def _fail(self, reason: str, chunks: list[Chunk]) -> None:
        """Answer and close after ``connection.failed.authentication.delay.ms`` (KIP-306)."""
        kind = self._authentication.attempt
        self._context.meter.connections.failed(self._listener, is_again=self.has_authenticated)
        if LINES.allow(f"failed {kind}"):
            _log.info(f"Failed {kind} with {self._connection.peer} ({reason})", listener=self._listener)
        delay_ms = self._context.settings.failed_authentication_delay_ms
        self._delayed = self._loop.call_later(delay_ms / 1000, self._end, chunks)

    def _end(self, chunks: list[Chunk]) -> None:
        if chunks:
            self._connection.answer(chunks)
        self._connection.finish()
