"""The security settings of one listener, looked up with its prefixes and then without.

Sources: ``KafkaConfig.valuesWithPrefixOverride`` and ``JaasContext`` of release 2.8; KIP-103.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.broker.server.security.mechanisms import LOGIN_MODULES
from barnabas.cluster.model.configs.declarations import HIDDEN, Config, ConfigError, Value, table
from barnabas.cluster.model.configs.security import LISTENER_PREFIX, SECURITY_CONFIGS
from barnabas.cluster.model.jaas import JaasEntry, JaasError, parse_jaas

CONFIGS: Mapping[str, Config] = table(SECURITY_CONFIGS)


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
        """Return the value of a setting: that with the listener's prefix if it was given, else that without.

        Raises:
            ConfigError: The value is invalid.
        """
        text = self._given.get(self._prefix + name)
        return self._values[name] if text is None else _parsed(self._prefix + name, name, text)

    def own(self, name: str) -> Value:
        """Return the value that was given with the listener's prefix; None if none was.

        Raises:
            ConfigError: The value is invalid.
        """
        text = self._given.get(self._prefix + name)
        return None if text is None else _parsed(self._prefix + name, name, text)

    def named(self, name: str) -> str:
        """Return the full name of the setting in force: with the prefix if that was given, else without."""
        return self._prefix + name if self._prefix + name in self._given else name

    def of_mechanism(self, mechanism: str, name: str) -> Value:
        """Return the value of a setting of a mechanism, falling back to that of the listener."""
        key = self.key(mechanism, name)
        text = self._given.get(key)
        return self.value(name) if text is None else _parsed(key, name, text)

    def key(self, mechanism: str, name: str) -> str:
        """Return the full name of a setting of a mechanism."""
        return f"{self._prefix}{mechanism.lower()}.{name}"

    def jaas(self, mechanism: str) -> JaasEntry:
        """Return the JAAS entry of a mechanism; an entry without the mechanism's prefix does not count.

        Raises:
            ConfigError: The entry is missing or invalid; the message does not repeat it, as it has passwords.
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
        return CONFIGS[name].parse(text)
    except ConfigError as error:
        raise ConfigError(key, error.value, error.allowed) from None
