"""The declarations of topic settings, and their values from topic and broker.

Source: ``kafka.log.LogConfig`` of release 2.8 (whose ranges may differ from the broker's) and
``LogConfig.extractLogConfigMap`` (the broker setting for each topic setting).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.configs.declarations import (
    UNLIMITED_LONG,
    Config,
    Rule,
    Type,
    Value,
    at_least,
    parse_given,
    table,
)

_RANGES: dict[str, Rule] = {
    "retention.ms": at_least(-1),
    "flush.messages": at_least(0),
    "flush.ms": at_least(0),
    "segment.index.bytes": at_least(0),
}

_HOUR_MS = 3600 * 1000
_MINUTE_MS = 60 * 1000


def _number(value: Value) -> int | None:
    return value if isinstance(value, int) else None


def _first(*values: int | None, otherwise: int) -> int:
    return next((value for value in values if value is not None), otherwise)


def _times(value: Value, factor: int) -> int | None:
    number = _number(value)
    return number if number is None or number < 0 else number * factor


def segment_ms(broker: Mapping[str, Value]) -> int:
    """Return the default of ``segment.ms``: ``log.roll.ms``, else ``log.roll.hours``."""
    return _first(
        _number(broker["log.roll.ms"]), _times(broker["log.roll.hours"], _HOUR_MS), otherwise=_HOUR_MS * 168
    )


def segment_jitter_ms(broker: Mapping[str, Value]) -> int:
    """Return the default of ``segment.jitter.ms``: ``log.roll.jitter.ms``, else ``.hours``."""
    return _first(
        _number(broker["log.roll.jitter.ms"]), _times(broker["log.roll.jitter.hours"], _HOUR_MS), otherwise=0
    )


def retention_ms(broker: Mapping[str, Value]) -> int:
    """Return the default of ``retention.ms``: log.retention.ms, else minutes, else hours; -1 if negative."""
    given = _first(
        _number(broker["log.retention.ms"]),
        _times(broker["log.retention.minutes"], _MINUTE_MS),
        _times(broker["log.retention.hours"], _HOUR_MS),
        otherwise=-1,
    )
    return max(given, -1)


def flush_ms(broker: Mapping[str, Value]) -> int:
    """Return the default of ``flush.ms``: ``log.flush.interval.ms``, else the scheduler's interval."""
    return _first(
        _number(broker["log.flush.interval.ms"]),
        _number(broker["log.flush.scheduler.interval.ms"]),
        otherwise=UNLIMITED_LONG,
    )


_COMBINED = {
    "segment.ms": segment_ms,
    "segment.jitter.ms": segment_jitter_ms,
    "retention.ms": retention_ms,
    "flush.ms": flush_ms,
}

_BROKER_NAMES = {config.topic: config.name for config in BROKER_CONFIGS.values() if config.topic is not None}

_REPLICA = re.compile("([0-9]+:[0-9]+)?")
_REPLICAS = Rule(
    lambda v: isinstance(v, tuple) and (v[:1] == ("*",) or all(map(_REPLICA.fullmatch, v))),
    "the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],...",
)

_THROTTLES = (
    Config(
        "leader.replication.throttled.replicas",
        Type.LIST,
        (),
        "The leaders whose replication is throttled.",
        _REPLICAS,
    ),
    Config(
        "follower.replication.throttled.replicas",
        Type.LIST,
        (),
        "The followers whose replication is throttled.",
        _REPLICAS,
    ),
)

TOPIC_CONFIGS = table(
    (
        replace(
            BROKER_CONFIGS[name], name=topic, topic=None, rule=_RANGES.get(topic, BROKER_CONFIGS[name].rule)
        )
        for topic, name in _BROKER_NAMES.items()
    ),
    _THROTTLES,
)
"""The declarations of all topic settings by name."""


def broker_synonym(topic_setting: str) -> str | None:
    """Return the broker setting that gives ``topic_setting`` its default; None if there is none."""
    return _BROKER_NAMES.get(topic_setting)


def parse_topic(given: Mapping[str, str]) -> tuple[dict[str, Value], tuple[str, ...]]:
    """Parse a topic's overrides.

    Returns:
        The values of the known settings, and the unknown names.

    Raises:
        ConfigError: A value is invalid; the first one is named.
    """
    return parse_given(TOPIC_CONFIGS, given)


def resolve(broker: Mapping[str, Value], overrides: Mapping[str, Value]) -> dict[str, Value]:
    """Return every setting of a topic: its override, else the value from the broker's settings.

    Args:
        broker: All broker settings, as `cluster.model.configs.declarations.with_defaults` returns them.
        overrides: The topic's own settings, parsed.
    """
    resolved: dict[str, Value] = {}
    for name, config in TOPIC_CONFIGS.items():
        if name in overrides:
            resolved[name] = overrides[name]
        elif name in _COMBINED:
            resolved[name] = _COMBINED[name](broker)
        elif name in _BROKER_NAMES:
            resolved[name] = broker[_BROKER_NAMES[name]]
        else:
            resolved[name] = () if config.type is Type.LIST else None
    return resolved


def conflict(values: Mapping[str, Value]) -> str | None:
    """Return why these overrides of a topic contradict each other, in Kafka's words; None if they do not.

    Source: ``LogConfig.validateValues``, whose ranges are checked by the declarations.
    """
    names = ("min.compaction.lag.ms", "max.compaction.lag.ms")
    least, most = (values.get(name, TOPIC_CONFIGS[name].default) for name in names)
    if isinstance(least, int) and isinstance(most, int) and least > most:
        return f"conflict topic config setting {names[0]} ({least}) > {names[1]} ({most})"
    return None
