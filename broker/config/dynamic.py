"""The broker's settings in force: ``server.properties`` overridden by the settings in ``/config/brokers``.

A setting of this broker overrides the cluster-wide default, and both override ``server.properties``. Settings
that cannot change at run time, and bad values, are ignored. Source: ``DynamicBrokerConfig`` of release 2.8;
KIP-226.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import structlog

from barnabas.broker.config.broker_config import BrokerConfig, resolve_log_config
from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.configs.declarations import ConfigError, Value
from barnabas.cluster.model.configs.described import LIVE_BROKER_CONFIGS, BrokerSettings
from barnabas.cluster.model.configs.security import check_listener_limit

_log = structlog.get_logger("kafka.server.DynamicBrokerConfig")


class DynamicBrokerConfig:
    """The settings that the broker started with, and the two dynamic layers over them.

    Args:
        static: The settings that the broker started with.

    Attributes:
        config: The settings in force.
    """

    def __init__(self, static: BrokerConfig) -> None:
        self._static = static
        self._default: Mapping[str, str] = {}
        self._own: Mapping[str, str] = {}
        self.config = static

    @property
    def settings(self) -> BrokerSettings:
        """The settings in force and the layers they come from, for DescribeConfigs."""
        return BrokerSettings(self.config.values, self.config.given, self._own, self._default)

    def set_default(self, settings: Mapping[str, str]) -> bool:
        """Replace the cluster-wide defaults; return whether a setting in force has changed."""
        self._default = usable(settings, "all brokers")
        return self._resolve()

    def set_own(self, settings: Mapping[str, str]) -> bool:
        """Replace the settings of this broker; return whether a setting in force has changed."""
        self._own = usable(settings, "this broker")
        return self._resolve()

    def _resolve(self) -> bool:
        values: dict[str, Value] = dict(self._static.values)
        for name, text in (*self._default.items(), *self._own.items()):
            if name in BROKER_CONFIGS:
                values[name] = BROKER_CONFIGS[name].parse(text)
        before = self.config.values
        changed = sorted(name for name in values if values[name] != before[name])
        if not changed:
            return False
        for name in changed:
            _log.info(f"The setting {name} is {values[name]} from now on; it was {before[name]}")
        self.config = replace(
            self._static, values=MappingProxyType(values), topic_defaults=resolve_log_config(values, {})
        )
        return True


def usable(settings: Mapping[str, str], whose: str) -> dict[str, str]:
    """Return those of ``settings`` that may override ``server.properties``, and log each of the others.

    Args:
        settings: The text of each.
        whose: Names their owner in the log.
    """
    kept = {}
    for name, text in settings.items():
        declared = BROKER_CONFIGS.get(name)
        if declared is not None and name not in LIVE_BROKER_CONFIGS:
            _log.error(f"The setting {name} of {whose} in ZooKeeper is not used: it needs a restart")
            continue
        try:
            if declared is not None:
                declared.parse(text)
            check_listener_limit(name, text)
        except ConfigError as error:
            _log.error(f"The setting {name} of {whose} in ZooKeeper is not used: {error}")
            continue
        kept[name] = text
    return kept
