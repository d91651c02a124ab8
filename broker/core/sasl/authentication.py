"""The authentication of one connection, as a state machine.

Before a client is authenticated, only ApiVersions, SaslHandshake and SaslAuthenticate are served. Sources:
``SaslServerAuthenticator`` of release 2.8; KIP-43, KIP-152, KIP-368.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, unique

from barnabas.broker.core.sasl.server import SaslAuthenticationError, SaslError, SaslServer
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.principal import USER_TYPE, KafkaPrincipal

SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 17, 18, 36

MIN_REAUTHENTICATION_INTERVAL_MS = 1000
"""The least time between the starts of two authentications of a connection (KIP-368)."""


@unique
class SaslState(Enum):
    """The state of a connection."""

    HANDSHAKE_OR_VERSIONS_REQUEST = "HANDSHAKE_OR_VERSIONS_REQUEST"
    HANDSHAKE_REQUEST = "HANDSHAKE_REQUEST"
    AUTHENTICATE = "AUTHENTICATE"
    REAUTH_BAD_MECHANISM = "REAUTH_BAD_MECHANISM"
    COMPLETE = "COMPLETE"
    FAILED = "FAILED"


_AUTHENTICATING = frozenset({SaslState.AUTHENTICATE, SaslState.REAUTH_BAD_MECHANISM})


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal of a request in a state that does not allow it.

    Attributes:
        reason: The reason for the log.
        is_answered: Whether the client gets ``ILLEGAL_SASL_STATE`` before the connection is closed: between
            SaslHandshake and the end of the exchange.
    """

    reason: str
    is_answered: bool


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A mechanism that a listener offers.

    Attributes:
        begin: Returns the broker's half of a new exchange.
        max_reauth_ms: ``connections.max.reauth.ms`` of the mechanism; 0 for sessions without end.
    """

    begin: Callable[[], SaslServer]
    max_reauth_ms: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a SaslHandshake or a token.

    Attributes:
        error: The error code.
        message: The text for the client, of SaslAuthenticate.
        token: The broker's token.
        lifetime_ms: The milliseconds until the client must authenticate again; 0 for never.
        failure: The reason for the log why the connection is closed after the answer; None if it stays.
    """

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    token: bytes = b""
    lifetime_ms: int = 0
    failure: str | None = None


