"""TLS on a client listener: the context of new connections, their clients' identities, and new stores.

The module needs the library ``cryptography``, so only a broker that uses TLS imports it.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path

import structlog

from barnabas.broker.server.security.listener_security import SslSettings
from barnabas.broker.server.security.tls_transport import HandshakeError, TlsTransport
from barnabas.cluster.model.configs.declarations import ConfigError, Value
from barnabas.cluster.model.configs.security import LISTENER_PREFIX, listener_store
from barnabas.cluster.model.configs.ssl import LIVE_STORE_CONFIGS, STORE_CONFIGS
from barnabas.cluster.model.principal import ANONYMOUS, USER_TYPE, KafkaPrincipal
from barnabas.cluster.model.principal_mapping import NoMatchingRuleError
from barnabas.cluster.tls.context import server_context, subject_of
from barnabas.cluster.tls.renewal import refusal_of
from barnabas.cluster.tls.stores import Stores, load_stores

_log = structlog.get_logger("org.apache.kafka.common.security.ssl.SslFactory")

_SECRETS = frozenset(STORE_CONFIGS) - LIVE_STORE_CONFIGS

Signature = tuple[tuple[int, int, int] | None, ...]
"""The time of the last change, the size and the number of each file; None for one that is not there."""


class StoreChangeError(ValueError):
    """An error for stores that may not take the place of those in use."""


class ListenerTls:
    """The TLS of one listener.

    Args:
        listener: Its name.
        settings: Its settings.

    Raises:
        ConfigError: A setting of a store is bad, or a store cannot be read.

    Attributes:
        context: The context of new connections; those that stand keep theirs.
    """

    def __init__(self, listener: str, settings: SslSettings) -> None:
        self._listener = listener
        self._settings = settings
        self._prefix = f"{LISTENER_PREFIX}{listener.lower()}."
        self._wanted: Mapping[str, Value] = dict(settings.stores)
        self._tried: tuple[Mapping[str, Value], Signature] = (self._wanted, _signature_of(self._wanted))
        self._stores = load_stores(self._wanted, settings.named)
        self.context = self._context(self._stores, self._wanted)

    def principal_of(self, transport: TlsTransport) -> KafkaPrincipal:
        """Return who a client is by its certificate; ``ANONYMOUS`` without one, and before SASL.

        Raises:
            HandshakeError: No rule gives it a name, or it uses a cipher suite that is not to be used.
        """
        suites = self._settings.terms.suites
        suite = transport.cipher_suite
        if suites is not None and suite not in (*suites.tls_1_2, *suites.tls_1_3):
            raise HandshakeError(f"the client uses the cipher suite {suite}, which is not enabled")
        certificate, mapping = transport.certificate, self._settings.mapping
        if certificate is None or mapping is None:
            return ANONYMOUS
        try:
            return KafkaPrincipal(USER_TYPE, mapping.user_of(subject_of(certificate)))
        except NoMatchingRuleError as error:
            raise HandshakeError(str(error)) from None
        except ValueError as error:
            raise HandshakeError(f"the client's certificate has no readable subject: {error}") from None

    def alter(self, settings: Mapping[str, str]) -> None:
        """Note the broker's settings in ZooKeeper, whose stores `reload` takes.

        Args:
            settings: The text of all of them; those that are not there count as in ``server.properties``.
        """
        for name in sorted(settings):
            if name.startswith(self._prefix) and listener_store(name) in _SECRETS:
                _log.error(f"The setting {name} in ZooKeeper is not used: it is encrypted")
        self._wanted = self._altered(settings)

    def reload(self) -> None:
        """Take the stores again if their settings or files have changed; log why not if they are bad.

        It reads files, so it is called in a thread.
        """
        wanted = self._wanted
        tried = wanted, _signature_of(wanted)
        if tried == self._tried:
            return
        self._tried = tried
        try:
            self._stores, self.context = self._checked(wanted)
        except (ConfigError, StoreChangeError) as error:
            _log.error(f"The changed stores of listener {self._listener} are not used: {error}")
            return
        _log.info(f"Listener {self._listener} uses its changed stores for new connections")

    def refusal_of(self, settings: Mapping[str, str]) -> str | None:
        """Return why the stores of these settings of the broker in ZooKeeper cannot be used, or None.

        It reads files, so it is called in a thread.
        """
        wanted = self._altered(settings)
        if wanted == self._wanted:
            return None
        try:
            self._checked(wanted)
        except (ConfigError, StoreChangeError) as error:
            return str(error)
        return None

    def _altered(self, settings: Mapping[str, str]) -> Mapping[str, Value]:
        """Return the settings of the stores with those in ZooKeeper, except for secrets."""
        own = {name: settings.get(self._prefix + name) for name in LIVE_STORE_CONFIGS}
        return {**self._settings.stores, **{name: text for name, text in own.items() if text is not None}}

    def _checked(self, values: Mapping[str, Value]) -> tuple[Stores, ssl.SSLContext]:
        """Return the stores of ``values`` and their context, if they may replace those in use.

        Raises:
            ConfigError: A store cannot be used.
            StoreChangeError: It may not replace the one in use.
        """
        stores = load_stores(values, self._settings.named)
        context = self._context(stores, values)
        refusal = refusal_of(self._stores, stores)
        if refusal is not None:
            raise StoreChangeError(refusal)
        return stores, context

    def _context(self, stores: Stores, values: Mapping[str, Value]) -> ssl.SSLContext:
        """Return the context for ``stores``, which are those of ``values``.

        Raises:
            ConfigError: A store is missing, or OpenSSL refuses what is in it.
        """
        named, terms = self._settings.named, self._settings.terms
        if stores.identity is None:
            key = named("ssl.keystore.location")
            raise ConfigError(key, None, f"given, because the listener {self._listener} uses TLS")
        if stores.trusted is None and terms.client_auth != "none":
            allowed = f"given, because ssl.client.auth of {self._listener} is {terms.client_auth}"
            raise ConfigError(named("ssl.truststore.location"), None, allowed)
        try:
            return server_context(stores.identity, stores.trusted, terms)
        except ssl.SSLError as error:
            key = named("ssl.keystore.location")
            location = values.get("ssl.keystore.location")
            allowed = f"a store that OpenSSL accepts: {error.reason or error}"
            raise ConfigError(key, None if location is None else str(location), allowed) from None


def _signature_of(values: Mapping[str, Value]) -> Signature:
    return tuple(
        _state_of(Path(str(values[name])))
        for name in ("ssl.keystore.location", "ssl.truststore.location")
        if values.get(name) is not None
    )


def _state_of(file: Path) -> tuple[int, int, int] | None:
    try:
        state = file.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size, state.st_ino
