"""The store of ACLs, ``/kafka-acl`` and ``/kafka-acl-extended``, and of the notifications of their changes.

Source: ``KafkaZkClient`` (``createAclPaths``, ``getVersionedAclsForResource``,
``conditionalSetAclsForResource``) and ``ZkNodeChangeNotificationListener`` of Kafka 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TypeVar

from barnabas.cluster.model.acls import (
    RESOURCE_TYPES,
    AccessControlEntry,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.cluster.zk.client.operations import Create, Delete, Node, Operation, Set
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import acls
from barnabas.cluster.zk.schema.body import ZnodeDecodeError, int32_of
from barnabas.cluster.zk.stores.trees import create_missing, delete_whole

OLDEST = 10
"""The number of notifications of each kind that are read each time, because they may have expired."""

_NAMES_AT_ONCE = 2_000
"""The most names of resources or notifications that are sorted on the event loop; 100,000 take 0.2 s."""

_CHANGES_AT_ONCE = 500
"""The most notifications that are read, and so decoded, in one go."""

_ENCODED_AT_ONCE = 1_000
_DECODED_AT_ONCE = 100_000
"""The most ACLs that are encoded, and bytes that are decoded, on the event loop; 10,000 ACLs take 30 ms."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoredAcls:
    """The ACLs of a resource.

    Attributes:
        entries: The ACLs; None if the node cannot be decoded.
        version: The data version of the node; None if it does not exist.
        error: The reason why the node cannot be decoded; None if it can.
    """

    entries: frozenset[AccessControlEntry] | None
    version: int | None
    error: ZnodeDecodeError | None = None


@dataclass(frozen=True, slots=True)
class AclChange:
    """A notification that the ACLs of a resource have changed.

    Attributes:
        path: The node.
        number: The number in the node's name.
        pattern: The type of patterns that its parent has notifications of.
        resource: The resource; None if the node cannot be decoded.
        created_ms: The creation time by ZooKeeper's clock, in milliseconds since 1970.
        error: The reason why the node cannot be decoded; None if it can.
    """

    path: str
    number: int
    pattern: PatternType
    resource: ResourcePattern | None
    created_ms: int
    error: ZnodeDecodeError | None = None


class AclStore:
    """The store of ACLs and of the notifications of their changes."""

    def __init__(self, session: ZooKeeperSession) -> None:
        self._session = session

    async def create_paths(self) -> None:
        """Create the parents of all ACLs and notifications, as each broker with an authorizer does."""
        await create_missing(self._session, *acls.ACL_PATHS)

    async def resources(self) -> list[ResourcePattern]:
        """Return every resource that has ACLs."""
        found: list[ResourcePattern] = []
        for pattern, type_ in product(acls.ACL_CHANGES, RESOURCE_TYPES):
            names = await self._session.get_children(acls.acl_type(type_, pattern))
            found += await _on_thread_if_many(names, partial(_resources, type_, pattern))
        return found

    async def read(self, resources: Iterable[ResourcePattern]) -> dict[ResourcePattern, StoredAcls]:
        """Read the ACLs of some resources."""
        wanted = list(resources)
        nodes = await self._session.get_many([acls.acl_resource(each) for each in wanted], expected_bytes=512)

        def decoded() -> dict[ResourcePattern, StoredAcls]:
            return {
                resource: _stored(acls.acl_resource(resource), node)
                for resource, node in zip(wanted, nodes, strict=True)
            }

        size = sum(len(node.data) for node in nodes if node is not None)
        return decoded() if size <= _DECODED_AT_ONCE else await asyncio.to_thread(decoded)

    async def write(
        self, resource: ResourcePattern, entries: frozenset[AccessControlEntry], version: int | None
    ) -> int | None:
        """Write all ACLs of a resource and the notification, both or none; without ACLs, delete the node.

        Args:
            resource: The resource.
            entries: Its ACLs.
            version: The expected version of the node; None if it must not exist.

        Returns:
            The new version of the node; None if it was deleted.

        Raises:
            BadVersion, NodeExists, NoNode: The node does not have that version.
        """
        path = acls.acl_resource(resource)
        if len(entries) > _ENCODED_AT_ONCE:
            body = await asyncio.to_thread(acls.encode_acls, entries)
        else:
            body = acls.encode_acls(entries)
        written: Operation
        if version is None:
            written = Create(path, body)
        elif entries:
            written = Set(path, body, version)
        else:
            written = Delete(path, version)
        prefix = f"{acls.ACL_CHANGES[resource.pattern]}/{acls.ACL_CHANGE_PREFIX}"
        note = Create(prefix, acls.encode_acl_change(resource), sequential=True)
        await self._session.multi(written, note)
        if version is None:
            return 0
        return version + 1 if entries else None

    async def changes(self, after: Mapping[PatternType, int], *, watch: bool = False) -> list[AclChange]:
        """Return new notifications and the oldest ones, in the order of their numbers for each kind.

        Args:
            after: The number after which notifications are new, for each kind. Of the others `OLDEST` are
                returned, which may have expired; with all of them, 10,000 changes in a row were read again
                at each change.
            watch: Whether watches report further ones.
        """
        found: list[AclChange] = []
        for pattern, parent in acls.ACL_CHANGES.items():
            children = await self._session.get_children(parent, watch=watch)
            wanted = await _on_thread_if_many(children, partial(_notifications, after[pattern]))
            for start in range(0, len(wanted), _CHANGES_AT_ONCE):
                some = wanted[start : start + _CHANGES_AT_ONCE]
                whole = [f"{parent}/{name}" for _, name in some]
                nodes = await self._session.get_many(whole, expected_bytes=128)
                found += [
                    _change(path, number, pattern, node)
                    for path, (number, _), node in zip(whole, some, nodes, strict=True)
                    if node is not None
                ]
        return found

    async def delete_change(self, path: str) -> None:
        """Delete a notification, if it exists."""
        await delete_whole(self._session, [path], None)


async def _on_thread_if_many(names: list[str], work: Callable[[list[str]], list[T]]) -> list[T]:
    return work(names) if len(names) <= _NAMES_AT_ONCE else await asyncio.to_thread(work, names)


def _resources(type_: ResourceType, pattern: PatternType, names: list[str]) -> list[ResourcePattern]:
    return [ResourcePattern(type_, name, pattern) for name in sorted(names)]


def _notifications(after: int, names: list[str]) -> list[tuple[int, str]]:
    """Return the numbers and names of notifications that are new or among the oldest, in order."""
    in_order = sorted(
        (number, name)
        for name in names
        if (number := int32_of(name.removeprefix(acls.ACL_CHANGE_PREFIX))) is not None
    )
    return [*in_order[:OLDEST], *(each for each in in_order[OLDEST:] if each[0] > after)]


def _stored(path: str, node: Node | None) -> StoredAcls:
    if node is None:
        return StoredAcls(frozenset(), None)
    try:
        return StoredAcls(acls.decode_acls(path, node.data), node.stat.version)
    except ZnodeDecodeError as error:
        return StoredAcls(None, node.stat.version, error)


def _change(path: str, number: int, pattern: PatternType, node: Node) -> AclChange:
    try:
        resource = acls.decode_acl_change(path, node.data, pattern)
    except ZnodeDecodeError as error:
        return AclChange(path, number, pattern, None, node.stat.ctime_ms, error)
    return AclChange(path, number, pattern, resource, node.stat.ctime_ms)
