"""The effect of changed settings on a running broker: its open logs and its controller.

Source: ``TopicConfigHandler``, ``BrokerConfigHandler`` and ``DynamicLogConfig`` of release 2.8.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

import structlog

from barnabas.broker.config.dynamic import DynamicBrokerConfig
from barnabas.broker.config.topics import TopicConfigs
from barnabas.broker.core.quotas.replication_quota import ReplicationThrottles
from barnabas.broker.disk.log.log import Log
from barnabas.cluster.model.addresses import host_address
from barnabas.cluster.model.client_quotas import QuotaEntity, quotas_of
from barnabas.cluster.model.configs.declarations import ConfigError
from barnabas.cluster.model.configs.topic import TOPIC_CONFIGS
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.scram import ScramCredential, ScramMechanism, credentials_of

_log = structlog.get_logger("kafka.server.DynamicConfigManager")

Quotas = dict[QuotaEntity, Mapping[str, float]]

_UNCLEAN = "unclean.leader.election.enable"


class UncleanElections(Protocol):
    """The part of the controller that settings change (``controller.node.ControllerNode``)."""

    def enable_unclean_leader_election(self, topic: str) -> None:
        """Handle that a topic's override has become true."""
        ...

    def set_unclean_leader_election(self, *, enabled: bool) -> None:
        """Handle a change of the broker's setting."""
        ...


class AlterableTls(Protocol):
    """The TLS of a listener (``server.security.listener_tls.ListenerTls``)."""

    def alter(self, settings: Mapping[str, str]) -> None:
        """Use the stores of these settings of the broker soon."""
        ...


class ConfigHandler:
    """Applies changed settings; ``ConfigChanges`` calls it.

    Args:
        live: The broker's settings in force, replaced here.
        topic_configs: The settings of its topics.
    """

    def __init__(self, live: DynamicBrokerConfig, topic_configs: TopicConfigs) -> None:
        self._live = live
        self._topic_configs = topic_configs
        self._logs: Callable[[], Mapping[TopicPartition, Log]] = dict
        self._elections: UncleanElections | None = None
        self.quotas: Quotas = {}
        """The quotas of all users, clients and addresses; ``ClientQuotas`` holds this object."""
        self.credentials: dict[ScramMechanism, dict[str, ScramCredential]] = {
            mechanism: {} for mechanism in ScramMechanism
        }
        """The SCRAM credentials of all users; the listeners hold these objects."""
        self.tls: Collection[AlterableTls] = ()
        """The TLS of the listeners that use it."""
        self.throttles = ReplicationThrottles()
        """The throttles of replication; the replicas hold this object."""

    def serve(
        self, logs: Callable[[], Mapping[TopicPartition, Log]], elections: UncleanElections | None
    ) -> None:
        """Apply changes to these open logs and to the controller of this process from now on."""
        self._logs = logs
        self._elections = elections

    @property
    def topics(self) -> Collection[str]:
        """The topics whose settings are in use on this broker."""
        return tuple(self._topic_configs.topics)

    def topic_changed(self, topic: str, own: Mapping[str, str]) -> None:
        """Apply the topic's overrides to its open logs, and enable unclean elections in the controller."""
        if self._topic_configs.changed(topic, own):
            _log.info(f"Topic {topic} now overrides: {', '.join(sorted(own)) or 'nothing'}")
        for tp, log in self._logs().items():
            if tp.topic == topic:
                log.config = self._topic_configs.config_for(topic)
        if self._elections is not None and _is_true(own.get(_UNCLEAN)):
            self._elections.enable_unclean_leader_election(topic)

    def brokers_default_changed(self, settings: Mapping[str, str]) -> None:
        """Apply the cluster-wide defaults of brokers."""
        before = self._live.config.flag(_UNCLEAN)
        if self._live.set_default(settings):
            self._follow(unclean_before=before)

    def own_changed(self, settings: Mapping[str, str]) -> None:
        """Apply the settings of this broker."""
        self.throttles.leader.limit = _rate(settings, "leader.replication.throttled.rate")
        self.throttles.follower.limit = _rate(settings, "follower.replication.throttled.rate")
        self.throttles.log_dirs.limit = _rate(settings, "replica.alter.log.dirs.io.max.bytes.per.second")
        for listener in self.tls:
            listener.alter(settings)
        before = self._live.config.flag(_UNCLEAN)
        if self._live.set_own(settings):
            self._follow(unclean_before=before)

    def quotas_changed(self, changed: Mapping[QuotaEntity, Mapping[str, str]], *, are_all: bool) -> None:
        """Replace the quotas and credentials of these entities; if these ``are_all``, no others have any."""
        if are_all:
            self.quotas.clear()
            for credentials in self.credentials.values():
                credentials.clear()
        for named, settings in changed.items():
            # Connections of an address are found by Java's form of it.
            entity = named if named.ip is None else QuotaEntity(ip=host_address(named.ip))
            if entity.user and entity.client_id is None:
                self._credentials_changed(entity.user, settings)
            own = quotas_of(entity, settings)
            self.quotas.pop(entity, None)
            if own:
                self.quotas[entity] = own
            if not are_all:
                _log.info(f"The quotas of {dict(entity.parts)} are now: {own or 'none'}")

    def _credentials_changed(self, user: str, settings: Mapping[str, str]) -> None:
        own = credentials_of(settings)
        for mechanism, credentials in self.credentials.items():
            credentials.pop(user, None)
            if mechanism in own:
                credentials[user] = own[mechanism]

    def _follow(self, *, unclean_before: bool) -> None:
        self._topic_configs.broker_changed()
        for tp, log in self._logs().items():
            log.config = self._topic_configs.config_for(tp.topic)
        unclean = self._live.config.flag(_UNCLEAN)
        if self._elections is not None and unclean is not unclean_before:
            self._elections.set_unclean_leader_election(enabled=unclean)


def _rate(settings: Mapping[str, str], name: str) -> float | None:
    """Return a rate in bytes per second, or None if it is not set or no such number."""
    try:
        return None if name not in settings else float(max(0, int(settings[name])))
    except ValueError:
        _log.error(f"The setting {name} of this broker is not used: '{settings[name]}' is no whole number")
        return None


def _is_true(text: str | None) -> bool:
    try:
        return text is not None and TOPIC_CONFIGS[_UNCLEAN].parse(text) is True
    except ConfigError:
        return False
