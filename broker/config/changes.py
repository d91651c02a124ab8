"""The change notifications under ``/config/changes``, from which a running broker learns of changed settings.

A notification names the resource; its settings are read when the notification is processed. Sources:
``DynamicConfigManager``, ``ZkNodeChangeNotificationListener`` and ``ConfigHandler`` of release 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping

import structlog

from barnabas.broker.config.handler import ConfigHandler
from barnabas.cluster.model.client_quotas import QuotaEntity
from barnabas.cluster.model.commands.configs import ConfigResource, ConfigResourceType
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.client.errors import RequestFailed, ZooKeeperError
from barnabas.cluster.zk.stores.configs import ConfigChange, ConfigStore, ResourceConfigs
from barnabas.cluster.zk.stores.quotas import QuotaStore

_log = structlog.get_logger("kafka.server.DynamicConfigManager")

CHANGE_EXPIRATION_MS = 15 * 60 * 1000
"""Age at which a notification is deleted, ms (Kafka: ``DefaultChangeExpirationMs``)."""

RETRY_S = 0.5
"""Pause before a failed read is repeated, seconds."""


class ConfigChanges:
    """Reads notifications, passes on the settings of each changed resource, and deletes what has expired.

    Args:
        broker_id: This broker.
        store: Returns the settings in the current ZooKeeper session.
        quotas: Returns the quotas in the current ZooKeeper session.
        listener: Applies the changed settings.
        clock_ms: Returns the milliseconds since 1970.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        store: Callable[[], ConfigStore],
        quotas: Callable[[], QuotaStore],
        listener: ConfigHandler,
        clock_ms: Callable[[], int],
    ) -> None:
        self._own = ConfigResource(ConfigResourceType.BROKER, str(broker_id))
        self._default = ConfigResource(ConfigResourceType.BROKER, "")
        self._store = store
        self._quotas = quotas
        self._listener = listener
        self._clock_ms = clock_ms
        self._last = -1
        self._session_is_new = False
        self._pending = asyncio.Event()
        self._caught_up = asyncio.Event()

    def noticed(self) -> None:
        """Process notifications soon: there may be a new one."""
        self._pending.set()

    def session_began(self) -> None:
        """Read all settings in use again: notifications may have come and expired between two sessions."""
        self._session_is_new = True
        self._pending.set()

    async def read_brokers(self) -> None:
        """Read and apply the settings of brokers, before anything uses them.

        Raises:
            ZooKeeperError: ZooKeeper cannot be read.
        """
        await self._apply((self._default, self._own))

    async def caught_up(self) -> None:
        """Return when the settings of all users have been read and applied for the first time."""
        await self._caught_up.wait()

    async def run(self) -> None:
        """Apply changes as they come; runs until cancelled."""
        while True:
            await self._pending.wait()
            self._pending.clear()
            try:
                await self._catch_up()
            except ZooKeeperError as error:
                _log.warning(f"Changed settings cannot be read yet: {error}")
                self._pending.set()
                await asyncio.sleep(RETRY_S)

    async def _catch_up(self) -> None:
        changes = await self._store().changes(watch=True)
        new = [change for change in changes if change.number > self._last]
        for change in new:
            if change.error is not None:
                _log.error(f"A notification of changed settings is skipped: {change.error}")
        named = {change.resource for change in new if change.resource is not None}
        entities = {change.entity for change in new if change.entity is not None}
        is_first = self._session_is_new
        if self._session_is_new:
            self._session_is_new = False
            named |= {self._default, self._own}
            named |= {ConfigResource(ConfigResourceType.TOPIC, topic) for topic in self._listener.topics}
        try:
            await self._apply(sorted(named))
            await self._apply_quotas(entities, are_all=is_first)
        except ZooKeeperError:
            # What was not read now is read with everything else.
            self._session_is_new = True
            raise
        self._last = max((change.number for change in new), default=self._last)
        if is_first:
            self._caught_up.set()
        await self._remove_old(changes)

    async def _remove_old(self, changes: Iterable[ConfigChange]) -> None:
        for change in changes:
            if self._clock_ms() - change.created_ms > CHANGE_EXPIRATION_MS:
                try:
                    await self._store().delete_change(change.name)
                except RequestFailed as error:
                    _log.error(f"An expired notification of changed settings cannot be deleted: {error}")

    async def _apply(self, resources: Collection[ConfigResource]) -> None:
        found = await self._read(resources)
        for resource, read in found.items():
            if read.settings is None:
                _log.error(f"Settings in ZooKeeper are not used: {read.error}")
                continue
            try:
                self._pass_on(resource, read.settings)
            except Exception:  # noqa: BLE001  (the writer is unknown; other resources must be applied)
                _log.exception(f"Settings of {resource} in ZooKeeper are not used: {sorted(read.settings)}")

    async def _apply_quotas(self, entities: Collection[QuotaEntity], *, are_all: bool) -> None:
        if not are_all and not entities:
            return
        store = self._quotas()
        found = await (store.read_all() if are_all else store.read(entities))
        readable = {}
        for entity, read in found.items():
            if read.settings is None:
                _log.error(f"Settings in ZooKeeper are not used: {read.error}")
            else:
                readable[entity] = read.settings
        self._listener.quotas_changed(readable, are_all=are_all)

    async def _read(self, resources: Collection[ConfigResource]) -> dict[ConfigResource, ResourceConfigs]:
        """Read these resources, one by one if ZooKeeper refuses one of them."""
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

    def _pass_on(self, resource: ConfigResource, settings: Mapping[str, str]) -> None:
        if resource.type is ConfigResourceType.TOPIC:
            self._listener.topic_changed(resource.name, settings)
        elif resource == self._default:
            self._listener.brokers_default_changed(settings)
        elif resource == self._own:
            self._listener.own_changed(settings)
