"""The store of clients' quotas: ``/config/users``, ``/config/clients`` and ``/config/ips``.

Source: ``AdminZkClient.fetchAllEntityConfigs`` and ``changeConfigs`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from barnabas.cluster.model.client_quotas import QuotaEntity
from barnabas.cluster.zk.client.operations import Create, Set
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import paths, settings
from barnabas.cluster.zk.schema.quotas import entity_at, entity_path
from barnabas.cluster.zk.stores.configs import ResourceConfigs, configs_of
from barnabas.cluster.zk.stores.trees import children_of, create_missing

_READ_AT_ONCE = 500
"""The most entities whose settings are read, and so decoded, in one go."""


class QuotaStore:
    """The store of the settings of users, clients and addresses."""

    def __init__(self, session: ZooKeeperSession) -> None:
        self._session = session

    async def read_all(self) -> dict[QuotaEntity, ResourceConfigs]:
        """Read the settings of every entity."""
        found: list[str] = []
        for kind in ("users", "clients", "ips"):
            found += [f"{kind}/{name}" for name in await children_of(self._session, f"/config/{kind}")]
        for user in [each for each in found if each.startswith("users/")]:
            names = await children_of(self._session, f"/config/{user}/clients")
            found += [f"{user}/clients/{name}" for name in names]
        return await self.read(entity for each in found if (entity := entity_at(each)) is not None)

    async def read(self, entities: Iterable[QuotaEntity]) -> dict[QuotaEntity, ResourceConfigs]:
        """Read the settings of some entities, in portions: 100,000 at once stalled the loop for 0.2 s."""
        found: dict[QuotaEntity, ResourceConfigs] = {}
        rest = iter(entities)
        while wanted := list(islice(rest, _READ_AT_ONCE)):
            nodes = await self._session.get_many([_path(each) for each in wanted], expected_bytes=256)
            found |= {each: configs_of(_path(each), node) for each, node in zip(wanted, nodes, strict=True)}
        return found

    async def write(self, entity: QuotaEntity, own: Mapping[str, str], version: int | None) -> None:
        """Write all settings of an entity and the notification, both or none.

        As in Kafka the broker that is asked writes, not the controller. The check of the version keeps what
        others wrote meanwhile.

        Args:
            entity: The entity.
            own: The text of each setting.
            version: The expected version of the node; None if it must not exist.

        Raises:
            BadVersion, NodeExists, NoNode: The node does not have that version.
        """
        path, body = _path(entity), settings.encode_config(own)
        if version is None:
            await create_missing(self._session, paths.ancestors(path)[-1])
        node = Create(path, body) if version is None else Set(path, body, version)
        note = settings.encode_config_change(entity_path(entity))
        await self._session.multi(node, Create(paths.CONFIG_CHANGE_PREFIX, note, sequential=True))


def _path(entity: QuotaEntity) -> str:
    return f"/config/{entity_path(entity)}"
