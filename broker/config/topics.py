"""The settings of the topics that this broker hosts, read from ZooKeeper before their logs are opened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping

import structlog

from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.cluster.model.configs.declarations import ConfigError
from barnabas.cluster.zk.client.errors import SessionExpired, ZooKeeperError
from barnabas.cluster.zk.stores.topics import EntityConfigs, TopicStore

_log = structlog.get_logger(__name__)

RETRY_S = 0.5
"""Pause before a failed read is repeated, seconds."""


class TopicConfigs:
    """The log settings of each topic, as last read or notified.

    Args:
        config: Returns the broker's settings in force, which a topic's overrides override.
        store: Returns the topics of the current ZooKeeper session.
    """

    def __init__(self, config: Callable[[], BrokerConfig], store: Callable[[], TopicStore]) -> None:
        self._config = config
        self._store = store
        self._own: dict[str, Mapping[str, str]] = {}
        self._known: dict[str, LogConfig] = {}

    @property
    def topics(self) -> Collection[str]:
        """The topics whose settings were read."""
        return self._known.keys()

    def config_for(self, topic: str) -> LogConfig:
        """Return the log settings of ``topic``; the broker's defaults if they were not read."""
        return self._known.get(topic, self._config().topic_defaults)

    async def read(self, topics: Collection[str]) -> None:
        """Read the settings of these topics, waiting as long as ZooKeeper does not answer.

        A log opened with the wrong settings would, for instance, acknowledge with too few replicas in sync. A
        topic whose settings cannot be decoded gets the broker's defaults, so that it does not block others.

        Raises:
            SessionExpired: The session has expired; nothing was read.
        """
        is_logged = False
        found: EntityConfigs | None = None
        while found is None:
            try:
                found = await self._store().configs(topics)
            except SessionExpired:
                raise
            except ZooKeeperError as error:
                if not is_logged:
                    _log.warning(f"The settings of {len(topics)} topics cannot be read yet: {error}")
                    is_logged = True
                await asyncio.sleep(RETRY_S)
        _log_unreadable(found)
        for topic in topics:
            self._take(topic, found.settings.get(topic, {}))

    async def read_new(self, topics: Collection[str], fresh: Collection[str] = ()) -> None:
        """Read the settings of those of ``topics`` that were not read yet, and of all in ``fresh``."""
        wanted = {topic for topic in topics if topic not in self._known}.union(fresh)
        if wanted:
            await self.read(sorted(wanted))

    async def overrides(self, topics: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        """Read the current overrides of these topics, without those that cannot be decoded.

        Raises:
            ZooKeeperError: ZooKeeper cannot be read now.
        """
        found = await self._store().configs(topics)
        _log_unreadable(found)
        return found.settings

    def changed(self, topic: str, own: Mapping[str, str]) -> bool:
        """Replace the overrides of ``topic`` by ``own``. A topic that was never read is ignored.

        Returns:
            Whether they differ from those known; True for a topic that was never read.
        """
        if topic not in self._known:
            return True
        before = self._own[topic]
        self._take(topic, own)
        return before != own

    def broker_changed(self) -> None:
        """Resolve all topics again after the broker's settings in force have changed."""
        for topic, own in self._own.items():
            self._known[topic] = self._resolve(topic, own)

    def _take(self, topic: str, own: Mapping[str, str]) -> None:
        self._own[topic] = own
        self._known[topic] = self._resolve(topic, own)

    def _resolve(self, topic: str, own: Mapping[str, str]) -> LogConfig:
        try:
            return self._config().log_config(own)
        except ConfigError as error:
            _log.error(f"The settings of topic {topic} in ZooKeeper are not used: {error}")
            return self._config().topic_defaults


def _log_unreadable(found: EntityConfigs) -> None:
    for topic, error in found.unreadable.items():
        _log.error(f"The settings of topic {topic} in ZooKeeper are not used: {error}")
