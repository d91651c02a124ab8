from __future__ import annotations

from typing import Any

import pytest

from barnabas.cluster.model.commands.configs import ConfigResource, ConfigResourceType
from barnabas.cluster.model.epochs import ControllerEpoch, EpochVersion
from barnabas.cluster.zk.client.errors import BadVersion, ControllerMoved, NodeExists
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.settings import encode_config_change
from barnabas.cluster.zk.store import ZooKeeperStore
from barnabas.cluster.zk.stores.configs import ConfigStore, ResourceConfigs
from barnabas.cluster.zk.stores.fence import Fence

FENCE = Fence(ControllerEpoch(0), EpochVersion(0))
TOPIC = ConfigResource(ConfigResourceType.TOPIC, "t")
BROKER = ConfigResource(ConfigResourceType.BROKER, "1")
ALL_BROKERS = ConfigResource(ConfigResourceType.BROKER, "")


@pytest.fixture
async def store(zk: Any) -> ConfigStore:
    await ZooKeeperStore(zk).cluster.create_persistent_paths()
    await zk.create("/controller_epoch", b"0")
    return ZooKeeperStore(zk).configs


async def test_settings_are_written_with_their_note(store: ConfigStore, zk: Any) -> None:
    await store.write(TOPIC, {"flush.ms": "9"}, None, FENCE)
    await store.write(ALL_BROKERS, {}, None, FENCE)
    assert await store.read([TOPIC, BROKER, ALL_BROKERS]) == {
        TOPIC: ResourceConfigs({"flush.ms": "9"}, 0),
        BROKER: ResourceConfigs({}, None),
        ALL_BROKERS: ResourceConfigs({}, 0),
    }
    assert (await zk.get("/config/brokers/<default>")).data == b'{"version":1,"config":{}}'
    changes = await store.changes(watch=True)
    assert [(each.number, each.resource) for each in changes] == [(0, TOPIC), (1, ALL_BROKERS)]
    assert zk.watched == [paths.CONFIG_CHANGES]


async def test_what_somebody_else_wrote_is_not_overwritten(store: ConfigStore) -> None:
    await store.write(TOPIC, {"flush.ms": "9"}, None, FENCE)
    with pytest.raises(NodeExists):
        await store.write(TOPIC, {}, None, FENCE)
    with pytest.raises(BadVersion):
        await store.write(TOPIC, {}, 7, FENCE)
    await store.write(TOPIC, {}, 0, FENCE)
    assert len(await store.changes()) == 2


async def test_a_former_controller_writes_nothing(store: ConfigStore, zk: Any) -> None:
    await zk.set("/controller_epoch", b"1")
    with pytest.raises(ControllerMoved):
        await store.write(TOPIC, {}, None, FENCE)
    assert await store.changes() == []


async def test_unreadable_settings_are_reported_as_such(store: ConfigStore, zk: Any) -> None:
    await zk.create("/config/topics/t", b"?")
    found = (await store.read([TOPIC]))[TOPIC]
    assert (found.settings, found.version) == (None, 0)
    assert "/config/topics/t" in str(found.error)


@pytest.mark.parametrize(
    ("body", "resource"),
    [
        (encode_config_change("topics/a"), ConfigResource(ConfigResourceType.TOPIC, "a")),
        (encode_config_change("brokers/<default>"), ALL_BROKERS),
        (b'{"version":1,"entity_type":"brokers","entity_name":"1"}', BROKER),
        (encode_config_change("users/u/clients/c"), None),
        (encode_config_change("topics"), None),
        (b"?", None),
    ],
)
async def test_what_a_note_says(store: ConfigStore, zk: Any, body: bytes, resource: Any) -> None:
    await zk.create(f"{paths.CONFIG_CHANGE_PREFIX}0000000007", body)
    await zk.create(f"{paths.CONFIG_CHANGES}/something_else", b"")
    (change,) = await store.changes()
    assert (change.name, change.number, change.resource) == ("config_change_0000000007", 7, resource)
    assert (change.error is not None) == (body == b"?")


async def test_notes_come_by_number(store: ConfigStore, zk: Any) -> None:
    await zk.create(f"{paths.CONFIG_CHANGE_PREFIX}{'9' * 5000}", encode_config_change("topics/a"))
    for number in (2_000_000_001, 10, 9):
        await zk.create(f"{paths.CONFIG_CHANGE_PREFIX}{number:010d}", encode_config_change("topics/a"))
    assert [each.number for each in await store.changes()] == [9, 10, 2_000_000_001]


async def test_a_note_is_deleted_once(store: ConfigStore, zk: Any) -> None:
    await store.write(TOPIC, {}, None, FENCE)
    (change,) = await store.changes()
    await zk.create(f"{paths.CONFIG_CHANGES}/{change.name}/child")
    await store.delete_change(change.name)
    await store.delete_change(change.name)
    assert await store.changes() == []
