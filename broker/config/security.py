"""The security of each client listener: settings with ``listener.name.<listener>.`` before those without.

Sources: ``SaslChannelBuilder`` and ``SslChannelBuilder`` of release 2.8; KIP-103.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from barnabas.broker.config.listener_values import ListenerValues
from barnabas.broker.config.oauth import token_options
from barnabas.broker.config.tls import ssl_settings
from barnabas.broker.server.security.listener_security import ListenerSecurity, MechanismSettings
from barnabas.broker.server.security.mechanisms import LOGIN_MODULES, OAUTHBEARER
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.configs.declarations import ConfigError, Value
from barnabas.cluster.model.configs.security import (
    LISTENER_PREFIX,
    SASL_PROTOCOLS,
    SSL_PROTOCOLS,
    check_listener_limit,
    is_setting_of_listener,
)


def listener_security(
    listeners: Iterable[Endpoint], given: Mapping[str, str], values: Mapping[str, Value]
) -> Mapping[str, ListenerSecurity]:
    """Return the security of each listener by its name.

    Args:
        listeners: The client listeners.
        given: The text of the settings that were given.
        values: The values of the settings without a prefix, defaults included.

    Raises:
        ConfigError: A setting is bad, missing, or not served.
    """
    for name, text in given.items():
        check_listener_limit(name, text)
    return MappingProxyType(
        {each.listener: _security(ListenerValues(each.listener, given, values), each) for each in listeners}
    )


def _security(own: ListenerValues, endpoint: Endpoint) -> ListenerSecurity:
    protocol = endpoint.security_protocol
    return ListenerSecurity(
        protocol,
        _mechanisms(own, endpoint) if protocol in SASL_PROTOCOLS else MappingProxyType({}),
        ssl_settings(own, protocol) if protocol in SSL_PROTOCOLS else None,
    )


def _mechanisms(own: ListenerValues, endpoint: Endpoint) -> Mapping[str, MechanismSettings]:
    enabled = own.value("sasl.enabled.mechanisms")
    names = enabled if isinstance(enabled, tuple) else ()
    unserved = [name for name in names if name not in LOGIN_MODULES]
    if unserved or not names:
        raise ConfigError(
            "sasl.enabled.mechanisms",
            ",".join(names),
            f"a list of {', '.join(LOGIN_MODULES)}, for the listener {endpoint.listener}",
        )
    return MappingProxyType({name: _mechanism(own, name) for name in names})


def _mechanism(own: ListenerValues, name: str) -> MechanismSettings:
    longest = own.of_mechanism(name, "connections.max.reauth.ms")
    jaas = own.jaas(name)
    tokens = token_options(own, jaas) if name == OAUTHBEARER else None
    return MechanismSettings(jaas, longest if isinstance(longest, int) else 0, tokens)


def is_listener_setting(name: str, listeners: Iterable[Endpoint]) -> bool:
    """Return whether a setting is one of a listener's security, so that it is no unknown one."""
    for endpoint in listeners:
        prefix = f"{LISTENER_PREFIX}{endpoint.listener.lower()}."
        if name.startswith(prefix):
            return is_setting_of_listener(name.removeprefix(prefix))
    return False
