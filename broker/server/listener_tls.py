"""TLS on a client listener: the context of new connections, their clients' identities, and new stores.

The module needs the library ``cryptography``, so only a broker that uses TLS imports it.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path

import structlog

from barnabas.broker.server.listener_security import SslSettings
from barnabas.broker.server.tls_transport import HandshakeError, TlsTransport
from barnabas.cluster.model.configs import ConfigError, Value
from barnabas.cluster.model.principal import ANONYMOUS, USER_TYPE, KafkaPrincipal
from barnabas.cluster.model.principal_mapping import NoMatchingRuleError
from barnabas.cluster.tls.context import server_context, subject_of
from barnabas.cluster.tls.renewal import refusal_of
from barnabas.cluster.tls.stores import Stores, load_stores

_log = structlog.get_logger("org.apache.kafka.common.security.ssl.SslFactory")

Signature = tuple[tuple[int, int, int] | None, ...]
"""The time of the last change, the size and the number of each file; None for one that is not there."""


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
        self._values: Mapping[str, Value] = settings.stores
        self._signature = _signature_of(self._values)
        self._stores = load_stores(self._values, settings.named)
        self.context = self._context(self._stores)

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

    def reload(self) -> None:
        """Take the stores again if a file has changed since they were read; log why not if they are bad.

        It reads files, so it is called in a thread.
        """
        signature = _signature_of(self._values)
        if signature != self._signature:
            self._signature = signature
            self.take(self._values)

    def take(self, values: Mapping[str, Value]) -> None:
        """Replace the stores by those of other settings, or log why they cannot be used."""
        try:
            stores = load_stores(values, self._settings.named)
            context = self._context(stores)
            refusal = refusal_of(self._stores, stores)
        except ConfigError as error:
            _log.error(f"The changed stores of listener {self._listener} are not used: {error}")
            return
        if refusal is not None:
            _log.error(f"The changed stores of listener {self._listener} are not used: {refusal}")
            return
        self._values, self._stores, self.context = values, stores, context
        _log.info(f"Listener {self._listener} uses its changed stores for new connections")

    def _context(self, stores: Stores) -> ssl.SSLContext:
        """Return the context for ``stores``.

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
            location = self._values.get("ssl.keystore.location")
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
