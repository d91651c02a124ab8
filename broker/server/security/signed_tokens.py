"""Signed bearer tokens (JWT), verified with the keys of a JSON Web Key Set.

PyJWT verifies; it is imported with the first key, because a broker without such tokens would start later for
it. The algorithms follow from the key and never from the token alone (RFC 8725, section 3.1).
Sources: ``ValidatorAccessTokenValidator`` of Kafka 3.1; KIP-768; RFC 7517, RFC 7518.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from barnabas.broker.core.sasl.bearer_tokens import MS_PER_S, BearerToken, TokenError, principal_of

_ALGORITHMS: Mapping[str, tuple[str, ...]] = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "P-256": ("ES256",),
    "P-384": ("ES384",),
    "P-521": ("ES512",),
    "Ed25519": ("EdDSA",),
    "Ed448": ("EdDSA",),
}
"""The algorithms of each kind of key; shared secrets, such as those of HS256, are not used."""

MAX_KEYS = 100
"""The most keys of a set."""


class KeySetError(ValueError):
    """An error for a text that is no JSON Web Key Set, or has no key that can be used."""


@dataclass(frozen=True, slots=True)
class SignedOptions:
    """The requirements of signed tokens.

    Attributes:
        url: Where the keys are (``sasl.oauthbearer.jwks.endpoint.url``).
        refresh_ms: The interval at which they are read again.
        skew_s: The most seconds that clocks may differ.
        audience: The audiences of which a token must name one; empty for any.
        issuer: Who must have issued it; None for anybody.
        principal_claim: The claim that names the client.
    """

    url: str
    refresh_ms: int = 3_600_000
    skew_s: int = 30
    audience: tuple[str, ...] = ()
    issuer: str | None = None
    principal_claim: str = "sub"


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A public key.

    Attributes:
        key: The key.
        algorithms: The algorithms that it may verify.
    """

    key: Any
    algorithms: tuple[str, ...]


@dataclass(slots=True)
class KeySet:
    """The current keys of an issuer, exchanged while the broker runs; without keys no token is valid.

    Attributes:
        keys: The keys by id; None is the id of a key without one.
        on_unknown: Called when a token names a key that is not there.
    """

    keys: Mapping[str | None, VerificationKey] = field(default_factory=dict)
    on_unknown: Callable[[], None] = lambda: None

    def find(self, key_id: str | None) -> VerificationKey:
        """Return the key that a token names, or the only one if it names none.

        Raises:
            TokenError: There is no such key.
        """
        if key_id is None and len(self.keys) == 1:
            return next(iter(self.keys.values()))
        found = self.keys.get(key_id)
        if found is None:
            self.on_unknown()
            raise TokenError("The token names no key that is known")
        return found


def parse_keys(text: bytes) -> dict[str | None, VerificationKey]:
    """Parse a JSON Web Key Set; keys of other kinds or uses are left out.

    Raises:
        KeySetError: It is none, or no key can be used.
    """
    try:
        rows = json.loads(text)["keys"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise KeySetError('expected JSON with a list "keys" (RFC 7517)') from None
    if not isinstance(rows, list) or len(rows) > MAX_KEYS:
        raise KeySetError(f'expected a list "keys" of at most {MAX_KEYS}')
    keys = {}
    for row in rows:
        key = _key(row)
        if key is not None:
            keys[row.get("kid")] = key
    if not keys:
        raise KeySetError("expected a public key of RSA, EC or OKP that is for signatures")
    return keys


def _key(row: Any) -> VerificationKey | None:
    if not isinstance(row, dict) or row.get("use", "sig") != "sig":
        return None
    if not isinstance(row.get("kid"), str | None):
        return None
    kind, named = row.get("kty"), row.get("alg")
    algorithms = _ALGORITHMS.get(str(row.get("crv") if kind in ("EC", "OKP") else kind), ())
    chosen = tuple(each for each in algorithms if named in (None, each))
    if not chosen:
        return None
    import jwt

    try:
        # Whatever algorithm is named here, only the public key is taken; a private one would be a mistake.
        key = jwt.PyJWK({name: value for name, value in row.items() if name != "d"}, chosen[0]).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
    return VerificationKey(key, chosen)


def signed_token(text: str, options: SignedOptions, keys: KeySet) -> BearerToken:
    """Verify a signed token; its times are compared with the system's clock.

    Raises:
        TokenError: It is refused.
    """
    import jwt

    try:
        key_id = jwt.get_unverified_header(text).get("kid")
        key = keys.find(key_id)
        claims = jwt.decode(
            text,
            key.key,
            algorithms=list(key.algorithms),
            audience=list(options.audience) or None,
            issuer=options.issuer,
            leeway=options.skew_s,
            options={
                "require": ["exp", "iat", options.principal_claim],
                "verify_aud": bool(options.audience),
                "verify_iss": options.issuer is not None,
            },
        )
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
        # The message may repeat what the token says; the name of the error does not.
        raise TokenError(f"The token is not valid: {type(error).__name__}") from None
    expires_ms = int(claims["exp"]) * MS_PER_S
    return BearerToken(principal_of(claims, options.principal_claim), expires_ms - now_ms())


def now_ms() -> int:
    """Return the milliseconds since 1970."""
    return time.time_ns() // 1_000_000
