"""How a running broker hears of other settings: through the notes under ``/config/changes``.

A note says whose settings changed; what they are now is read. Sources: ``DynamicConfigManager``,
``ZkNodeChangeNotificationListener`` and ``ConfigHandler`` of release 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

import structlog

from barnabas.cluster.model.commands_configs import ConfigResource, ConfigResourceType
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.errors import RequestFailed, ZooKeeperError
from barnabas.cluster.zk.store_configs import ConfigChange, ResourceConfigs

_log = structlog.get_logger("kafka.server.DynamicConfigManager")

NOTE_LIFE_MS = 15 * 60 * 1000
"""How long a note stays for those who have not read it (Kafka: ``DefaultChangeExpirationMs``)."""

RETRY_S = 0.5
"""Between two attempts while ZooKeeper does not answer."""


class Configs(Protocol):
    """What is needed of ZooKeeper (``cluster.zk.store_configs.ConfigStore``)."""

    async def read(self, resources: Iterable[ConfigResource]) -> Mapping[ConfigResource, ResourceConfigs]:
        """What each of these resources sets itself."""
        ...

    async def changes(self, *, watch: bool = False) -> list[ConfigChange]:
        """All notes, the oldest first."""
        ...

    async def delete_change(self, name: str) -> None:
        """Delete a note."""
        ...


class ConfigListener(Protocol):
    """Who takes changed settings over."""

    @property
    def topics(self) -> Collection[str]:
        """The topics whose settings are in use here."""
        ...

    def topic_changed(self, topic: str, own: Mapping[str, str]) -> None:
        """What a topic sets itself is now ``own``; it need not be one of ``topics``."""
        ...

    def brokers_default_changed(self, settings: Mapping[str, str]) -> None:
        """What is set for all brokers is now ``settings``."""
        ...

    def own_changed(self, settings: Mapping[str, str]) -> None:
        """What is set for this broker is now ``settings``."""
        ...


class ConfigChanges:
    """Reads the notes, tells the listener of each resource that changed, and removes old notes.

    Args:
        broker_id: This broker.
        store: Gives the settings of the current ZooKeeper session.
        listener: Told of what changed.
        clock_ms: Milliseconds since 1970.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        store: Callable[[], Configs],
        listener: ConfigListener,
        clock_ms: Callable[[], int],
    ) -> None:
        self._own = ConfigResource(ConfigResourceType.BROKER, str(broker_id))
        self._default = ConfigResource(ConfigResourceType.BROKER, "")
        self._store = store
        self._listener = listener
        self._clock_ms = clock_ms
        self._last = -1
        self._session_is_new = False
        self._news = asyncio.Event()

    def noticed(self) -> None:
        """There is a new note, or there may be."""
        self._news.set()

    def session_began(self) -> None:
        """A session has begun: nothing is watched yet, and notes may have come and gone unseen."""
        self._session_is_new = True
        self._news.set()

    async def read_brokers(self) -> None:
        """Take over what is set for brokers, before anything goes by it.

        Raises:
            ZooKeeperError: It cannot be read.
        """
        await self._take_over((self._default, self._own))

    async def run(self) -> None:
        """Take changes over as they come; runs until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                await self._catch_up()
            except ZooKeeperError as error:
                _log.warning(f"Changed settings cannot be read yet: {error}")
                self._news.set()
                await asyncio.sleep(RETRY_S)

    async def _catch_up(self) -> None:
        changes = await self._store().changes(watch=True)
        new = [change for change in changes if change.number > self._last]
        for change in new:
            if change.error is not None:
                _log.error(f"A note of changed settings is skipped: {change.error}")
        named = {change.resource for change in new if change.resource is not None}
        if self._session_is_new:
            self._session_is_new = False
            named |= {self._default, self._own}
            named |= {ConfigResource(ConfigResourceType.TOPIC, topic) for topic in self._listener.topics}
        try:
            await self._take_over(sorted(named))
        except ZooKeeperError:
            # Whatever has gone unread is read with everything else.
            self._session_is_new = True
            raise
        self._last = max((change.number for change in new), default=self._last)
        await self._remove_old(changes)

    async def _remove_old(self, changes: Iterable[ConfigChange]) -> None:
        for change in changes:
            if self._clock_ms() - change.created_ms > NOTE_LIFE_MS:
                try:
                    await self._store().delete_change(change.name)
                except RequestFailed as error:
                    _log.error(f"An old note of changed settings stays: {error}")

    async def _take_over(self, resources: Collection[ConfigResource]) -> None:
        found = await self._read(resources)
        for resource, read in found.items():
            if read.settings is None:
                _log.error(f"Settings in ZooKeeper are not used: {read.error}")
                continue
            try:
                self._tell(resource, read.settings)
            except Exception:  # noqa: BLE001  (anybody may have written them; others are to be heard of)
                _log.exception(f"Settings of {resource} in ZooKeeper are not used: {dict(read.settings)}")

    async def _read(self, resources: Collection[ConfigResource]) -> dict[ConfigResource, ResourceConfigs]:
        """What these resources set, without those of which ZooKeeper refuses it."""
        try:
            return dict(await self._store().read(resources))
        except RequestFailed as error:
            if len(resources) == 1:
                _log.error(f"Settings of {next(iter(resources))} in ZooKeeper are not used: {error}")
            if len(resources) <= 1:
                return {}
        found: dict[ConfigResource, ResourceConfigs] = {}
        for resource in resources:
            found |= await self._read((resource,))
        return found

    def _tell(self, resource: ConfigResource, settings: Mapping[str, str]) -> None:
        if resource.type is ConfigResourceType.TOPIC:
            self._listener.topic_changed(resource.name, settings)
        elif resource == self._default:
            self._listener.brokers_default_changed(settings)
        elif resource == self._own:
            self._listener.own_changed(settings)
