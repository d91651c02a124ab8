"""The broker's settings as they are in force: ``server.properties`` and what ``/config/brokers`` lays on it.

A setting of this broker wins over one of all brokers, and both over ``server.properties``. What may not be
changed at run time, or has a bad value, does not count. Source: ``DynamicBrokerConfig`` of release 2.8;
KIP-226.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import structlog

from barnabas.broker.config import BrokerConfig, resolve_log_config
from barnabas.cluster.model.configs import ConfigError, Value
from barnabas.cluster.model.configs_broker import BROKER_CONFIGS
from barnabas.cluster.model.configs_described import LIVE_BROKER_CONFIGS, BrokerSettings

_log = structlog.get_logger("kafka.server.DynamicBrokerConfig")


class LiveConfig:
    """Both layers over the settings that the broker was started with.

    Args:
        static: Those.

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
        """The settings in force, and every layer of them, for those who ask."""
        return BrokerSettings(self.config.values, self.config.given, self._own, self._default)

    def set_default(self, settings: Mapping[str, str]) -> bool:
        """Lay these settings of all brokers under this broker's own; whether anything is different now."""
        self._default = usable(settings, "all brokers")
        return self._lay()

    def set_own(self, settings: Mapping[str, str]) -> bool:
        """Lay these settings of this broker over all others; whether anything is different now."""
        self._own = usable(settings, "this broker")
        return self._lay()

    def _lay(self) -> bool:
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
    """Those of ``settings`` that may be laid over ``server.properties``; each other one is logged.

    Args:
        settings: The text of each.
        whose: For the log.
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
        except ConfigError as error:
            _log.error(f"The setting {name} of {whose} in ZooKeeper is not used: {error}")
            continue
        kept[name] = text
    return kept
