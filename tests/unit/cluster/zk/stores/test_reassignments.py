from __future__ import annotations

from typing import Any

import pytest

from barnabas.cluster.model.epochs import ControllerEpoch, EpochVersion
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.zk.client.errors import BadVersion, ControllerMoved, NoNode
from barnabas.cluster.zk.schema import admin
from barnabas.cluster.zk.stores.fence import Fence
from barnabas.cluster.zk.stores.reassignments import ReassignmentStore

PATH = "/admin/reassign_partitions"
FENCE = Fence(ControllerEpoch(4), EpochVersion(0))
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
ONE, TWO = BrokerId(1), BrokerId(2)


@pytest.fixture
async def store(zk: Any) -> ReassignmentStore:
    for path in ("/controller_epoch", "/admin"):
        await zk.create(path)
    return ReassignmentStore(zk)


async def test_a_node_that_is_missing_is_watched_for(store: ReassignmentStore, zk: Any) -> None:
    assert await store.read(watch=True) is None
    assert zk.watched == [PATH]


async def test_what_is_asked_for_is_left_until_it_is_done(store: ReassignmentStore, zk: Any) -> None:
    await zk.create(PATH, admin.encode_reassignment({T0: (ONE, TWO), T1: (TWO,)}))
    assert await store.read() == ({T0: (ONE, TWO), T1: (TWO,)}, 0)
    await store.leave({T1: (TWO,)}, 0, FENCE)
    assert await store.read() == ({T1: (TWO,)}, 1)
    with pytest.raises(BadVersion):
        await store.leave({}, 0, FENCE)
    await store.leave({}, 1, FENCE)
    assert await store.read() is None
    with pytest.raises(NoNode):
        await store.leave({}, 1, FENCE)


async def test_what_cannot_be_read_asks_for_nothing(store: ReassignmentStore, zk: Any) -> None:
    await zk.create(PATH, b"nonsense")
    assert await store.read() == ({}, 0)


async def test_a_former_controller_removes_nothing(store: ReassignmentStore, zk: Any) -> None:
    await zk.create(PATH, admin.encode_reassignment({T0: (ONE,)}))
    await zk.set("/controller_epoch", b"5")
    with pytest.raises(ControllerMoved):
        await store.leave({}, 0, FENCE)


async def test_the_node_goes_with_what_a_person_put_below_it(store: ReassignmentStore, zk: Any) -> None:
    await zk.create(PATH, admin.encode_reassignment({T0: (ONE,)}))
    await zk.create(f"{PATH}/child")
    with pytest.raises(BadVersion):
        await store.leave({}, 7, FENCE)
    await store.leave({}, 0, FENCE)
    assert await store.read() is None
