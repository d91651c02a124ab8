"""The broker's half of a SASL mechanism, and the ways in which it refuses."""

from __future__ import annotations

from typing import Protocol


class SaslError(Exception):
    """A refusal whose reason clients must not learn (``javax.security.sasl.SaslException``).

    The message is for the broker's log; it never holds a secret.
    """


class SaslAuthenticationError(SaslError):
    """A refusal whose message the client gets (``SaslAuthenticationException``).

    Attributes:
        reason: The reason for the broker's log.
    """

    def __init__(self, message: str, reason: str | None = None) -> None:
        super().__init__(message)
        self.reason = message if reason is None else reason


class SaslServer(Protocol):
    """One exchange of tokens with a client (``javax.security.sasl.SaslServer``).

    Attributes:
        user: The authorization id of the client; None until the exchange is complete.
        lifetime_ms: The milliseconds for which the client's credential is valid from the end of the exchange;
            None without a limit.
    """

    user: str | None
    lifetime_ms: int | None

    def evaluate(self, response: bytes) -> bytes:
        """Return the token that answers the client's ``response``.

        Raises:
            SaslError: The client is refused.
        """
        ...
