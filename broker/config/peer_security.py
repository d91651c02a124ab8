"""The security of the listener between brokers: TLS with certificates on both sides, or none.

gRPC decides versions of TLS and cipher suites, and always checks the name of the server, so the settings of
these must not ask for anything else. Sources: ``SslConfigs`` and ``KafkaConfig`` of release 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.broker.config.listener_values import ListenerValues
from barnabas.broker.config.tls import ssl_settings
from barnabas.broker.server.security.listener_security import SslSettings
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.configs.declarations import ConfigError, Value, render
from barnabas.cluster.model.configs.ssl import TLS_VERSIONS
from barnabas.cluster.model.principal_mapping import PrincipalMapping

if TYPE_CHECKING:
    from barnabas.cluster.tls.stores import Stores


@dataclass(frozen=True, slots=True)
class PeerSecurity:
    """TLS of the listener between brokers.

    Attributes:
        ssl: Its settings.
        mapping: The rules that name the brokers by their certificates.
    """

    ssl: SslSettings
    mapping: PrincipalMapping

    def load(self) -> Stores:
        """Read the stores.

        Raises:
            ConfigError: One is missing or cannot be read.
        """
        # The library behind it takes 7 MB, which a broker without TLS does not spend.
        from barnabas.cluster.tls.stores import load_stores  # noqa: PLC0415

        stores = load_stores(self.ssl.stores, self.ssl.named)
        for store, content in (("ssl.keystore", stores.identity), ("ssl.truststore", stores.trusted)):
            if content is None:
                allowed = "given, because brokers authenticate each other by certificates"
                raise ConfigError(self.ssl.named(f"{store}.location"), None, allowed)
        return stores


def peer_security(
    listener: Endpoint, given: Mapping[str, str], values: Mapping[str, Value]
) -> PeerSecurity | None:
    """Return the security of the listener between brokers, None if it has none.

    Args:
        listener: The listener.
        given: The text of the settings that were given.
        values: The values of the settings without a prefix, defaults included.

    Raises:
        ConfigError: A setting is bad, or asks for what gRPC does not serve.
    """
    protocol = listener.security_protocol
    if protocol == "PLAINTEXT":
        return None
    own = ListenerValues(listener.listener, given, values)
    ssl = ssl_settings(own, protocol) if protocol == "SSL" else None
    if ssl is None or ssl.mapping is None:
        allowed = "PLAINTEXT or SSL for the listener between brokers"
        raise ConfigError("listener.security.protocol.map", protocol, allowed)
    _refuse_unserved(own, ssl)
    return PeerSecurity(ssl, ssl.mapping)


def _refuse_unserved(own: ListenerValues, ssl: SslSettings) -> None:
    """Refuse what gRPC does not do, rather than serve less than a setting asks for."""
    checked = str(own.value("ssl.endpoint.identification.algorithm"))
    for name, is_served, allowed in (
        ("ssl.enabled.protocols", set(ssl.terms.protocols) == set(TLS_VERSIONS), ",".join(TLS_VERSIONS)),
        ("ssl.cipher.suites", ssl.terms.suites is None, "not set"),
        ("ssl.endpoint.identification.algorithm", checked.lower() == "https", "https"),
        ("ssl.client.auth", own.own("ssl.client.auth") in {None, "required"}, "required"),
    ):
        if not is_served:
            value = render(own.value(name))
            raise ConfigError(own.named(name), value, f"{allowed} for the listener between brokers")
