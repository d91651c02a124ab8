"""SCRAM credentials (RFC 5802): their computation, and their form below ``/config/users``.

Sources: ``ScramFormatter``, ``ScramMechanism``, ``ScramCredentialUtils`` and
``ZkAdminManager.alterUserScramCredentials`` of release 2.8; KIP-84, KIP-554.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, unique
from itertools import chain
from typing import NamedTuple

from barnabas.cluster.model.errors import ErrorCode

MIN_ITERATIONS = 4096
"""The fewest iterations that a credential may have (RFC 7677, ``ScramMechanism.minIterations``)."""

MAX_ITERATIONS = 16384
"""The most iterations that a request may set: more would cost every client too much time."""


@unique
class ScramMechanism(IntEnum):
    """The mechanisms, with their numbers in the protocol."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def mechanism_name(self) -> str:
        """The name of the mechanism in SASL and in ``/config/users``."""
        return self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        """The name of its hash function for ``hashlib``."""
        return f"sha{self.name.rpartition('_')[2]}"

    def hashed(self, data: bytes) -> bytes:
        """Return ``H(data)``."""
        return hashlib.new(self.hash_name, data).digest()

    def keyed(self, key: bytes, data: bytes) -> bytes:
        """Return ``HMAC(key, data)``."""
        return hmac.digest(key, data, self.hash_name)

    def salted_password(self, password: str, salt: bytes, iterations: int) -> bytes:
        """Return ``Hi(password, salt, iterations)``."""
        return hashlib.pbkdf2_hmac(self.hash_name, password.encode(), salt, iterations)


BY_NAME: Mapping[str, ScramMechanism] = {each.mechanism_name: each for each in ScramMechanism}
"""The mechanisms by their names in SASL."""

_NUMBERS = frozenset(ScramMechanism)


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """The verification data that a broker keeps instead of a password; its text does not show the keys.

    Attributes:
        salt: The salt.
        stored_key: ``H(ClientKey)``, by which the client's proof is checked.
        server_key: The key of the broker's signature.
        iterations: The iterations of the salted password.
    """

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int

    @property
    def text(self) -> str:
        """The credential as Kafka keeps it in ``/config/users/<name>``."""
        keys = (("salt", self.salt), ("stored_key", self.stored_key), ("server_key", self.server_key))
        encoded = ",".join(f"{name}={b64encode(value).decode()}" for name, value in keys)
        return f"{encoded},iterations={self.iterations}"


def credential_of(
    mechanism: ScramMechanism, salt: bytes, iterations: int, salted_password: bytes
) -> ScramCredential:
    """Return the credential of a salted password."""
    stored_key = mechanism.hashed(mechanism.keyed(salted_password, b"Client Key"))
    return ScramCredential(salt, stored_key, mechanism.keyed(salted_password, b"Server Key"), iterations)


_TEXT = re.compile(r"(salt|stored_key|server_key|iterations)=(.*)")


def parse_credential(text: str) -> ScramCredential:
    """Parse a credential as Kafka keeps it.

    Raises:
        ValueError: It is none; the message does not repeat it.
    """
    found = [_TEXT.fullmatch(part) for part in text.split(",")]
    values = {match[1]: match[2] for match in found if match is not None}
    if len(found) != 4 or len(values) != 4:
        raise ValueError("a SCRAM credential must have salt, stored_key, server_key and iterations")
    try:
        salt, stored_key, server_key = (
            b64decode(values[name], validate=True) for name in ("salt", "stored_key", "server_key")
        )
        return ScramCredential(salt, stored_key, server_key, int(values["iterations"]))
    except ValueError:
        raise ValueError("a SCRAM credential has a value that is no base64 or no number") from None


def credentials_of(settings: Mapping[str, str]) -> dict[ScramMechanism, ScramCredential]:
    """Return the credentials among the settings of a user; unreadable ones are left out."""
    found = {}
    for name, mechanism in BY_NAME.items():
        try:
            found[mechanism] = parse_credential(settings[name])
        except (KeyError, ValueError):
            continue
    return found


class Deletion(NamedTuple):
    """The removal of a credential; the mechanism is the number of the request."""

    user: str
    mechanism: int


@dataclass(frozen=True, slots=True)
class Upsertion:
    """A new credential of a user; its text does not show the salted password.

    Attributes:
        user: The user.
        mechanism: The number of the request.
        iterations: The iterations with which the client salted the password.
        salt: The salt.
        salted_password: The result.
    """

    user: str
    mechanism: int
    iterations: int
    salt: bytes = field(repr=False)
    salted_password: bytes = field(repr=False)


class CredentialRefused(NamedTuple):
    """The reason why the credentials of a user are not altered."""

    error: ErrorCode
    message: str


def _fault_of(each: Deletion | Upsertion) -> CredentialRefused | None:
    if not each.user:
        return CredentialRefused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if each.mechanism not in _NUMBERS:
        return CredentialRefused(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(each, Upsertion):
        if each.iterations < MIN_ITERATIONS:
            return CredentialRefused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
        if each.iterations > MAX_ITERATIONS:
            return CredentialRefused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    return None


def refusal_of(deletions: Iterable[Deletion], upsertions: Iterable[Upsertion]) -> CredentialRefused | None:
    """Return why the credentials of a user cannot be altered so, whatever they are now; None if they can.

    One bad alteration refuses all of them, and a mechanism may be named once: of any number of alterations
    three are looked at.
    """
    seen: set[int] = set()
    alterations: Iterable[Deletion | Upsertion] = chain[Deletion | Upsertion](deletions, upsertions)
    for each in alterations:
        fault = _fault_of(each)
        if fault is None and each.mechanism in seen:
            fault = CredentialRefused(
                ErrorCode.DUPLICATE_RESOURCE,
                "A user credential cannot be altered twice in the same request",
            )
        if fault is not None:
            return fault
        seen.add(each.mechanism)
    return None


def altered_credentials(
    settings: Mapping[str, str], deletions: Iterable[Deletion], upsertions: Iterable[Upsertion]
) -> dict[str, str] | CredentialRefused:
    """Return the settings of one user with these alterations; its quotas are kept.

    Deletions come first. They have no `refusal_of`.
    """
    own = dict(settings)
    for deletion in deletions:
        if own.pop(ScramMechanism(deletion.mechanism).mechanism_name, None) is None:
            return CredentialRefused(
                ErrorCode.RESOURCE_NOT_FOUND,
                "Attempt to delete a user credential that does not exist",
            )
    for each in upsertions:
        mechanism = ScramMechanism(each.mechanism)
        credential = credential_of(mechanism, each.salt, each.iterations, each.salted_password)
        own[mechanism.mechanism_name] = credential.text
    return own
