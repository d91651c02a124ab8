"""PLAIN (RFC 4616): user and password in one token.

Source: ``PlainSaslServer`` and ``PlainServerCallbackHandler`` of release 2.8.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from barnabas.broker.core.sasl.server import SaslAuthenticationError

USER_PREFIX = "user_"
"""The JAAS option ``user_<name>`` has the password of a user."""


def users_of(options: Mapping[str, str]) -> dict[str, str]:
    """Return the passwords by user of the options of a ``PlainLoginModule``."""
    return {
        name.removeprefix(USER_PREFIX): password
        for name, password in options.items()
        if name.startswith(USER_PREFIX)
    }


class PlainSaslServer:
    """The broker's half of PLAIN.

    Args:
        users: The passwords by user.
    """

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users
        self.user: str | None = None
        self.lifetime_ms: int | None = None

    def evaluate(self, response: bytes) -> bytes:
        """Check the client's only token, ``[authzid] NUL user NUL password``."""
        try:
            parts = response.decode().split("\0")
        except UnicodeDecodeError:
            raise SaslAuthenticationError("Invalid SASL/PLAIN response: expected UTF-8") from None
        if len(parts) != 3:
            raise SaslAuthenticationError(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        authorization_id, user, password = parts
        if not user:
            raise SaslAuthenticationError("Authentication failed: username not specified")
        if not password:
            raise SaslAuthenticationError("Authentication failed: password not specified")
        # The comparison runs for unknown users, too, so that the time does not tell who exists.
        expected = self._users.get(user)
        equal = hmac.compare_digest((expected or "").encode(), password.encode())
        if expected is None or not equal:
            raise SaslAuthenticationError("Authentication failed: Invalid username or password")
        if authorization_id and authorization_id != user:
            raise SaslAuthenticationError(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self.user = user
        return b""
