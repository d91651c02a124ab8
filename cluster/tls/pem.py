"""PEM text: private keys and certificates as blocks of base64, with anything between them.

Source: ``DefaultSslEngineFactory.PemStore`` of release 2.8; KIP-651. As in Kafka, blanks of any kind may
stand for the ends of lines, so that the text fits into one line of ``server.properties``.
"""

from __future__ import annotations

import base64
import binascii
import re

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | dsa.DSAPrivateKey
"""The private keys that TLS uses and Kafka reads."""

_BLOCK = re.compile(r"-+BEGIN\s+([A-Z0-9 ]+?)\s*-+\s+(.*?)-+END\s+\1\s*-+", re.DOTALL)
_PARAMETER = re.compile(r"[^\r\n:]*:[^\r\n]*[\r\n]+")
_CERTIFICATE = "CERTIFICATE"
_KEYS = ("PRIVATE KEY", "ENCRYPTED PRIVATE KEY")
_OLD_KEY = " PRIVATE KEY"


class StoreError(ValueError):
    """An error for a store that cannot be read; the message completes the sentence "must be ..."."""


class PasswordMissingError(StoreError):
    """An error for an encrypted store without a password."""


class WrongPasswordError(StoreError):
    """An error for a store that the given password does not open."""


def is_pem(content: bytes) -> bool:
    """Return whether a file looks like PEM."""
    return b"-----BEGIN " in content


def read_certificates(text: str) -> list[x509.Certificate]:
    """Return the certificates in ``text``, in their order.

    Raises:
        StoreError: There is none, or one cannot be read.
    """
    blocks = [der for kind, der in _blocks(text) if kind == _CERTIFICATE]
    if not blocks:
        raise StoreError("PEM text with at least one block BEGIN CERTIFICATE")
    try:
        return [x509.load_der_x509_certificate(der) for der in blocks]
    except ValueError:
        raise StoreError("PEM text with readable certificates") from None


def read_key(text: str, password: str | None) -> PrivateKey:
    """Return the private key in ``text``.

    Raises:
        PasswordMissingError: It is encrypted, and there is no password.
        WrongPasswordError: The password does not open it.
        StoreError: There is none, or more than one, or it is no PKCS#8 key, or it needs no password.
    """
    blocks = _blocks(text)
    keys = [(kind, der) for kind, der in blocks if kind in _KEYS]
    if not keys and any(kind.endswith(_OLD_KEY) for kind, _ in blocks):
        raise StoreError("PEM text with a PKCS#8 key, as `openssl pkcs8 -topk8` writes it")
    if len(keys) != 1:
        raise StoreError(
            f"PEM text with one block BEGIN PRIVATE KEY or BEGIN ENCRYPTED PRIVATE KEY, not {len(keys)}"
        )
    kind, der = keys[0]
    if kind == _KEYS[0]:
        return _checked(der, None)
    if password is None:
        raise PasswordMissingError("given, because the private key is encrypted")
    return _checked(der, password.encode())


def _checked(der: bytes, password: bytes | None) -> PrivateKey:
    try:
        key = serialization.load_der_private_key(der, password)
    except (ValueError, UnsupportedAlgorithm):
        if password is not None:
            raise WrongPasswordError("the password of the private key") from None
        raise StoreError("PEM text with a readable PKCS#8 key") from None
    return usable_key(key)


def usable_key(key: object) -> PrivateKey:
    """Return ``key`` if it is of a kind that Kafka reads.

    Raises:
        StoreError: It is of another kind.
    """
    if isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | dsa.DSAPrivateKey):
        return key
    raise StoreError("one with an RSA, EC or DSA key")


def _blocks(text: str) -> list[tuple[str, bytes]]:
    """Return the kind and the content of each block."""
    found = []
    for kind, body in _BLOCK.findall(text):
        encoded = "".join(_PARAMETER.sub("", body).split())
        try:
            found.append((" ".join(kind.split()), base64.b64decode(encoded, validate=True)))
        except binascii.Error:
            raise StoreError(f"PEM text whose block BEGIN {kind} is base64") from None
    return found
