"""TLS to ZooKeeper by the settings ``zookeeper.ssl.*``."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from barnabas.cluster.model.configs.declarations import ConfigError, Value, parse_given, table, with_defaults
from barnabas.cluster.model.configs.zookeeper import ZOOKEEPER_SECURITY_CONFIGS
from barnabas.cluster.tls.ciphers import TLS_1_3, CipherSuitesError, suites_of
from barnabas.cluster.tls.terms import Terms

ENABLE = "zookeeper.ssl.client.enable"
KEYSTORE = "zookeeper.ssl.keystore.location"
HOST_CHECK = "zookeeper.ssl.endpoint.identification.algorithm"

_TRUSTSTORE = "zookeeper.ssl.truststore.location"
_STORES = tuple(
    f"ssl.{store}.{part}" for store in ("keystore", "truststore") for part in ("location", "type")
)
_SUITES = "zookeeper.ssl.cipher.suites"
_PEM = "PEM"
_CONFIGS = table(ZOOKEEPER_SECURITY_CONFIGS)


@dataclass(frozen=True, slots=True)
class ClientTls:
    """The settings of TLS.

    Attributes:
        values: Every setting of TLS by name.
    """

    values: Mapping[str, Value]

    @classmethod
    def of(cls, given: Mapping[str, str]) -> ClientTls:
        """Return the settings that are given as text, with the defaults of the others.

        Raises:
            ConfigError: A setting is bad.
        """
        values, _ = parse_given(_CONFIGS, given)
        return cls(with_defaults(_CONFIGS, values))

    def context(self) -> ssl.SSLContext:
        """Read the stores, and return a context.

        Raises:
            ConfigError: A setting or a store is bad, or there is no trust store.
        """
        # The library behind these takes 0.1 s and 9 MB, also in tools; without TLS nobody needs it.
        from barnabas.cluster.tls.client_context import client_context
        from barnabas.cluster.tls.stores import load_stores

        terms = self._terms()
        stores = load_stores(self._store_settings(), _named)
        if stores.trusted is None:
            raise ConfigError(_TRUSTSTORE, None, f"given, because {ENABLE} is true")
        checks_host = str(self.values[HOST_CHECK]).upper() == "HTTPS"
        try:
            return client_context(stores.identity, stores.trusted, terms, checks_host=checks_host)
        except ssl.SSLError as error:
            raise ConfigError(
                KEYSTORE, str(self.values[KEYSTORE]), f"a key that OpenSSL takes: {error}"
            ) from None

    def _terms(self) -> Terms:
        enabled = self.values["zookeeper.ssl.enabled.protocols"]
        protocols = enabled if isinstance(enabled, tuple) else (str(self.values["zookeeper.ssl.protocol"]),)
        named = self.values[_SUITES]
        if not isinstance(named, tuple) or not named:
            return Terms("none", protocols, None)
        try:
            suites = suites_of(named)
        except CipherSuitesError as error:
            raise ConfigError(_SUITES, ",".join(named), str(error)) from None
        terms = Terms("none", protocols, suites)
        if not terms.versions:
            allowed = "a list with suites of a version in zookeeper.ssl.enabled.protocols"
            raise ConfigError(_SUITES, ",".join(named), allowed)
        if len(suites.tls_1_3) not in {0, len(TLS_1_3)}:
            # A client offers suites, and the server chooses.
            allowed = f"a list with all suites of TLS 1.3 or none: {', '.join(TLS_1_3)}"
            raise ConfigError(_SUITES, ",".join(named), allowed)
        return terms

    def dialling(self) -> Callable[[], ssl.SSLContext]:
        """Return the function that makes each connection's context, so that renewed certificates are used."""

        def context() -> ssl.SSLContext:
            try:
                return self.context()
            except ConfigError as error:
                raise ConnectionError(str(error)) from error

        return context

    def _store_settings(self) -> dict[str, Value]:
        """Return the settings of stores under Kafka's other names for them.

        To ZooKeeper's client the password of a key store in PEM is that of its key, and a trust store in PEM
        has none.
        """
        settings = {name: self.values[f"zookeeper.{name}"] for name in _STORES}
        for store in ("ssl.keystore", "ssl.truststore"):
            password = self.values[f"zookeeper.{store}.password"]
            location, kind = settings[f"{store}.location"], settings[f"{store}.type"]
            if isinstance(kind, str):
                settings[f"{store}.type"] = kind = kind.upper()
            if kind != _PEM and (kind is not None or Path(str(location)).suffix.lower() != ".pem"):
                settings[f"{store}.password"] = password
            elif store == "ssl.keystore":
                settings["ssl.key.password"] = password
        return settings


def _named(setting: str) -> str:
    name = "ssl.keystore.password" if setting == "ssl.key.password" else setting
    return f"zookeeper.{name}"
