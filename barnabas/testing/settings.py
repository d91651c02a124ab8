"""The ACLs and settings of a test's cluster: a snapshot, and the restoration of what a test changed.

Settings are the dynamic configurations of topics and brokers, and those of users, clients and addresses:
quotas and SCRAM credentials. All of them are in ZooKeeper, so that a cluster whose ACLs lock everybody out
can be restored, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from barnabas.cluster.model.acls import AccessControlEntry, ResourcePattern
from barnabas.cluster.model.client_quotas import QuotaEntity
from barnabas.cluster.model.commands.configs import ConfigResource, ConfigResourceType
from barnabas.cluster.zk.client.errors import NoNode
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.stores.acls import AclStore, StoredAcls
from barnabas.cluster.zk.stores.configs import ConfigStore, ResourceConfigs
from barnabas.cluster.zk.stores.quotas import QuotaStore

K = TypeVar("K")
S = TypeVar("S", ResourceConfigs, StoredAcls)

_NO_SETTINGS = ResourceConfigs({}, None)
_NO_ACLS = StoredAcls(frozenset(), None)


@dataclass(frozen=True, slots=True)
class Settings:
    """The ACLs and settings at a time. They hold credentials, so ``repr`` shows none.

    Attributes:
        configs: The settings of topics and brokers.
        quotas: The settings of users, clients and addresses.
        acls: The ACLs of each resource.
    """

    configs: Mapping[ConfigResource, ResourceConfigs] = field(default_factory=dict, repr=False)
    quotas: Mapping[QuotaEntity, ResourceConfigs] = field(default_factory=dict, repr=False)
    acls: Mapping[ResourcePattern, StoredAcls] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Undo:
    """The writes that restore a snapshot: the content of each node, and the version that it replaces."""

    configs: Mapping[ConfigResource, tuple[Mapping[str, str], int | None]]
    quotas: Mapping[QuotaEntity, tuple[Mapping[str, str], int | None]]
    acls: Mapping[ResourcePattern, tuple[frozenset[AccessControlEntry], int | None]]


def undo(then: Settings, now: Settings, topics: Iterable[str]) -> Undo:
    """Return the writes that lead from ``now`` back to ``then``. Pure.

    Args:
        then: The snapshot.
        now: The present settings.
        topics: The topics that exist; the settings of others are not written.
    """
    existing = set(topics)
    configs = {
        resource: (own, version)
        for resource, own, version in _settings(then.configs, now.configs)
        if resource.type is not ConfigResourceType.TOPIC or resource.name in existing
    }
    quotas = {entity: (own, version) for entity, own, version in _settings(then.quotas, now.quotas)}
    acls = {
        resource: (wanted.entries, found.version)
        for resource, wanted, found in _pairs(then.acls, now.acls, _NO_ACLS)
        if wanted.entries is not None and wanted.entries != found.entries
    }
    return Undo(configs, quotas, acls)


def _settings(
    then: Mapping[K, ResourceConfigs], now: Mapping[K, ResourceConfigs]
) -> Iterable[tuple[K, Mapping[str, str], int | None]]:
    for key, wanted, found in _pairs(then, now, _NO_SETTINGS):
        if wanted.settings is not None and wanted.settings != found.settings:
            yield key, wanted.settings, found.version


def _pairs(then: Mapping[K, S], now: Mapping[K, S], missing: S) -> Iterable[tuple[K, S, S]]:
    for key in dict.fromkeys([*then, *now]):
        yield key, then.get(key, missing), now.get(key, missing)


async def read(session: ZooKeeperSession) -> Settings:
    """Read the present ACLs and settings.

    Raises:
        ZooKeeperError: ZooKeeper does not answer.
    """
    resources = [
        *(ConfigResource(ConfigResourceType.TOPIC, name) for name in await _children(session, "topics")),
        *(
            ConfigResource(ConfigResourceType.BROKER, "" if name == paths.DEFAULT_ENTITY else name)
            for name in await _children(session, "brokers")
        ),
    ]
    store = AclStore(session)
    try:
        protected = await store.resources()
    except NoNode:  # no broker of this cluster has had an authorizer
        protected = []
    return Settings(
        await ConfigStore(session).read(resources),
        await QuotaStore(session).read_all(),
        await store.read(protected),
    )


async def write(session: ZooKeeperSession, changes: Undo) -> None:
    """Write what ``undo`` returned, and notify the brokers.

    Raises:
        ZooKeeperError: ZooKeeper does not answer, or a node changed meanwhile.
    """
    for resource, (own, version) in changes.configs.items():
        await ConfigStore(session).write(resource, own, version, None)
    for entity, (own, version) in changes.quotas.items():
        await QuotaStore(session).write(entity, own, version)
    for pattern, (entries, version) in changes.acls.items():
        await AclStore(session).write(pattern, entries, version)


async def _children(session: ZooKeeperSession, kind: str) -> list[str]:
    try:
        return sorted(await session.get_children(f"/config/{kind}"))
    except NoNode:
        return []
