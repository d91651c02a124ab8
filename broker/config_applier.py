"""What changed settings do in a running broker: to its open logs, its controller, what it tells of itself.

Source: ``TopicConfigHandler``, ``BrokerConfigHandler`` and ``DynamicLogConfig`` of release 2.8.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

import structlog

from barnabas.broker.disk.log import Log
from barnabas.broker.live_config import LiveConfig
from barnabas.broker.topic_configs import TopicConfigs
from barnabas.cluster.model.configs import ConfigError
from barnabas.cluster.model.configs_topic import TOPIC_CONFIGS
from barnabas.cluster.model.ids import TopicPartition

_log = structlog.get_logger("kafka.server.DynamicConfigManager")

_UNCLEAN = "unclean.leader.election.enable"


class UncleanElections(Protocol):
    """What is needed of the controller in this process (``controller.node.ControllerNode``)."""

    def enable_unclean_leader_election(self, topic: str) -> None:
        """Hear that a topic's own setting has become true."""
        ...

    def set_unclean_leader_election(self, *, enabled: bool) -> None:
        """Hear of this broker's setting."""
        ...


class ConfigApplier:
    """Takes changed settings over; a ``broker.config_changes.ConfigListener``.

    Args:
        live: The broker's settings in force.
        topic_configs: Those of its topics.
    """

    def __init__(self, live: LiveConfig, topic_configs: TopicConfigs) -> None:
        self._live = live
        self._topic_configs = topic_configs
        self._logs: Callable[[], Mapping[TopicPartition, Log]] = dict
        self._elections: UncleanElections | None = None

    def serve(
        self, logs: Callable[[], Mapping[TopicPartition, Log]], elections: UncleanElections | None
    ) -> None:
        """From now on these open logs, and the controller in this process, go by the settings."""
        self._logs = logs
        self._elections = elections

    @property
    def topics(self) -> Collection[str]:
        """The topics whose settings are in use here."""
        return tuple(self._topic_configs.topics)

    def topic_changed(self, topic: str, own: Mapping[str, str]) -> None:
        """Let the topic's open logs go by its settings, and tell the controller of unclean elections."""
        if self._topic_configs.changed(topic, own):
            _log.info(f"Topic {topic} sets itself from now on: {', '.join(sorted(own)) or 'nothing'}")
        for tp, log in self._logs().items():
            if tp.topic == topic:
                log.config = self._topic_configs.config_for(topic)
        if self._elections is not None and _is_true(own.get(_UNCLEAN)):
            self._elections.enable_unclean_leader_election(topic)

    def brokers_default_changed(self, settings: Mapping[str, str]) -> None:
        """Take over what is set for all brokers."""
        before = self._live.config.flag(_UNCLEAN)
        if self._live.set_default(settings):
            self._follow(unclean_before=before)

    def own_changed(self, settings: Mapping[str, str]) -> None:
        """Take over what is set for this broker."""
        before = self._live.config.flag(_UNCLEAN)
        if self._live.set_own(settings):
            self._follow(unclean_before=before)

    def _follow(self, *, unclean_before: bool) -> None:
        self._topic_configs.broker_changed()
        for tp, log in self._logs().items():
            log.config = self._topic_configs.config_for(tp.topic)
        unclean = self._live.config.flag(_UNCLEAN)
        if self._elections is not None and unclean is not unclean_before:
            self._elections.set_unclean_leader_election(enabled=unclean)


def _is_true(text: str | None) -> bool:
    try:
        return text is not None and TOPIC_CONFIGS[_UNCLEAN].parse(text) is True
    except ConfigError:
        return False
