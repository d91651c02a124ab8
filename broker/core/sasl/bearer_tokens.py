"""The claims of bearer tokens, and unsecured tokens (JWS with algorithm ``none``).

Sources: ``OAuthBearerUnsecuredJws``, ``OAuthBearerUnsecuredValidatorCallbackHandler`` and
``OAuthBearerValidationUtils`` of release 2.8; KIP-255; RFC 7515, RFC 7519.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

MS_PER_S = 1000

INVALID_TOKEN = "invalid_token"
INSUFFICIENT_SCOPE = "insufficient_scope"

_PREFIX = "unsecuredValidator"
_PRINCIPAL, _SCOPE = f"{_PREFIX}PrincipalClaimName", f"{_PREFIX}ScopeClaimName"
_REQUIRED, _SKEW = f"{_PREFIX}RequiredScope", f"{_PREFIX}AllowableClockSkewMs"
_MAX_SKEW_MS = 2**31 - 1

_UNSECURED = re.compile(r"(?P<header>[\w-]+)\.(?P<claims>[\w-]+)\.", re.ASCII)


class TokenError(Exception):
    """A token that is refused. The message is for the broker's log and repeats nothing of the token.

    Attributes:
        scope: The scope that the token lacks, for the answer to the client; None if that is not the reason.
    """

    def __init__(self, message: str, scope: str | None = None) -> None:
        super().__init__(message)
        self.scope = scope

    @property
    def status(self) -> str:
        """Return the error code of RFC 6750 for the client's answer."""
        return INVALID_TOKEN if self.scope is None else INSUFFICIENT_SCOPE


@dataclass(frozen=True, slots=True)
class BearerToken:
    """A valid token.

    Attributes:
        principal: The name of the client.
        lifetime_ms: The milliseconds until it expires; negative within the allowed clock skew.
    """

    principal: str
    lifetime_ms: int


@dataclass(frozen=True, slots=True)
class UnsecuredOptions:
    """The options of the validator of unsecured tokens.

    Attributes:
        principal_claim: The claim that names the client.
        scope_claim: The claim that has the scope.
        required_scope: The elements that the scope must have.
        skew_ms: The most milliseconds that clocks may differ.
    """

    principal_claim: str = "sub"
    scope_claim: str = "scope"
    required_scope: tuple[str, ...] = ()
    skew_ms: int = 0


def unsecured_options(options: Mapping[str, str]) -> UnsecuredOptions:
    """Return the options that a JAAS entry has.

    Raises:
        ValueError: One of them is bad; the message names it.
    """
    for name in (_PRINCIPAL, _SCOPE):
        if not options.get(name, "x").strip():
            raise ValueError(f"{name} to be the name of a claim")
    skew = options.get(_SKEW, "0").strip()
    if not re.fullmatch(r"\d{1,10}", skew, re.ASCII) or int(skew) > _MAX_SKEW_MS:
        raise ValueError(f"{_SKEW} to be milliseconds from 0 to {_MAX_SKEW_MS}")
    return UnsecuredOptions(
        options.get(_PRINCIPAL, "sub").strip(),
        options.get(_SCOPE, "scope").strip(),
        tuple(options.get(_REQUIRED, "").split()),
        int(skew),
    )


def unsecured_token(text: str, options: UnsecuredOptions, now_ms: int) -> BearerToken:
    """Check an unsecured token, which anybody can make.

    Args:
        text: The token, ``<header>.<claims>.`` in base64url.
        options: What it must have.
        now_ms: The milliseconds since 1970.

    Raises:
        TokenError: It is refused.
    """
    found = _UNSECURED.fullmatch(text)
    if found is None:
        raise TokenError("The token is no unsecured JWS, of which the third part is empty")
    if _object(found["header"], "header").get("alg") != "none":
        raise TokenError("The header of the token has another algorithm than none")
    claims = _object(found["claims"], "claims")
    principal = principal_of(claims, options.principal_claim)
    issued_ms, expires_ms = _time_ms(claims, "iat"), _time_ms(claims, "exp")
    if issued_ms is not None and issued_ms > now_ms + options.skew_ms:
        raise TokenError("The token was issued in the future")
    if expires_ms is None:
        raise TokenError("The token has no claim exp")
    if expires_ms <= now_ms - options.skew_ms:
        raise TokenError("The token has expired")
    if issued_ms is not None and expires_ms <= issued_ms:
        raise TokenError("The token expires before it was issued")
    granted = _scope(claims, options.scope_claim)
    if not granted.issuperset(options.required_scope):
        # Java's form of a list, as it appears in error messages to clients.
        raise TokenError("The token lacks a required scope", f"[{', '.join(options.required_scope)}]")
    return BearerToken(principal, int(expires_ms) - now_ms)


def principal_of(claims: Mapping[str, Any], name: str) -> str:
    """Return the principal that a claim names.

    Raises:
        TokenError: There is no such claim, or it is no text, or blank.
    """
    principal = claims.get(name)
    if not isinstance(principal, str) or not principal.strip():
        raise TokenError("The claim that names the principal is missing or no text")
    return principal


def _object(part: str, which: str) -> Mapping[str, Any]:
    """Return the JSON object of a part of a token."""
    try:
        decoded = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError):
        raise TokenError(f"The {which} of the token is no JSON in base64url") from None
    if not isinstance(decoded, dict):
        raise TokenError(f"The {which} of the token is no JSON object")
    return decoded


def _time_ms(claims: Mapping[str, Any], name: str) -> float | None:
    """Return a claim in milliseconds since 1970; None if it is missing."""
    seconds = claims.get(name)
    if seconds is None:
        return None
    try:
        if isinstance(seconds, int | float) and not isinstance(seconds, bool):
            milliseconds = float(seconds) * MS_PER_S
            if isfinite(milliseconds):
                return milliseconds
    except OverflowError:
        pass  # a whole number of more than 308 digits
    raise TokenError(f"The claim {name} of the token is no number of seconds")


def _scope(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """Return the elements of the scope; a text is one element, as in Kafka."""
    scope = claims.get(name)
    elements = scope if isinstance(scope, list) else [scope]
    return frozenset(each.strip() for each in elements if isinstance(each, str))
