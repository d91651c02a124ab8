"""OAUTHBEARER (RFC 7628): a bearer token in the client's only message.

Sources: ``OAuthBearerSaslServer`` and ``OAuthBearerClientInitialResponse`` of release 2.8; KIP-255, KIP-342.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from barnabas.broker.core.sasl.bearer_tokens import BearerToken, TokenError
from barnabas.broker.core.sasl.server import SaslAuthenticationError, SaslError

_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_PAIR = r"[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01"
_CLIENT_FIRST = re.compile(rf"n,(?:a=(?P<authzid>{_NAME}))?,\x01(?P<pairs>(?:{_PAIR})*)\x01")
_AUTH = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_.a-zA-Z0-9]+)", re.ASCII)

_KVSEP = "\x01"
_ACKNOWLEDGED = b"\x01"
"""The answer of a client that acknowledges an error (RFC 7628, section 3.2.3)."""


class OAuthBearerSaslServer:
    """The broker's half of OAUTHBEARER. Extensions (KIP-342) are accepted and have no effect.

    Args:
        validate: Returns what is known of a token, or raises a ``TokenError``.
    """

    def __init__(self, validate: Callable[[str], BearerToken]) -> None:
        self._validate = validate
        self._refusal: str | None = None
        self._reason = ""
        self.user: str | None = None
        self.lifetime_ms: int | None = None

    def evaluate(self, response: bytes) -> bytes:
        """Check the client's token.

        After a bad one, send the error, and refuse once the client acknowledges it.
        """
        if self._refusal is not None and response == _ACKNOWLEDGED:
            raise SaslAuthenticationError(self._refusal, self._reason)
        self._refusal = None
        authorization_id, token = _parsed(response)
        try:
            found = self._validate(token)
        except TokenError as error:
            scope = "" if error.scope is None else f', "scope":"{error.scope}"'
            self._refusal = f'{{"status":"{error.status}"{scope}}}'
            self._reason = f"{self._refusal}: {error}"
            return self._refusal.encode()
        if authorization_id and authorization_id != found.principal:
            raise SaslAuthenticationError(
                f"Authentication failed: Client requested an authorization id ({authorization_id}) that is "
                f"different from the token's principal name ({found.principal})",
                "the authorization id differs from the token's principal name",
            )
        self.user, self.lifetime_ms = found.principal, max(0, found.lifetime_ms)
        return b""


def _parsed(response: bytes) -> tuple[str, str]:
    """Return the authorization id, which may be empty, and the token."""
    try:
        found = _CLIENT_FIRST.fullmatch(response.decode())
    except UnicodeDecodeError:
        found = None
    if found is None:
        raise SaslError("Invalid OAUTHBEARER client first message")
    properties = dict(pair.split("=", 1) for pair in found["pairs"].split(_KVSEP)[:-1])
    if "auth" not in properties:
        raise SaslError("Invalid OAUTHBEARER client first message: 'auth' not specified")
    auth = _AUTH.fullmatch(properties["auth"])
    if auth is None or auth["scheme"].lower() != "bearer":
        raise SaslError("Invalid OAUTHBEARER client first message: expected auth=Bearer and a token")
    authorization_id = (found["authzid"] or "").replace("=2C", ",").replace("=3D", "=")
    return authorization_id, auth["token"]
