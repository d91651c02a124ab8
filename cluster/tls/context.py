"""The TLS context of a server: its key, its trusted certificates, and the versions and suites it accepts."""

from __future__ import annotations

import secrets
import ssl
import tempfile
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from barnabas.cluster.model.distinguished_name import rfc2253
from barnabas.cluster.tls.stores import Identity
from barnabas.cluster.tls.terms import Terms

VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
"""The served versions of TLS by Java's names."""

_CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


def server_context(identity: Identity, trusted: bytes | None, terms: Terms) -> ssl.SSLContext:
    """Return a context for accepted connections.

    Args:
        identity: The server's key and certificates.
        trusted: The trusted certificates as PEM. A client's certificate counts if any of them has issued it
            or is it, as in Java.
        terms: What is accepted, with at least one version.

    Raises:
        ssl.SSLError: OpenSSL's policy refuses the key, such as a short one, or all of the suites.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = VERSIONS[terms.versions[0]]
    context.maximum_version = VERSIONS[terms.versions[-1]]
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    if terms.suites is not None and terms.suites.tls_1_2:
        context.set_ciphers(":".join(terms.suites.tls_1_2))
    context.verify_mode = _CLIENT_AUTH[terms.client_auth]
    if trusted is not None:
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata=trusted.decode("ascii"))
    load_identity(context, identity)
    return context


def load_identity(context: ssl.SSLContext, identity: Identity) -> None:
    """Load the key into ``context`` through a file, the only way there is, encrypted by a random password."""
    password = secrets.token_bytes(32).hex()
    key = load_pem_private_key(identity.key, None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password.encode("ascii"))
    )
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "identity.pem"
        file.write_bytes(key + identity.chain)
        context.load_cert_chain(file, password=password)


def subject_of(certificate: bytes) -> str:
    """Return the subject of a certificate in DER, as `rfc2253` writes it.

    Raises:
        ValueError: It cannot be read.
    """
    return name_of(x509.load_der_x509_certificate(certificate))


def name_of(certificate: x509.Certificate) -> str:
    """Return the subject of a certificate, as `rfc2253` writes it."""
    return rfc2253(certificate.subject.public_bytes())
