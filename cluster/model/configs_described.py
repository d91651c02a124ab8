"""Settings as an administrator sees them: the value in force, where it comes from, and what lies under it.

Sources: ``kafka.server.ConfigHelper``, ``DynamicBrokerConfig.brokerConfigSynonyms`` and ``AllDynamicConfigs``
of release 2.8; KIP-133, KIP-226.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, unique
from itertools import dropwhile

from barnabas.cluster.model.configs import Config, Value, render
from barnabas.cluster.model.configs_broker import BROKER_CONFIGS
from barnabas.cluster.model.configs_topic import TOPIC_CONFIGS, broker_twin, parse_topic, resolve


@unique
class ConfigSource(IntEnum):
    """Where a value comes from, by its number on the wire; a smaller number wins."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    """One of the places that a value could come from.

    Attributes:
        name: The setting there, such as ``log.retention.hours`` behind ``retention.ms``.
        value: Its text there, or None where it may not be shown.
        source: Which kind of place.
    """

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class DescribedConfig:
    """One setting of a topic or a broker.

    Attributes:
        name: Its key.
        value: Its text, or None where it is not set or may not be shown.
        config: Its declaration, or None for a key that is not in the table.
        read_only: Whether only a restart of the broker can change it.
        synonyms: Where its value could come from, the strongest first.
    """

    name: str
    value: str | None
    config: Config | None
    read_only: bool
    synonyms: tuple[ConfigSynonym, ...]

    @property
    def source(self) -> ConfigSource:
        """Where the value comes from."""
        return self.synonyms[0].source if self.synonyms else ConfigSource.DEFAULT_CONFIG

    @property
    def is_sensitive(self) -> bool:
        """Whether the value is hidden: nobody knows whether a key without declaration holds a secret."""
        return self.config is None


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """The settings a broker runs by.

    Attributes:
        values: Every setting of the table, parsed, as it is in force.
        given: The text of those that ``server.properties`` and the command line hold, unknown ones too.
        dynamic: The text of those that ``/config/brokers`` holds of this broker.
        dynamic_default: The text of those that it holds of all brokers.
    """

    values: Mapping[str, Value]
    given: Mapping[str, str]
    dynamic: Mapping[str, str] = field(default_factory=dict)
    dynamic_default: Mapping[str, str] = field(default_factory=dict)


LISTENER_CONFIGS = frozenset({"advertised.listeners", "listener.security.protocol.map", "listeners"})
"""Broker settings that Kafka calls dynamic, and that a broker of ours reads at its start alone."""

DYNAMIC_BROKER_CONFIGS = (
    frozenset(config.name for config in BROKER_CONFIGS.values() if config.topic is not None)
    - {"log.message.format.version"}
    | LISTENER_CONFIGS
    | {
        "background.threads",
        "log.cleaner.backoff.ms",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.io.buffer.size",
        "log.cleaner.threads",
        "max.connection.creation.rate",
        "max.connections",
        "max.connections.per.ip",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
    }
)
"""The broker settings that Kafka does not call read-only."""

LIVE_BROKER_CONFIGS = DYNAMIC_BROKER_CONFIGS - LISTENER_CONFIGS
"""Those that a running broker of ours takes over."""

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
    """Every setting of a topic, and the keys it holds that no declaration knows.

    Args:
        broker: The settings of the broker that is asked.
        overrides: What ``/config/topics/<t>`` holds.

    Raises:
        ConfigError: An override has a bad value.
    """
    parsed, unknown = parse_topic(overrides)
    values = resolve(broker.values, parsed)
    described = []
    for name, config in TOPIC_CONFIGS.items():
        value, twin = render(values[name]), broker_twin(name)
        synonyms = () if twin is None else _broker_synonyms(broker, twin)
        if name in overrides:
            own = ConfigSynonym(name, value, ConfigSource.DYNAMIC_TOPIC_CONFIG)
            synonyms = (own, *synonyms)
        described.append(DescribedConfig(name, value, config, read_only=False, synonyms=synonyms))
    for name in unknown:
        own = ConfigSynonym(name, None, ConfigSource.DYNAMIC_TOPIC_CONFIG)
        described.append(DescribedConfig(name, None, None, read_only=False, synonyms=(own,)))
    return tuple(described)


def describe_broker(broker: BrokerSettings) -> tuple[DescribedConfig, ...]:
    """Every setting of a broker, and the keys it was given that no declaration knows."""
    given = dict.fromkeys((*broker.given, *broker.dynamic_default, *broker.dynamic))
    unknown = [name for name in given if name not in BROKER_CONFIGS]
    return tuple(
        DescribedConfig(
            name,
            render(broker.values.get(name)),
            BROKER_CONFIGS.get(name),
            read_only=name not in DYNAMIC_BROKER_CONFIGS,
            synonyms=_broker_synonyms(broker, name),
        )
        for name in (*BROKER_CONFIGS, *unknown)
    )


def describe_brokers_default(broker: BrokerSettings) -> tuple[DescribedConfig, ...]:
    """The settings that all brokers are given at run time, as ``broker`` knows them."""
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    described = []
    for name, text in broker.dynamic_default.items():
        value = text if name in BROKER_CONFIGS else None
        own = ConfigSynonym(name, value, source)
        read_only = name not in DYNAMIC_BROKER_CONFIGS
        described.append(DescribedConfig(name, value, BROKER_CONFIGS.get(name), read_only, (own,)))
    return tuple(described)


def _broker_synonyms(broker: BrokerSettings, name: str) -> tuple[ConfigSynonym, ...]:
    """Where the broker setting ``name`` could come from.

    Kafka lets go of what stands before the first place of that very name: ``log.retention.hours`` alone does
    not make ``log.retention.ms``, nor ``retention.ms``, anything but a default.
    """
    layers = (
        (ConfigSource.DYNAMIC_BROKER_CONFIG, broker.dynamic),
        (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, broker.dynamic_default),
        (ConfigSource.STATIC_BROKER_CONFIG, broker.given),
        (ConfigSource.DEFAULT_CONFIG, _DEFAULTS),
    )
    found = (
        ConfigSynonym(each, texts[each] if each in BROKER_CONFIGS else None, source)
        for source, texts in layers
        for each in _SYNONYMS.get(name, (name,))
        if each in texts
    )
    return tuple(dropwhile(lambda synonym: synonym.name != name, found))
