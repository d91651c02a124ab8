"""The TLS of a listener, as its settings say.

Source: ``SslChannelBuilder``, ``SslConfigs`` and ``BrokerSecurityConfigs`` of release 2.8.
"""

from __future__ import annotations

from types import MappingProxyType

from barnabas.broker.config.listener_values import ListenerValues
from barnabas.broker.server.security.listener_security import SslSettings
from barnabas.cluster.model.configs.declarations import ConfigError, Value, render
from barnabas.cluster.model.configs.security import SASL_PROTOCOLS
from barnabas.cluster.model.configs.ssl import STORE_CONFIGS
from barnabas.cluster.model.principal_mapping import BadRuleError, PrincipalMapping
from barnabas.cluster.tls.ciphers import CipherSuitesError, suites_of
from barnabas.cluster.tls.terms import Terms


def ssl_settings(own: ListenerValues, protocol: str) -> SslSettings:
    """Return the settings of TLS of a listener; its stores are not read.

    Args:
        own: The settings of the listener.
        protocol: Its security protocol, ``SSL`` or ``SASL_SSL``.

    Raises:
        ConfigError: A setting is bad.
    """
    own.value("ssl.protocol")
    mapping = _mapping(own)
    return SslSettings(
        MappingProxyType({name: own.value(name) for name in STORE_CONFIGS}),
        own.named,
        _terms(own, protocol),
        None if protocol in SASL_PROTOCOLS else mapping,
    )


def _terms(own: ListenerValues, protocol: str) -> Terms:
    auth = own.value("ssl.client.auth")
    if protocol in SASL_PROTOCOLS:
        # Without the listener's prefix it is meant for listeners that have no other authentication.
        auth = own.own("ssl.client.auth") or "none"
    key, suites = own.named("ssl.cipher.suites"), _names(own.value("ssl.cipher.suites"))
    try:
        checked = suites_of(suites) if suites else None
    except CipherSuitesError as error:
        raise ConfigError(key, render(suites), str(error)) from None
    terms = Terms(str(auth), _names(own.value("ssl.enabled.protocols")), checked)
    if not terms.versions:
        raise ConfigError(key, render(suites), "a list with suites of a version in ssl.enabled.protocols")
    return terms


def _mapping(own: ListenerValues) -> PrincipalMapping:
    rules = str(own.value("ssl.principal.mapping.rules"))
    try:
        return PrincipalMapping(rules)
    except BadRuleError as error:
        key = own.named("ssl.principal.mapping.rules")
        raise ConfigError(key, rules, f"a list of rules; {error}") from None


def _names(value: Value) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else ()
