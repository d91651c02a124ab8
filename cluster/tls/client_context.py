"""The TLS context of a client: whom it trusts, and its own key."""

from __future__ import annotations

import secrets
import ssl
import tempfile
from collections.abc import Collection
from pathlib import Path

from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from barnabas.cluster.tls.stores import Identity

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


def client_context(
    identity: Identity | None, trusted: bytes, versions: Collection[str], *, checks_host: bool
) -> ssl.SSLContext:
    """Return a context for connections to servers that have a certificate of a trusted authority.

    Args:
        identity: The client's key and certificates; None for a client without.
        trusted: The trusted certificates as PEM; a server's counts if any of them has issued it or is it.
        versions: The versions that may be used, of ``TLSv1.2`` and ``TLSv1.3``.
        checks_host: Whether the server's certificate must have the name that was dialled.

    Raises:
        ssl.SSLError: OpenSSL refuses the key, such as a short one.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = _VERSIONS[min(versions)]
    context.maximum_version = _VERSIONS[max(versions)]
    context.check_hostname = checks_host
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=trusted.decode("ascii"))
    if identity is not None:
        _load(context, identity)
    return context


def _load(context: ssl.SSLContext, identity: Identity) -> None:
    """Give the key to ``context``, which takes it from a file alone: encrypted by a password of its own."""
    password = secrets.token_bytes(32).hex()
    key = load_pem_private_key(identity.key, None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password.encode("ascii"))
    )
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "identity.pem"
        file.write_bytes(key + identity.chain)
        context.load_cert_chain(file, password=password)
