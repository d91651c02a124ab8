"""The owner that a certificate names."""

from __future__ import annotations

from dataclasses import dataclass

from cryptography import x509
from cryptography.x509.oid import NameOID

from barnabas.cluster.tls.context import name_of


@dataclass(frozen=True, slots=True)
class CertificateOwner:
    """The owner of a certificate.

    Attributes:
        subject: The subject, as ACLs and super users name it: ``CN=a,O=b``.
        hosts: The host names and addresses that it is for: those of its SAN; without any, its CN.
    """

    subject: str
    hosts: tuple[str, ...]


def owner_of(certificate: bytes) -> CertificateOwner:
    """Return the owner of a certificate in PEM.

    Raises:
        ValueError: It is no certificate, or its names cannot be read.
    """
    parsed = x509.load_pem_x509_certificate(certificate)
    return CertificateOwner(name_of(parsed), _hosts(parsed))


def _hosts(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        common = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        return tuple(str(each.value) for each in common)
    return tuple(str(each.value) for each in names if isinstance(each, x509.DNSName | x509.IPAddress))
