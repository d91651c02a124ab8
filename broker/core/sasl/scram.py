"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), without channel binding.

Sources: ``ScramSaslServer``, ``ScramMessages`` and ``ScramFormatter`` of release 2.8; KIP-84. Unlike 2.8, the
nonce and the channel binding of the client's last message are checked, as RFC 5802 demands (CVE-2024-56128).
"""

from __future__ import annotations

import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping

from barnabas.broker.core.sasl.server import SaslAuthenticationError, SaslError
from barnabas.cluster.model.scram import MIN_ITERATIONS, ScramCredential, ScramMechanism

_SALT_BYTES = 24
"""The bytes of the salts that this project's tools make."""

_NAME = r"(?:[^=,\x00]|=2C|=3D)+"
_PRINTABLE = r"[\x21-\x2b\x2d-\x7e]+"
_VALUE = r"[^,\x00]+"
_BASE64 = r"[A-Za-z0-9+/]+={0,2}"
_EXTENSIONS = rf"(?:,[A-Za-z]={_VALUE})*"

_CLIENT_FIRST = re.compile(
    rf"(?P<header>n,(?:a=(?P<authzid>{_NAME}))?,)"
    rf"(?P<bare>(?:m=[^,]+,)?n=(?P<name>{_NAME}),r=(?P<nonce>{_PRINTABLE})(?:,[A-Za-z]+={_VALUE})*)"
)
_CLIENT_FINAL = re.compile(
    rf"(?P<unproven>c=(?P<binding>{_BASE64}),r=(?P<nonce>{_PRINTABLE})){_EXTENSIONS},p=(?P<proof>{_BASE64})"
)


def _plain_name(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


class StandIns:
    """Credentials of users who have none, so that an attacker cannot tell these from users who have one.

    They resemble the credential of the user whose name is the first: in the length of the salt, in the
    iterations, and they follow from its keys. All brokers know these, so they all answer with the same salt,
    after a restart, too. Two things still tell: a user whose salt has another length or whose iterations are
    others, and a change of the first user's credential, which changes the salts of stand-ins alone. The
    first user can compute all of this.

    Args:
        mechanism: The mechanism.
        credentials: The credentials of this mechanism by user; others change them.
        key: A secret of this process, for as long as there are no credentials.
    """

    def __init__(
        self, mechanism: ScramMechanism, credentials: Mapping[str, ScramCredential], key: bytes
    ) -> None:
        self._mechanism = mechanism
        self._credentials = credentials
        self._model = ScramCredential(bytes(_SALT_BYTES), key, key, MIN_ITERATIONS)
        self._first: str | None = None
        self._count = 0

    def of(self, user: str) -> ScramCredential:
        """Return the credential of a user who has none; its keys let nobody in."""
        model = self._found_model()
        key = model.server_key + model.stored_key
        salt = b""
        while len(salt) < len(model.salt):
            salt += self._mechanism.keyed(key, salt + user.encode())
        unknown = self._mechanism.keyed(key, b"no key of " + user.encode())
        return ScramCredential(salt[: len(model.salt)], unknown, unknown, model.iterations)

    def _found_model(self) -> ScramCredential:
        """Return the credential of the first user; it is looked for again when users come or go."""
        first = None if self._first is None else self._credentials.get(self._first)
        if first is None or len(self._credentials) != self._count:
            self._first, self._count = min(self._credentials, default=None), len(self._credentials)
            first = None if self._first is None else self._credentials[self._first]
        return self._model if first is None else first


class ScramSaslServer:
    """The broker's half of a SCRAM exchange.

    Args:
        mechanism: The mechanism.
        credentials: The credentials of this mechanism by user.
        nonce: The broker's part of the nonce, which nobody can guess: printable characters without a comma.
        stand_ins: The credentials of unknown users.
    """

    def __init__(
        self,
        mechanism: ScramMechanism,
        credentials: Mapping[str, ScramCredential],
        nonce: str,
        stand_ins: StandIns,
    ) -> None:
        self._mechanism = mechanism
        self._credentials = credentials
        self._nonce = nonce
        self._stand_ins = stand_ins
        self._first: tuple[str, ScramCredential, str, str] | None = None
        self._fault: str | None = None
        self.user: str | None = None
        self.lifetime_ms: int | None = None

    def evaluate(self, response: bytes) -> bytes:
        """Answer the client's first message, and then its final one."""
        try:
            message = response.decode()
        except UnicodeDecodeError:
            raise SaslError("a SCRAM message is no UTF-8") from None
        if self._first is None:
            return self._begin(message)
        return self._finish(message, *self._first)

    def _begin(self, message: str) -> bytes:
        found = _CLIENT_FIRST.fullmatch(message)
        if found is None:
            raise SaslError("the client's first SCRAM message has another form")
        user = _plain_name(found["name"])
        credential = self._credentials.get(user)
        if credential is None:
            self._fault = "there is no such user, or it has no credential of this mechanism"
            credential = self._stand_ins.of(user)
        if found["authzid"] is not None and _plain_name(found["authzid"]) != user:
            raise SaslAuthenticationError(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        if credential.iterations < MIN_ITERATIONS:
            raise SaslError(f"the credential has fewer than {MIN_ITERATIONS} iterations")
        nonce = found["nonce"] + self._nonce
        salt = b64encode(credential.salt).decode()
        server_first = f"r={nonce},s={salt},i={credential.iterations}"
        self._nonce = nonce
        binding = b64encode(found["header"].encode()).decode()
        self._first = (user, credential, binding, f"{found['bare']},{server_first}")
        return server_first.encode()

    def _finish(self, message: str, user: str, credential: ScramCredential, binding: str, said: str) -> bytes:
        found = _CLIENT_FINAL.fullmatch(message)
        if found is None:
            raise SaslError("the client's final SCRAM message has another form")
        if found["nonce"] != self._nonce or found["binding"] != binding:
            raise SaslError("the nonce or the channel binding of the final SCRAM message is another")
        signed = f"{said},{found['unproven']}".encode()
        try:
            proof = b64decode(found["proof"], validate=True)
        except ValueError:
            raise SaslError("the proof of the final SCRAM message is no base64") from None
        signature = self._mechanism.keyed(credential.stored_key, signed)
        if len(proof) != len(signature):
            raise SaslError("the proof of the final SCRAM message has another length")
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        equal = hmac.compare_digest(self._mechanism.hashed(client_key), credential.stored_key)
        if self._fault is not None or not equal:
            raise SaslError(self._fault or "the password is wrong")
        self.user = user
        return b"v=" + b64encode(self._mechanism.keyed(credential.server_key, signed))
