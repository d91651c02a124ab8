"""The TLS context of a client: its trusted certificates and its own key."""

from __future__ import annotations

import ssl

from barnabas.cluster.tls.context import VERSIONS, load_identity
from barnabas.cluster.tls.stores import Identity
from barnabas.cluster.tls.terms import Terms


def client_context(
    identity: Identity | None, trusted: bytes, terms: Terms, *, checks_host: bool
) -> ssl.SSLContext:
    """Return a context for connections to servers that have a certificate of a trusted authority.

    Args:
        identity: The client's key and certificates; None for a client without.
        trusted: The trusted certificates as PEM; a server's counts if any of them has issued it or is it.
        terms: The versions, at least one, and the cipher suites; those of TLS 1.3 are all offered.
        checks_host: Whether the server's certificate must have the name that was dialled.

    Raises:
        ssl.SSLError: OpenSSL's policy refuses the key, such as a short one, or all of the suites.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = VERSIONS[terms.versions[0]]
    context.maximum_version = VERSIONS[terms.versions[-1]]
    if terms.suites is not None and terms.suites.tls_1_2:
        context.set_ciphers(":".join(terms.suites.tls_1_2))
    context.check_hostname = checks_host
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=trusted.decode("ascii"))
    if identity is not None:
        load_identity(context, identity)
    return context
