"""PKCS12 stores, as ``keytool`` and ``openssl pkcs12`` write them."""

from __future__ import annotations

from collections.abc import Iterable

from cryptography import x509
from cryptography.hazmat.primitives.serialization import pkcs12

from barnabas.cluster.tls.pem import (
    PasswordMissingError,
    PrivateKey,
    StoreError,
    WrongPasswordError,
    usable_key,
)

_JAVA_STORES = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")


def is_java_store(content: bytes) -> bool:
    """Return whether a file is a JKS or JCEKS store, which only Java reads."""
    return content.startswith(_JAVA_STORES)


def read_identity(content: bytes, password: str | None) -> tuple[PrivateKey, list[x509.Certificate]]:
    """Return the private key of a store and its certificates, the key's own first, each issued by the next.

    Raises:
        PasswordMissingError: The store is encrypted, and there is no password.
        WrongPasswordError: The password does not open it.
        StoreError: It is no such store, or has no key with a certificate.
    """
    store = _open(content, password)
    if store.key is None or store.cert is None:
        raise StoreError("a store with a private key and its certificate")
    others = [each.certificate for each in store.additional_certs]
    return usable_key(store.key), chain_of(store.cert.certificate, others)


def read_trusted(content: bytes, password: str | None) -> list[x509.Certificate]:
    """Return the certificates of a store that has nothing else.

    Raises:
        PasswordMissingError: The store is encrypted, and there is no password.
        WrongPasswordError: The password does not open it.
        StoreError: It is no such store, has no certificate, or has a private key: then its certificates may
            be those of the key's issuers, which Java does not trust.
    """
    store = _open(content, password)
    if store.key is not None:
        raise StoreError("a store of trusted certificates alone, without a private key")
    certificates = [each.certificate for each in store.additional_certs]
    if store.cert is not None:
        certificates.insert(0, store.cert.certificate)
    if not certificates:
        raise StoreError("a store with at least one trusted certificate")
    return certificates


def chain_of(first: x509.Certificate, others: Iterable[x509.Certificate]) -> list[x509.Certificate]:
    """Return the chain of ``first``: the certificate, its issuer, the issuer's issuer, and so on."""
    chain, left = [first], list(others)
    while chain[-1].issuer != chain[-1].subject:
        issuer = next((each for each in left if each.subject == chain[-1].issuer), None)
        if issuer is None:
            break
        left.remove(issuer)
        chain.append(issuer)
    return chain


def _open(content: bytes, password: str | None) -> pkcs12.PKCS12KeyAndCertificates:
    try:
        return pkcs12.load_pkcs12(content, None if password is None else password.encode())
    except ValueError as error:
        if "password" not in str(error).lower():
            raise StoreError("a PKCS12 store") from None
    if password is None:
        raise PasswordMissingError("given, because the store is encrypted")
    raise WrongPasswordError("the password of the store")
