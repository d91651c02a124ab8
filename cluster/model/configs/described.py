"""Settings as administrators see them: effective value, source and synonyms.

Sources: ``kafka.server.ConfigHelper``, ``DynamicBrokerConfig.brokerConfigSynonyms`` and ``AllDynamicConfigs``
of release 2.8; KIP-133, KIP-226.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, unique
from itertools import dropwhile

from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.configs.declarations import Config, Type, Value, render
from barnabas.cluster.model.configs.topic import TOPIC_CONFIGS, broker_synonym, parse_topic, resolve


@unique
class ConfigSource(IntEnum):
    """The sources of values, with their numbers in the protocol; the smaller number wins."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    """A place from which a value may come.

    Attributes:
        name: The name of the setting there, such as ``log.retention.hours`` for ``retention.ms``.
        value: The text there; None if it is hidden.
        source: The kind of place.
    """

    name: str
    value: str | None
    source: ConfigSource


def _may_be_secret(config: Config | None) -> bool:
    """Return whether the values of a setting are hidden (``KafkaConfig.maybeSensitive``)."""
    return config is None or config.type is Type.PASSWORD


@dataclass(frozen=True, slots=True)
class DescribedConfig:
    """A setting of a topic or a broker.

    Attributes:
        name: The key.
        value: The text; None if it is not set or hidden.
        config: The declaration; None for an unknown key.
        read_only: Whether a change needs a restart of the broker.
        synonyms: The places from which the value may come, by precedence.
    """

    name: str
    value: str | None
    config: Config | None
    read_only: bool
    synonyms: tuple[ConfigSynonym, ...]

    @property
    def source(self) -> ConfigSource:
        """Return the source of the value."""
        return self.synonyms[0].source if self.synonyms else ConfigSource.DEFAULT_CONFIG

    @property
    def is_sensitive(self) -> bool:
        """Return whether the value is hidden: a secret, or of a key without declaration, which may be one."""
        return _may_be_secret(self.config)


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """The settings of a running broker.

    Attributes:
        values: The effective value of every declared setting.
        given: The text of settings in ``server.properties`` and on the command line, unknown ones included.
        dynamic: The text of this broker's settings in ``/config/brokers``.
        dynamic_default: The text of all brokers' settings in ``/config/brokers``.
    """

    values: Mapping[str, Value]
    given: Mapping[str, str]
    dynamic: Mapping[str, str] = field(default_factory=dict)
    dynamic_default: Mapping[str, str] = field(default_factory=dict)


LISTENER_CONFIGS = frozenset({"advertised.listeners", "listener.security.protocol.map", "listeners"})
"""Broker settings that are dynamic in Kafka, but read only at the start by our brokers."""

DYNAMIC_BROKER_CONFIGS = (
    frozenset(config.name for config in BROKER_CONFIGS.values() if config.topic is not None)
    - {"log.message.format.version"}
    | LISTENER_CONFIGS
    | {
        "background.threads",
        "log.cleaner.backoff.ms",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.buffer.size",
        "log.cleaner.io.max.bytes.per.second",
        "log.cleaner.threads",
        "max.connection.creation.rate",
        "max.connections",
        "max.connections.per.ip",
        "max.connections.per.ip.overrides",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
    }
)
"""The broker settings that are not read-only in Kafka."""

LIVE_BROKER_CONFIGS = DYNAMIC_BROKER_CONFIGS - LISTENER_CONFIGS
"""The broker settings that our brokers apply while they run."""

_FAMILIES = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_SYNONYMS = {name: family for family in _FAMILIES for name in family} | {
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
}

_DEFAULTS = {
    name: text for name, config in BROKER_CONFIGS.items() if (text := config.default_text) is not None
}


def describe_topic(broker: BrokerSettings, overrides: Mapping[str, str]) -> tuple[DescribedConfig, ...]:
    """Describe every setting of a topic, and its keys without declaration.

    Args:
        broker: The settings of the broker that answers.
        overrides: The content of ``/config/topics/<t>``.

    Raises:
        ConfigError: An override has an invalid value.
    """
    parsed, unknown = parse_topic(overrides)
    values = resolve(broker.values, parsed)
    described = []
    for name, config in TOPIC_CONFIGS.items():
        value, synonym = render(values[name]), broker_synonym(name)
        synonyms = () if synonym is None else _broker_synonyms(broker, synonym)
        if name in overrides:
            own = ConfigSynonym(name, value, ConfigSource.DYNAMIC_TOPIC_CONFIG)
            synonyms = (own, *synonyms)
        described.append(DescribedConfig(name, value, config, read_only=False, synonyms=synonyms))
    for name in unknown:
        own = ConfigSynonym(name, None, ConfigSource.DYNAMIC_TOPIC_CONFIG)
        described.append(DescribedConfig(name, None, None, read_only=False, synonyms=(own,)))
    return tuple(described)


def describe_broker(broker: BrokerSettings) -> tuple[DescribedConfig, ...]:
    """Describe every setting of a broker, and its keys without declaration."""
    given = dict.fromkeys((*broker.given, *broker.dynamic_default, *broker.dynamic))
    unknown = [name for name in given if name not in BROKER_CONFIGS]
    return tuple(
        DescribedConfig(
            name,
            None if _may_be_secret(BROKER_CONFIGS.get(name)) else render(broker.values.get(name)),
            BROKER_CONFIGS.get(name),
            read_only=name not in DYNAMIC_BROKER_CONFIGS,
            synonyms=_broker_synonyms(broker, name),
        )
        for name in (*BROKER_CONFIGS, *unknown)
    )


def describe_brokers_default(broker: BrokerSettings) -> tuple[DescribedConfig, ...]:
    """Describe the dynamic settings of all brokers, as ``broker`` knows them."""
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    described = []
    for name, text in broker.dynamic_default.items():
        value = None if _may_be_secret(BROKER_CONFIGS.get(name)) else text
        own = ConfigSynonym(name, value, source)
        read_only = name not in DYNAMIC_BROKER_CONFIGS
        described.append(DescribedConfig(name, value, BROKER_CONFIGS.get(name), read_only, (own,)))
    return tuple(described)


def _broker_synonyms(broker: BrokerSettings, name: str) -> tuple[ConfigSynonym, ...]:
    """List the places from which the broker setting ``name`` may come.

    Kafka drops the places before the first one with exactly that name. So with ``log.retention.hours`` alone,
    ``log.retention.ms`` and ``retention.ms`` are still reported as defaults.
    """
    layers = (
        (ConfigSource.DYNAMIC_BROKER_CONFIG, broker.dynamic),
        (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, broker.dynamic_default),
        (ConfigSource.STATIC_BROKER_CONFIG, broker.given),
        (ConfigSource.DEFAULT_CONFIG, _DEFAULTS),
    )
    found = (
        ConfigSynonym(each, None if _may_be_secret(BROKER_CONFIGS.get(each)) else texts[each], source)
        for source, texts in layers
        for each in _SYNONYMS.get(name, (name,))
        if each in texts
    )
    return tuple(dropwhile(lambda synonym: synonym.name != name, found))
