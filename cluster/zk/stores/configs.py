"""The store of ``/config/<type>/<name>`` (settings) and ``/config/changes`` (notifications of changes).

Settings are written before the notification; a broker that gets the notification reads the current settings.
Sources: ``AdminZkClient.changeEntityConfig`` and ``ZkNodeChangeNotificationListener`` of release 2.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from barnabas.cluster.model.client_quotas import QuotaEntity
from barnabas.cluster.model.commands.configs import ConfigResource, ConfigResourceType
from barnabas.cluster.zk.client.operations import Create, Node, Set
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import paths, settings
from barnabas.cluster.zk.schema.body import ZnodeDecodeError, int32_of
from barnabas.cluster.zk.schema.quotas import entity_at
from barnabas.cluster.zk.stores.fence import Fence, write
from barnabas.cluster.zk.stores.trees import delete_whole

_ENTITY_TYPES = {ConfigResourceType.TOPIC: "topics", ConfigResourceType.BROKER: "brokers"}
_RESOURCE_TYPES = {name: type_ for type_, name in _ENTITY_TYPES.items()}


@dataclass(frozen=True, slots=True)
class ResourceConfigs:
    """The settings of a resource.

    Attributes:
        settings: The text of each setting; None if the node cannot be decoded.
        version: The data version of the node; None if it does not exist.
        error: The reason why the node cannot be decoded; None if it can.
    """

    settings: Mapping[str, str] | None
    version: int | None
    error: ZnodeDecodeError | None = None


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """A notification in ``/config/changes``.

    Attributes:
        name: The node's name, such as ``config_change_0000000007``.
        number: The number in the name.
        resource: The topic or broker whose settings changed; None for others, and if the node cannot be
            decoded.
        entity: The user, client or address whose settings changed; None for others.
        created_ms: The creation time by ZooKeeper's clock, in milliseconds since 1970.
        error: The reason why the node cannot be decoded; None if it can.
    """

    name: str
    number: int
    resource: ConfigResource | None
    created_ms: int
    error: ZnodeDecodeError | None = None
    entity: QuotaEntity | None = None


class ConfigStore:
    """The store of settings of topics and brokers, and of the notifications of their changes."""

    def __init__(self, session: ZooKeeperSession) -> None:
        self._session = session

    async def read(self, resources: Iterable[ConfigResource]) -> dict[ConfigResource, ResourceConfigs]:
        """Read the settings of resources."""
        wanted = list(resources)
        nodes = await self._session.get_many([_path(each) for each in wanted], expected_bytes=512)
        return {each: configs_of(_path(each), node) for each, node in zip(wanted, nodes, strict=True)}

    async def write(
        self, resource: ConfigResource, own: Mapping[str, str], version: int | None, fence: Fence | None
    ) -> None:
        """Write all settings of a resource and the notification, both or none.

        Args:
            resource: The resource.
            own: The text of each setting.
            version: The expected version of the node; None if it must not exist.
            fence: The controller's fence; None for other writers.

        Raises:
            BadVersion, NodeExists, NoNode: The node does not have that version.
            ControllerMoved: The fence refused.
        """
        path, body = _path(resource), settings.encode_config(own)
        node = Create(path, body) if version is None else Set(path, body, version)
        note = settings.encode_config_change(path.removeprefix("/config/"))
        await write(self._session, fence, node, Create(paths.CONFIG_CHANGE_PREFIX, note, sequential=True))

    async def changes(self, *, watch: bool = False) -> list[ConfigChange]:
        """Return all notifications, the oldest first; the watch on ``/config/changes`` reports new ones."""
        prefix = paths.CONFIG_CHANGE_PREFIX.rpartition("/")[2]
        children = await self._session.get_children(paths.CONFIG_CHANGES, watch=watch)
        numbers = {
            name: number
            for name in children
            if name.startswith(prefix) and (number := int32_of(name.removeprefix(prefix))) is not None
        }
        names = sorted(numbers, key=numbers.__getitem__)
        whole = [f"{paths.CONFIG_CHANGES}/{name}" for name in names]
        nodes = await self._session.get_many(whole, expected_bytes=128)
        return [
            _change(path, numbers[name], node)
            for name, path, node in zip(names, whole, nodes, strict=True)
            if node is not None
        ]

    async def delete_change(self, name: str) -> None:
        """Delete a notification with its children, if it exists."""
        await delete_whole(self._session, [f"{paths.CONFIG_CHANGES}/{name}"], None)


def configs_of(path: str, node: Node | None) -> ResourceConfigs:
    """Decode the settings in a node; there are none without it."""
    if node is None:
        return ResourceConfigs({}, None)
    try:
        return ResourceConfigs(settings.decode_config(path, node.data), node.stat.version)
    except ZnodeDecodeError as error:
        return ResourceConfigs(None, node.stat.version, error)


def _path(resource: ConfigResource) -> str:
    name = paths.DEFAULT_ENTITY if resource.is_default else resource.name
    return paths.config(_ENTITY_TYPES[resource.type], name)


def _change(path: str, number: int, node: Node) -> ConfigChange:
    resource, unreadable, entity = None, None, None
    try:
        changed = settings.decode_config_change(path, node.data)
        resource, entity = _resource(changed), entity_at(changed)
    except ZnodeDecodeError as error:
        unreadable = error
    return ConfigChange(path.rpartition("/")[2], number, resource, node.stat.ctime_ms, unreadable, entity)


def _resource(entity_path: str) -> ConfigResource | None:
    kind, _, name = entity_path.partition("/")
    type_ = _RESOURCE_TYPES.get(kind)
    if type_ is None or not name:
        return None
    return ConfigResource(type_, "" if kind == "brokers" and name == paths.DEFAULT_ENTITY else name)
