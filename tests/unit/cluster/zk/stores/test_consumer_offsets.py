"""The store of offsets in ZooKeeper."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.zk.client.errors import InvalidPath, NoNode
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.store import ZooKeeperStore

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
PATH = "/consumers/g/offsets/t/0"


@pytest.fixture
async def stores(zk: Any) -> ZooKeeperStore:
    return ZooKeeperStore(zk)


async def test_an_offset_is_kept_as_kafka_keeps_it(stores: ZooKeeperStore, zk: Any) -> None:
    offsets = stores.consumer_offsets
    assert await offsets.read("g", [T0, T1]) == [None, None]
    await offsets.write("g", T0, Offset(5))
    assert (await zk.get(PATH)).data == b"5"
    await offsets.write("g", T0, Offset(-1))
    await offsets.write("g", T1, Offset(2**63 - 1))
    assert await offsets.read("g", [T1, T0]) == [2**63 - 1, -1]


async def test_a_group_that_no_node_can_have_is_refused(stores: ZooKeeperStore, zk: Any) -> None:
    for group_id in ("", "a/../b", "a//b"):
        with pytest.raises(InvalidPath):
            await stores.consumer_offsets.write(group_id, T0, Offset(5))
        assert await stores.consumer_offsets.read(group_id, [T0]) == [None]
    with pytest.raises(NoNode):
        await zk.get_children("/consumers")


@pytest.mark.parametrize("data", [b"", b"x", b"1.5", b"--1", "\u0663".encode(), b"9" * 21])
async def test_anything_but_an_integer_is_told(stores: ZooKeeperStore, zk: Any, data: bytes) -> None:
    await stores.consumer_offsets.write("g", T0, Offset(5))
    await zk.set(PATH, data)
    (found,) = await stores.consumer_offsets.read("g", [T0])
    assert isinstance(found, ZnodeDecodeError)
    assert found.path == PATH


async def test_a_node_that_another_broker_has_just_created_is_set(
    stores: ZooKeeperStore, zk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = zk.create

    async def second(path: str, *rest: Any) -> Any:
        if path == PATH:
            await create(path, b"4")
        return await create(path, *rest)

    monkeypatch.setattr(zk, "create", second)
    await stores.consumer_offsets.write("g", T0, Offset(5))
    assert await stores.consumer_offsets.read("g", [T0]) == [5]
