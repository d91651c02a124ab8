from __future__ import annotations

from typing import Any

import pytest

from barnabas.cluster.model.client_quotas import QuotaEntity
from barnabas.cluster.zk.client.errors import BadVersion, NodeExists
from barnabas.cluster.zk.store import ZooKeeperStore
from barnabas.cluster.zk.stores import quotas as store_quotas
from barnabas.cluster.zk.stores.configs import ResourceConfigs
from barnabas.cluster.zk.stores.quotas import QuotaStore

ENTITIES = {
    QuotaEntity("alice"): "users/alice",
    QuotaEntity("alice", "an app*~"): "users/alice/clients/an%20app%2A%7E",
    QuotaEntity("", ""): "users/<default>/clients/<default>",
    QuotaEntity(None, "<default>"): "clients/%3Cdefault%3E",
    QuotaEntity(None, ""): "clients/<default>",
    QuotaEntity(None, None, "10.0.0.1"): "ips/10.0.0.1",
}
OWN = {"producer_byte_rate": "5"}


@pytest.fixture
async def stores(zk: Any) -> ZooKeeperStore:
    stores = ZooKeeperStore(zk)
    await stores.cluster.create_persistent_paths()
    return stores


@pytest.fixture
def quotas(stores: ZooKeeperStore) -> QuotaStore:
    return stores.quotas


@pytest.mark.parametrize(("entity", "path"), ENTITIES.items())
async def test_quotas_are_written_with_their_note(
    stores: ZooKeeperStore, quotas: QuotaStore, zk: Any, entity: QuotaEntity, path: str
) -> None:
    await quotas.write(entity, OWN, None)
    node = await zk.get(f"/config/{path}")
    assert node.data == b'{"version":1,"config":{"producer_byte_rate":"5"}}'
    (change,) = await stores.configs.changes()
    assert (change.resource, change.entity, change.error) == (None, entity, None)
    assert await quotas.read([entity]) == {entity: ResourceConfigs(OWN, 0)}


async def test_all_are_read(quotas: QuotaStore) -> None:
    assert await quotas.read_all() == {}
    for entity in ENTITIES:
        if entity != QuotaEntity("alice"):
            await quotas.write(entity, OWN, None)
    read = await quotas.read_all()
    # The parents of a user's clients are there, and set nothing.
    nothing = {QuotaEntity("alice"), QuotaEntity("")}
    assert {entity: found.settings for entity, found in read.items()} == {
        entity: {} if entity in nothing else OWN for entity in {*ENTITIES, *nothing}
    }


async def test_what_others_wrote_is_not_overwritten(quotas: QuotaStore, zk: Any) -> None:
    alice = QuotaEntity("alice")
    await quotas.write(alice, OWN, None)
    with pytest.raises(NodeExists):
        await quotas.write(alice, {}, None)
    with pytest.raises(BadVersion):
        await quotas.write(alice, {}, 7)
    await quotas.write(alice, {}, 0)
    await zk.set("/config/users/alice", b"what")
    assert (await quotas.read([alice]))[alice].error is not None


async def test_without_the_parents_nobody_has_a_quota(zk: Any) -> None:
    assert await QuotaStore(zk).read_all() == {}


async def test_many_are_read_in_portions(
    quotas: QuotaStore, zk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """100,000 entities took 200 ms of one turn of the event loop."""
    monkeypatch.setattr(store_quotas, "_READ_AT_ONCE", 2)
    portions: list[int] = []
    get_many = zk.get_many

    async def counted(paths: Any, **options: Any) -> Any:
        portions.append(len(paths))
        return await get_many(paths, **options)

    monkeypatch.setattr(zk, "get_many", counted)
    await quotas.write(QuotaEntity("user-4"), OWN, None)
    entities = [QuotaEntity(f"user-{number}") for number in range(5)]
    read = await quotas.read(iter(entities))
    assert list(read) == entities
    assert read[entities[4]].settings == OWN
    assert portions == [2, 2, 1]
