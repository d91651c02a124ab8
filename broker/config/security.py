"""The security of each client listener: settings with ``listener.name.<listener>.`` before those without.

Sources: ``KafkaConfig.valuesWithPrefixOverride``, ``JaasContext`` and ``SaslChannelBuilder`` of release 2.8;
KIP-103.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from barnabas.broker.server.listener_security import ListenerSecurity, MechanismSettings
from barnabas.broker.server.mechanisms import LOGIN_MODULES
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.configs import HIDDEN, Config, ConfigError, Value, table
from barnabas.cluster.model.configs_security import LISTENER_PREFIX, PER_MECHANISM, SECURITY_CONFIGS
from barnabas.cluster.model.jaas import JaasEntry, JaasError, parse_jaas

_CONFIGS: Mapping[str, Config] = table(SECURITY_CONFIGS)


class ListenerValues:
    """The security settings of one listener.

    Args:
        listener: Its name.
        given: The text of the settings that were given.
        values: The values of the settings without a prefix, defaults included.
    """

    def __init__(self, listener: str, given: Mapping[str, str], values: Mapping[str, Value]) -> None:
        self._prefix = f"{LISTENER_PREFIX}{listener.lower()}."
        self._given = given
        self._values = values

    def value(self, name: str) -> Value:
        """Return the value of a setting, with the listener's prefix or without any.

        Raises:
            ConfigError: It is bad.
        """
        text = self._given.get(self._prefix + name)
        return self._values[name] if text is None else _parsed(self._prefix + name, name, text)

    def of_mechanism(self, mechanism: str, name: str) -> Value:
        """Return the value of a setting of a mechanism, falling back to that of the listener."""
        key = self.key(mechanism, name)
        text = self._given.get(key)
        return self.value(name) if text is None else _parsed(key, name, text)

    def key(self, mechanism: str, name: str) -> str:
        """Return the full name of a setting of a mechanism."""
        return f"{self._prefix}{mechanism.lower()}.{name}"

    def jaas(self, mechanism: str) -> JaasEntry:
        """Return the JAAS entry of a mechanism; one without the mechanism's prefix does not count.

        Raises:
            ConfigError: There is none, or it is bad; the message does not repeat it.
        """
        key, module = self.key(mechanism, "sasl.jaas.config"), LOGIN_MODULES[mechanism]
        text = self._given.get(key)
        if text is None:
            raise ConfigError(key, None, f"given, because {mechanism} is enabled: {module} required ...;")
        try:
            entry = parse_jaas(text)
        except JaasError as error:
            raise ConfigError(key, HIDDEN, f"a JAAS entry, with {error}") from None
        if entry.module != module:
            raise ConfigError(key, HIDDEN, f"a JAAS entry of {module}, which serves {mechanism}")
        return entry


def _parsed(key: str, name: str, text: str) -> Value:
    try:
        return _CONFIGS[name].parse(text)
    except ConfigError as error:
        raise ConfigError(key, error.value, error.allowed) from None


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
    return MappingProxyType(
        {
            each.listener: ListenerSecurity(
                each.security_protocol,
                _mechanisms(ListenerValues(each.listener, given, values), each)
                if each.security_protocol.startswith("SASL_")
                else MappingProxyType({}),
            )
            for each in listeners
        }
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
    return MechanismSettings(own.jaas(name), longest if isinstance(longest, int) else 0)


def is_listener_setting(name: str, listeners: Iterable[Endpoint]) -> bool:
    """Return whether a setting is one of a listener's security, so that it is no unknown one."""
    for endpoint in listeners:
        prefix = f"{LISTENER_PREFIX}{endpoint.listener.lower()}."
        if name.startswith(prefix):
            rest = name.removeprefix(prefix)
            _, _, behind = rest.partition(".")
            return rest in _CONFIGS or behind in PER_MECHANISM
    return False
