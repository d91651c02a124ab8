"""Cipher suites by Java's names, which are IANA's, with OpenSSL's name of each.

``ssl.cipher.suites`` lists suites of TLS 1.2 and 1.3 in one. Suites without encryption or authentication, and
those that OpenSSL's default policy forbids, are not served.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

TLS_1_3 = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")
"""The suites of TLS 1.3 that OpenSSL offers, in its order."""

_EXCHANGES = {"ECDHE_ECDSA": "ECDHE-ECDSA-", "ECDHE_RSA": "ECDHE-RSA-", "DHE_RSA": "DHE-RSA-", "RSA": ""}
_CIPHERS = {
    "AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "CHACHA20_POLY1305_SHA256": "CHACHA20-POLY1305",
    "AES_256_CBC_SHA": "AES256-SHA",
    "AES_128_CBC_SHA": "AES128-SHA",
}
_OF_SHA2 = {
    "ECDHE_ECDSA": {"AES_256_CBC_SHA384": "AES256-SHA384", "AES_128_CBC_SHA256": "AES128-SHA256"},
    "ECDHE_RSA": {"AES_256_CBC_SHA384": "AES256-SHA384", "AES_128_CBC_SHA256": "AES128-SHA256"},
    "DHE_RSA": {"AES_256_CBC_SHA256": "AES256-SHA256", "AES_128_CBC_SHA256": "AES128-SHA256"},
    "RSA": {"AES_256_CBC_SHA256": "AES256-SHA256", "AES_128_CBC_SHA256": "AES128-SHA256"},
}

TLS_1_2: Mapping[str, str] = {
    f"TLS_{exchange}_WITH_{cipher}": f"{prefix}{name}"
    for exchange, prefix in _EXCHANGES.items()
    for cipher, name in (_CIPHERS | _OF_SHA2[exchange]).items()
    if (exchange, name) != ("RSA", "CHACHA20-POLY1305")
}
"""OpenSSL's name of each served suite of TLS 1.2, by Java's name."""


class CipherSuitesError(ValueError):
    """An error for a list of suites; the message completes the sentence "must be ..."."""


@dataclass(frozen=True, slots=True)
class CipherSuites:
    """A checked list of suites.

    Attributes:
        tls_1_2: Those of TLS 1.2, by OpenSSL's names.
        tls_1_3: Those of TLS 1.3.
    """

    tls_1_2: tuple[str, ...]
    tls_1_3: tuple[str, ...]

    def of_version(self, version: str) -> tuple[str, ...]:
        """Return the suites of ``TLSv1.2`` or ``TLSv1.3``, by OpenSSL's names."""
        return self.tls_1_3 if version == "TLSv1.3" else self.tls_1_2


def suites_of(names: Collection[str]) -> CipherSuites:
    """Check the suites of ``ssl.cipher.suites``.

    Python cannot switch off single suites of TLS 1.3. OpenSSL prefers the first of them, so a list that has
    it, or none of them, can be obeyed; a connection that ends with another one is closed.

    Raises:
        CipherSuitesError: One is not served, or those of TLS 1.3 lack the first one.
    """
    for name in names:
        if name not in TLS_1_2 and name not in TLS_1_3:
            served = ", ".join((*TLS_1_3, *TLS_1_2))
            raise CipherSuitesError(f"a list of served cipher suites, which '{name}' is not: {served}")
    tls_1_3 = tuple(name for name in names if name in TLS_1_3)
    if tls_1_3 and TLS_1_3[0] not in tls_1_3:
        raise CipherSuitesError(f"a list with {TLS_1_3[0]} if it has other suites of TLS 1.3")
    return CipherSuites(tuple(TLS_1_2[name] for name in names if name in TLS_1_2), tls_1_3)