class SaslAuthentication:
    """The authentication of one connection.

    Args:
        mechanisms: The enabled mechanisms by name.

    Attributes:
        state: Where it is.
        principal: The identity of the client once it is authenticated.
        expires_ms: The time on the caller's clock at which the session ends; None if it does not.
    """

    def __init__(self, mechanisms: Mapping[str, Mechanism]) -> None:
        self._mechanisms = mechanisms
        self._name = ""
        self._server: SaslServer | None = None
        self._began_ms: int | None = None
        self._is_raw = False
        self.state = SaslState.HANDSHAKE_OR_VERSIONS_REQUEST
        self.principal: KafkaPrincipal | None = None
        self.expires_ms: int | None = None

    @property
    def is_complete(self) -> bool:
        """Return whether the client's requests are served."""
        return self.state is SaslState.COMPLETE

    @property
    def expects_token(self) -> bool:
        """Return whether the next frame is a token without a request around it (SaslHandshake 0)."""
        return self._is_raw and self.state in _AUTHENTICATING

    @property
    def enabled(self) -> tuple[str, ...]:
        """The names of the enabled mechanisms, as SaslHandshake lists them."""
        return tuple(self._mechanisms)

    @property
    def attempt(self) -> str:
        """Return the kind of attempt, for metrics and logs: ``authentication`` or ``re-authentication``."""
        return "authentication" if self.principal is None else "re-authentication"

    def refusal_of(self, api_key: int) -> Refusal | None:
        """Return why a request of this API closes the connection; None if it is served."""
        state = self.state
        match state:
            case SaslState.HANDSHAKE_OR_VERSIONS_REQUEST if api_key in {API_VERSIONS, SASL_HANDSHAKE}:
                return None
            case SaslState.HANDSHAKE_REQUEST if api_key == SASL_HANDSHAKE:
                return None
            case SaslState.AUTHENTICATE | SaslState.REAUTH_BAD_MECHANISM if api_key == SASL_AUTHENTICATE:
                return None
        reason = self.fail(f"Unexpected Kafka request of API {api_key} in state {state.value}")
        return Refusal(reason, is_answered=state in _AUTHENTICATING)

    def fail(self, reason: str) -> str:
        """End the authentication; return the reason."""
        self.state = SaslState.FAILED
        return reason

    def versions_answered(self) -> None:
        """Note that an ApiVersions request was answered without an error; no other one may follow."""
        self.state = SaslState.HANDSHAKE_REQUEST

    def may_reauthenticate(self, now_ms: int) -> bool:
        """Return whether a SaslHandshake of an authenticated client begins a re-authentication."""
        if self.expires_ms is None or self._began_ms is None:
            return False
        if now_ms - self._began_ms < MIN_REAUTHENTICATION_INTERVAL_MS:
            return False
        self.state = SaslState.HANDSHAKE_REQUEST
        return True

    def is_expired(self, now_ms: int) -> bool:
        """Return whether the session of an authenticated client has ended."""
        return self.expires_ms is not None and now_ms > self.expires_ms

    def handshake(self, name: str, version: int, now_ms: int) -> Reply:
        """Answer a SaslHandshake for the mechanism ``name``.

        Args:
            name: The mechanism, which is compared exactly.
            version: The version of the request: tokens without requests follow version 0.
            now_ms: The time of the start, on the caller's clock.
        """
        mechanism = self._mechanisms.get(name)
        if mechanism is None:
            failure = self.fail("Unsupported SASL mechanism")
            return Reply(ErrorCode.UNSUPPORTED_SASL_MECHANISM, failure=failure)
        self._began_ms, self._is_raw = now_ms, version == 0
        if self.principal is not None and name != self._name:
            # As in Kafka, the handshake succeeds and the first token fails.
            self.state = SaslState.REAUTH_BAD_MECHANISM
            return Reply()
        self._name, self._server = name, mechanism.begin()
        self.state = SaslState.AUTHENTICATE
        return Reply()

    def token(self, response: bytes, now_ms: int) -> Reply:
        """Answer a token of the client; the time is that of the caller's clock."""
        try:
            return self._evaluated(response, now_ms)
        except SaslAuthenticationError as error:
            return self._failed(str(error), error.reason)
        except SaslError as error:
            # The message does not reveal whether the user exists.
            text = (
                f"Authentication failed during {self.attempt} due to invalid credentials with SASL mechanism "
                f"{self._name}"
            )
            return self._failed(text, f"{text}: {error}")

    def _failed(self, message: str, reason: str) -> Reply:
        return Reply(ErrorCode.SASL_AUTHENTICATION_FAILED, message, failure=self.fail(reason))

    def _evaluated(self, response: bytes, now_ms: int) -> Reply:
        if self.state is SaslState.REAUTH_BAD_MECHANISM or self._server is None:
            raise SaslAuthenticationError(
                f"The SASL mechanism must not change during re-authentication; it was {self._name}"
            )
        token = self._server.evaluate(response)
        if self._server.user is None:
            return Reply(token=token)
        principal = KafkaPrincipal(USER_TYPE, self._server.user)
        if self.principal is not None and self.principal != principal:
            raise SaslAuthenticationError(
                f"Cannot change principals during re-authentication from {self.principal}: {principal}"
            )
        lifetime_ms = self._lifetime_ms(self._server.lifetime_ms)
        self.principal, self._server = principal, None
        self.expires_ms = now_ms + lifetime_ms if lifetime_ms else None
        self.state = SaslState.COMPLETE
        return Reply(token=token, lifetime_ms=lifetime_ms)

    def _lifetime_ms(self, credential_ms: int | None) -> int:
        """Return the milliseconds of the session: no longer than the credential; 0 for no end.

        A credential that expires at this moment gets the shortest session; in Kafka its session has no end.
        """
        longest = self._mechanisms[self._name].max_reauth_ms
        if longest <= 0:
            return 0
        return longest if credential_ms is None else max(1, min(longest, credential_ms))
