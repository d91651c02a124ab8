"""The versions, cipher suites and clients that one side accepts in a TLS handshake."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from barnabas.cluster.model.configs.ssl import TLS_VERSIONS
from barnabas.cluster.tls.ciphers import CipherSuites


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms on which a server or a client accepts a TLS handshake.

    Attributes:
        client_auth: ``required``, ``requested`` or ``none``: whether clients have a certificate; of
            servers only.
        protocols: The versions of TLS, such as ``TLSv1.3``.
        suites: The cipher suites; None for those that OpenSSL has by default.
    """

    client_auth: str
    protocols: Collection[str]
    suites: CipherSuites | None

    @property
    def versions(self) -> tuple[str, ...]:
        """Return the versions for which there are cipher suites, oldest first; perhaps none."""
        suites = self.suites
        return tuple(
            version
            for version in TLS_VERSIONS
            if version in self.protocols and (suites is None or suites.of_version(version))
        )
