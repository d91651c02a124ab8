"""An authority of a cluster's own, and the certificates that it issues for brokers, as PEM."""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Sequence
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID

VALID_DAYS = 3650
"""Days for which certificates are valid: local clusters have nobody who renews them."""

_SKEW = dt.timedelta(hours=1)
"""The tolerance for clients' clocks that are behind: certificates are valid from this long ago."""


class Authority(NamedTuple):
    """An authority, both as PEM.

    Attributes:
        key: The private key, without a password.
        certificate: The certificate.
    """

    key: str
    certificate: str


def make_authority(name: str) -> Authority:
    """Make an authority with a key of its own and the subject ``CN=<name>``."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name.from_rfc4514_string(f"CN={name}")
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        _builder(subject, subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(_key_text(key), _certificate_text(certificate))


def issue(authority: Authority, subject: str, hosts: Sequence[str]) -> str:
    """Issue a certificate for servers and clients of TLS.

    Args:
        authority: The issuer.
        subject: The subject in RFC 4514's text, such as ``CN=broker-1,O=barnabas``.
        hosts: The names and addresses of the subject.

    Returns:
        The private key, without a password, and the certificate.
    """
    issuer = x509.load_pem_x509_certificate(authority.certificate.encode())
    issuer_key = load_pem_private_key(authority.key.encode(), None)
    assert isinstance(issuer_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    certificate = (
        _builder(x509.Name.from_rfc4514_string(subject), issuer.subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(x509.SubjectAlternativeName([_name(host) for host in hosts]), critical=False)
        .add_extension(identifier, critical=False)
        .sign(issuer_key, hashes.SHA256())
    )
    return _key_text(key) + _certificate_text(certificate)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    ends = now + dt.timedelta(days=VALID_DAYS)
    return x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number(), now - _SKEW, ends)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_text(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _certificate_text(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()
