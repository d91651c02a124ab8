"""The settings of the topics that this broker holds, read from ZooKeeper before their logs are opened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

import structlog

from barnabas.broker.config import BrokerConfig
from barnabas.broker.core.log_config import LogConfig
from barnabas.cluster.model.configs import ConfigError
from barnabas.cluster.zk.errors import SessionExpired, ZooKeeperError
from barnabas.cluster.zk.schema.body import ZnodeDecodeError

_log = structlog.get_logger(__name__)

RETRY_S = 0.5
"""Between two attempts to read them while ZooKeeper does not answer."""


class FoundConfigs(Protocol):
    """What topics set themselves (``cluster.zk.store_topics.EntityConfigs``)."""

    @property
    def settings(self) -> Mapping[str, Mapping[str, str]]:
        """Of those topics that have any."""
        ...

    @property
    def unreadable(self) -> Mapping[str, ZnodeDecodeError]:
        """Why those of the others cannot be read."""
        ...


class TopicSettings(Protocol):
    """What is needed of ZooKeeper (``cluster.zk.store_topics.TopicStore``)."""

    async def configs(self, names: Collection[str]) -> FoundConfigs:
        """The settings of these topics."""
        ...


class TopicConfigs:
    """Log settings by topic, as they stood when they were last read or told.

    Args:
        config: Gives the broker's settings in force, which hold where a topic says nothing.
        store: Gives the topics of the current ZooKeeper session.
    """

    def __init__(self, config: Callable[[], BrokerConfig], store: Callable[[], TopicSettings]) -> None:
        self._config = config
        self._store = store
        self._own: dict[str, Mapping[str, str]] = {}
        self._known: dict[str, LogConfig] = {}

    @property
    def topics(self) -> Collection[str]:
        """The topics that were read."""
        return self._known.keys()

    def config_for(self, topic: str) -> LogConfig:
        """The log settings of ``topic``; the broker's own for one that was not read."""
        return self._known.get(topic, self._config().topic_defaults)

    async def read(self, topics: Collection[str]) -> None:
        """Read the settings of these topics; waits for as long as ZooKeeper does not answer.

        A log opened with the wrong settings would, for instance, acknowledge with too few replicas in sync.
        What cannot be read even so keeps no one else: that topic has the broker's own settings.

        Raises:
            SessionExpired: The session is over; nothing was read.
        """
        told = False
        found: FoundConfigs | None = None
        while found is None:
            try:
                found = await self._store().configs(topics)
            except SessionExpired:
                raise
            except ZooKeeperError as error:
                if not told:
                    _log.warning(f"The settings of {len(topics)} topics cannot be read yet: {error}")
                    told = True
                await asyncio.sleep(RETRY_S)
        _tell_unreadable(found)
        for topic in topics:
            self._take(topic, found.settings.get(topic, {}))

    async def read_new(self, topics: Collection[str], fresh: Collection[str] = ()) -> None:
        """Read the settings of those among ``topics`` that are not known yet, and of all in ``fresh``."""
        wanted = {topic for topic in topics if topic not in self._known}.union(fresh)
        if wanted:
            await self.read(sorted(wanted))

    async def overrides(self, topics: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        """What those of these topics that have settings set themselves, as ZooKeeper holds it now.

        What cannot be read is not in force either, and counts as nothing.

        Raises:
            ZooKeeperError: It cannot be read now.
        """
        found = await self._store().configs(topics)
        _tell_unreadable(found)
        return found.settings

    def changed(self, topic: str, own: Mapping[str, str]) -> bool:
        """What ``topic`` sets itself is now ``own``; one that was not read is not remembered either.

        Returns:
            Whether that is news, as far as is known.
        """
        if topic not in self._known:
            return True
        before = self._own[topic]
        self._take(topic, own)
        return before != own

    def broker_changed(self) -> None:
        """The broker's settings in force are others now: what the topics do not set themselves follows."""
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


def _tell_unreadable(found: FoundConfigs) -> None:
    for topic, error in found.unreadable.items():
        _log.error(f"The settings of topic {topic} in ZooKeeper are not used: {error}")
