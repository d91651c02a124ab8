from __future__ import annotations

from typing import Any

import pytest

from barnabas.cluster.model.epochs import ControllerEpoch, EpochVersion
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.zk.client.errors import ControllerMoved
from barnabas.cluster.zk.schema import admin, paths
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.store import ZooKeeperStore
from barnabas.cluster.zk.stores.elections import ElectionStore
from barnabas.cluster.zk.stores.fence import Fence

FENCE = Fence(ControllerEpoch(0), EpochVersion(0))
PATH = paths.PREFERRED_REPLICA_ELECTION


@pytest.fixture
async def store(zk: Any) -> ElectionStore:
    await ZooKeeperStore(zk).cluster.create_persistent_paths()
    await zk.create("/controller_epoch", b"0")
    return ZooKeeperStore(zk).elections


async def test_nothing_is_asked_for_until_somebody_asks(store: ElectionStore, zk: Any) -> None:
    assert await store.preferred(watch=True) is None
    assert zk.watched == [PATH]
    await zk.create(PATH, admin.encode_partitions([TopicPartition("t", 0), TopicPartition("u", 1)]))
    assert await store.preferred() == (TopicPartition("t", 0), TopicPartition("u", 1))
    await store.delete(FENCE)
    await store.delete(FENCE)
    assert await store.preferred() is None


async def test_what_cannot_be_read_is_said_to_be_so(store: ElectionStore, zk: Any) -> None:
    await zk.create(PATH, b"all of them, please")
    with pytest.raises(ZnodeDecodeError, match="preferred_replica_election"):
        await store.preferred()


async def test_a_controller_that_was_replaced_deletes_nothing(store: ElectionStore, zk: Any) -> None:
    await zk.create(PATH, admin.encode_partitions([]))
    with pytest.raises(ControllerMoved):
        await store.delete(Fence(ControllerEpoch(0), EpochVersion(7)))
    assert await store.preferred() == ()


async def test_the_request_goes_with_what_a_person_put_below_it(store: ElectionStore, zk: Any) -> None:
    await zk.create(PATH, admin.encode_partitions([]))
    await zk.create(f"{PATH}/child")
    await store.delete(FENCE)
    assert await store.preferred() is None
