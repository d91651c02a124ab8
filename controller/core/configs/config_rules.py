"""The rules of altering settings: the resulting settings, and those that a topic or broker may have.

Source: ``ZkAdminManager.alterConfigs``, ``prepareIncrementalConfigs``, ``LogConfig.validate`` and
``DynamicBrokerConfig.validate`` of release 2.8, with its error codes: ``INVALID_CONFIG`` for a topic setting
that is unknown, contradicts another or is not served here, ``INVALID_REQUEST`` for a bad value and for a
broker setting that may not be altered.

As in Kafka, a broker setting that is not in the table is accepted and has no effect. Unlike Kafka's brokers,
ours cannot change their listeners while they run, but for their limits and the places of their stores, and
refuse that.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar, assert_never

from barnabas.cluster.model import topic_names
from barnabas.cluster.model.commands.configs import (
    ConfigAlteration,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
)
from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.configs.declarations import Config, ConfigError, Type, Value
from barnabas.cluster.model.configs.described import DYNAMIC_BROKER_CONFIGS, LISTENER_CONFIGS
from barnabas.cluster.model.configs.security import (
    LISTENER_PREFIX,
    check_listener_limit,
    listener_limit,
    listener_store,
)
from barnabas.cluster.model.configs.ssl import LIVE_STORE_CONFIGS
from barnabas.cluster.model.configs.topic import TOPIC_CONFIGS, conflict, parse_topic
from barnabas.cluster.model.configs.unserved import unserved
from barnabas.cluster.model.errors import ErrorCode

T = TypeVar("T", bound=Hashable)

_TABLES: Mapping[ConfigResourceType, Mapping[str, Config]] = {
    ConfigResourceType.TOPIC: TOPIC_CONFIGS,
    ConfigResourceType.BROKER: BROKER_CONFIGS,
}


MAX_SETTINGS_BYTES = 900_000
"""The most bytes of a resource's settings as JSON: they are written to ZooKeeper in one request, which
``jute.maxbuffer`` bounds to 1 MB.
"""


class ConfigRefusedError(Exception):
    """An error for settings that are refused.

    Attributes:
        error: Kafka's error code.
    """

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error


def altered(
    resource: ConfigResource, settings: Mapping[str, str], alterations: Iterable[ConfigAlteration]
) -> dict[str, str]:
    """Apply ``alterations`` to ``settings`` in their order.

    A list that is not set is appended to, and subtracted from, as if it were set to its default.

    Raises:
        ConfigRefusedError: A setting that is no list, or unknown, is to be appended to or subtracted from.
    """
    result = dict(settings)
    for step in alterations:
        match step.operation:
            case ConfigOperation.SET:
                result[step.name] = step.value
            case ConfigOperation.DELETE:
                result.pop(step.name, None)
            case ConfigOperation.APPEND:
                items = _items(resource, result, step)
                result[step.name] = ",".join([*items, *_split(step.value)])
            case ConfigOperation.SUBTRACT:
                items = _items(resource, result, step)
                result[step.name] = ",".join(subtracted(items, _split(step.value)))
            case unknown:
                assert_never(unknown)
    return result


def subtracted(items: Iterable[T], taken: Iterable[T]) -> list[T]:
    """Return ``items`` in order, without the first occurrence of each of ``taken``.

    An item that is taken twice loses two occurrences. The time grows with the lengths, not with their
    product: a list of throttled replicas may have 100,000 items, and this is one turn of the controller's
    loop.
    """
    left = Counter(taken)
    kept: list[T] = []
    for item in items:
        if left.get(item):
            left[item] -= 1
        else:
            kept.append(item)
    return kept


def check(
    resource: ConfigResource, settings: Mapping[str, str], standing: Mapping[str, str] | None = None
) -> None:
    """Check whether ``resource`` may override these settings.

    A setting that is not served here is refused if it is new, and accepted if it is stored already: a topic
    that Kafka has left must be able to change its other settings.

    Args:
        resource: The topic or broker.
        settings: All settings that it is to override.
        standing: The settings that it overrides now; None if they cannot be read.

    Raises:
        ConfigRefusedError: A setting is refused.
    """
    try:
        if resource.type is ConfigResourceType.TOPIC:
            values = _check_topic(resource.name, settings)
        else:
            values = _check_broker(resource, settings)
        _refuse_unserved(values, settings, standing or {})
        _refuse_large(resource, settings)
    except ConfigError as error:
        raise _bad_value(resource, error.for_clients) from error


def _items(resource: ConfigResource, settings: Mapping[str, str], step: ConfigAlteration) -> list[str]:
    """Return the items of the list setting that ``step`` appends to or subtracts from."""
    config = _TABLES[resource.type].get(step.name)
    if config is None:
        raise _unknown(resource, step.name)
    if config.kafka_type is not Type.LIST:
        how = step.operation.name.lower()
        raise ConfigRefusedError(
            ErrorCode.INVALID_REQUEST, f"Config value {how} is not allowed for config key: {step.name}"
        )
    return _split(settings.get(step.name, config.default_text or ""))


def _split(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _check_topic(name: str, settings: Mapping[str, str]) -> Mapping[str, Value]:
    fault = topic_names.fault(name)
    if fault is not None:
        raise ConfigRefusedError(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
    for setting in settings:
        if setting not in TOPIC_CONFIGS:
            raise _unknown(ConfigResource(ConfigResourceType.TOPIC, name), setting)
    values, _ = parse_topic(settings)
    contradiction = conflict(values)
    if contradiction is not None:
        raise ConfigRefusedError(ErrorCode.INVALID_CONFIG, contradiction)
    return values


def _refuse_unserved(
    values: Mapping[str, Value], settings: Mapping[str, str], standing: Mapping[str, str]
) -> None:
    asked = {name: value for name, value in values.items() if settings[name] != standing.get(name)}
    fault = unserved(asked)
    if fault is not None:
        raise ConfigRefusedError(ErrorCode.INVALID_CONFIG, str(fault))


def _refuse_large(resource: ConfigResource, settings: Mapping[str, str]) -> None:
    size = len(json.dumps(dict(settings)))
    if size > MAX_SETTINGS_BYTES:
        raise _bad_value(resource, f"Settings take {size} bytes, expected at most {MAX_SETTINGS_BYTES}")


def _check_broker(resource: ConfigResource, settings: Mapping[str, str]) -> Mapping[str, Value]:
    known = settings.keys() & BROKER_CONFIGS.keys()
    _refuse_any(resource, known - DYNAMIC_BROKER_CONFIGS, "Cannot update these configs dynamically")
    of_stores = {name: each for name in settings if (each := listener_store(name)) is not None}
    of_listeners = {
        name
        for name in settings
        if name.startswith(LISTENER_PREFIX) and listener_limit(name) is None and name not in of_stores
    }
    _refuse_any(resource, of_listeners, "This broker reads these configs at its start alone")
    if resource.is_default:
        message = "Cannot update these configs at default cluster level, broker id must be specified"
        _refuse_any(resource, known & LISTENER_CONFIGS | of_stores.keys(), message)
    secrets = {name for name, each in of_stores.items() if each not in LIVE_STORE_CONFIGS}
    _refuse_any(resource, secrets, "This broker has no password.encoder.secret to encrypt these configs")
    _refuse_any(resource, known & LISTENER_CONFIGS, "This broker reads these configs at its start alone")
    for name in sorted(settings):
        check_listener_limit(name, settings[name])
    return {name: BROKER_CONFIGS[name].parse(settings[name]) for name in sorted(known)}


def _refuse_any(resource: ConfigResource, names: Iterable[str], message: str) -> None:
    listed = ", ".join(sorted(names))
    if listed:
        raise _bad_value(resource, f"{message}: {listed}")


def _bad_value(resource: ConfigResource, message: str) -> ConfigRefusedError:
    return ConfigRefusedError(
        ErrorCode.INVALID_REQUEST, f"Invalid config value for resource {resource}: {message}"
    )


def _unknown(resource: ConfigResource, name: str) -> ConfigRefusedError:
    return ConfigRefusedError(
        ErrorCode.INVALID_CONFIG, f"Unknown {resource.type.name.lower()} config name: {name}"
    )
