"""The TLS of Java's clients: the stores that ``ssl.*`` names, as the libraries behind the tools take them.

Source: ``SslConfigs`` of Kafka 2.8; KIP-651.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.cluster.model.configs.declarations import ConfigError, table
from barnabas.cluster.model.configs.ssl import SSL_CONFIGS, STORE_CONFIGS, TLS_VERSIONS
from barnabas.cluster.tls.terms import Terms

if TYPE_CHECKING:
    import ssl

    from barnabas.cluster.tls.stores import Identity

_CONFIGS = table(SSL_CONFIGS)
_HOST_CHECK, _VERSIONS = "ssl.endpoint.identification.algorithm", "ssl.enabled.protocols"


@dataclass(frozen=True, slots=True)
class ClientTls:
    """The TLS of a client.

    Attributes:
        identity: Its key and certificates; None for a client without.
        trusted: The trusted certificates as PEM; None for those of the library behind the tool.
        checks_host: Whether the broker's certificate must have the name that was dialled.
        terms: What it accepts.
    """

    identity: Identity | None
    trusted: bytes | None
    checks_host: bool
    terms: Terms

    def for_librdkafka(self) -> dict[str, str]:
        """Return the settings of librdkafka."""
        settings = {_HOST_CHECK: "https" if self.checks_host else "none"}
        if self.trusted is not None:
            settings["ssl.ca.pem"] = self.trusted.decode("ascii")
        if self.identity is not None:
            settings["ssl.certificate.pem"] = self.identity.chain.decode("ascii")
            settings["ssl.key.pem"] = self.identity.key.decode("ascii")
        return settings

    def context(self) -> ssl.SSLContext | None:
        """Return the context of a client of Python; None without a trust store, for the library's own.

        Raises:
            ConfigError: There is a key store, but no trust store.
        """
        if self.trusted is None:
            if self.identity is not None or not self.checks_host:
                raise ConfigError("ssl.truststore.location", None, "given with the other properties of TLS")
            return None
        from barnabas.cluster.tls.client_context import client_context  # noqa: PLC0415

        return client_context(self.identity, self.trusted, self.terms, checks_host=self.checks_host)


def taken(properties: Mapping[str, str]) -> tuple[ClientTls | None, dict[str, str]]:
    """Separate Java's properties of TLS from the others.

    Returns:
        The TLS, None if there are no such properties; and the other properties.

    Raises:
        ConfigError: A property is bad, or a store cannot be read.
    """
    own = {name: text for name, text in properties.items() if name in _CONFIGS}
    others = {name: text for name, text in properties.items() if name not in _CONFIGS}
    if not own:
        return None, others
    values = {name: _CONFIGS[name].parse(text) for name, text in own.items()}
    # Without TLS the library for it is not imported, because that takes a while.
    from barnabas.cluster.tls.stores import load_stores  # noqa: PLC0415

    given = {name: values.get(name) for name in STORE_CONFIGS if values.get(name) is not None}
    defaults = {name: _CONFIGS[name].default_text for name in ("ssl.keystore.type", "ssl.truststore.type")}
    stores = load_stores({**defaults, **given})
    versions = values.get(_VERSIONS)
    checks_host = values.get(_HOST_CHECK) != ""
    return ClientTls(
        stores.identity,
        stores.trusted,
        checks_host,
        Terms("none", versions if isinstance(versions, tuple) else TLS_VERSIONS, None),
    ), others
