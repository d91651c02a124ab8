"""Certificates for tests: authorities, and what they issue, as files and as text."""

from __future__ import annotations

import datetime as dt
import ipaddress
import itertools
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

_SERIALS = itertools.count(1)
_DAY = dt.timedelta(days=1)


def _encryption(password: str | None) -> KeySerializationEncryption:
    return NoEncryption() if password is None else BestAvailableEncryption(password.encode())


@dataclass(frozen=True)
class Issued:
    """A key, its certificate, and those of its issuers."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    issuers: tuple[x509.Certificate, ...] = ()

    def chain(self) -> str:
        chain = (self.certificate, *self.issuers)
        return b"".join(each.public_bytes(Encoding.PEM) for each in chain).decode()

    def key_text(self, password: str | None = None) -> str:
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, _encryption(password)).decode()

    def write_pem(self, path: Path, password: str | None = None) -> Path:
        """Write the key and its chain into one file."""
        path.write_text(self.key_text(password) + self.chain())
        return path

    def write_pkcs12(self, path: Path, password: str) -> Path:
        issuers = list(reversed(self.issuers))
        path.write_bytes(
            pkcs12.serialize_key_and_certificates(
                b"own", self.key, self.certificate, issuers, _encryption(password)
            )
        )
        return path


class Authority:
    """An issuer of certificates."""

    def __init__(self, name: str, issuer: Authority | None = None) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name.from_rfc4514_string(f"CN={name}")
        self.issuer = issuer
        by = self if issuer is None else issuer
        builder = _builder(self.name, by.name, self.key.public_key(), -_DAY, 10 * _DAY)
        usage = x509.BasicConstraints(ca=True, path_length=None)
        self.certificate = builder.add_extension(usage, critical=True).sign(by.key, hashes.SHA256())

    @property
    def text(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def issue(
        self,
        subject: str,
        hosts: tuple[str, ...] = (),
        begins: dt.timedelta = -_DAY,
        ends: dt.timedelta = _DAY,
    ) -> Issued:
        """Issue a certificate for a subject in RFC 4514's text, valid between two times from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name.from_rfc4514_string(subject)
        builder = _builder(name, self.name, key.public_key(), begins, ends)
        if hosts:
            names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        issuers, by = [], self
        while by.issuer is not None:
            issuers.append(by.certificate)
            by = by.issuer
        return Issued(key, builder.sign(self.key, hashes.SHA256()), tuple(issuers))


def write_trusted_pkcs12(path: Path, password: str | None, *certificates: x509.Certificate) -> Path:
    """Write a store of trusted certificates."""
    trusted = [pkcs12.PKCS12Certificate(each, b"trusted") for each in certificates]
    path.write_bytes(pkcs12.serialize_java_truststore(trusted, _encryption(password)))
    return path


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    begins: dt.timedelta,
    ends: dt.timedelta,
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return x509.CertificateBuilder(issuer, subject, key, next(_SERIALS), now + begins, now + ends)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
