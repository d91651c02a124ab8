"""The TLS context of a client: whom it trusts, and its own key."""

from __future__ import annotations

import ssl
from collections.abc import Collection

from barnabas.cluster.tls.context import VERSIONS, load_identity
from barnabas.cluster.tls.stores import Identity


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
    context.minimum_version = VERSIONS[min(versions)]
    context.maximum_version = VERSIONS[max(versions)]
    context.check_hostname = checks_host
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=trusted.decode("ascii"))
    if identity is not None:
        load_identity(context, identity)
    return context
