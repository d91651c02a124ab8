from __future__ import annotations

from typing import Any

import pytest

from barnabas.cluster.model.epochs import ControllerEpoch, EpochVersion
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr
from barnabas.cluster.zk.client.errors import ControllerMoved
from barnabas.cluster.zk.stores.cluster import ClusterStore
from barnabas.cluster.zk.stores.deletions import DeletionStore
from barnabas.cluster.zk.stores.fence import Fence
from barnabas.cluster.zk.stores.partitions import PartitionStore
from barnabas.cluster.zk.stores.topics import TopicStore

FENCE, STALE = Fence(ControllerEpoch(0), EpochVersion(0)), Fence(ControllerEpoch(0), EpochVersion(8))
ONE = BrokerId(1)


@pytest.fixture
async def store(zk: Any) -> DeletionStore:
    await ClusterStore(zk).create_persistent_paths()
    await zk.create("/controller_epoch", b"0")
    return DeletionStore(zk)


async def create(zk: Any, name: str, partitions: int = 3) -> None:
    await TopicStore(zk).create(name, {n: Assignment((ONE,)) for n in range(partitions)}, {}, FENCE)
    states = {TopicPartition(name, n): LeaderAndIsr.initial(ONE, (ONE,)) for n in range(partitions)}
    await PartitionStore(zk).create(states, FENCE)


async def test_marking_and_unmarking_may_be_done_twice(store: DeletionStore, zk: Any) -> None:
    await store.mark(["t", "u"], FENCE)
    await store.mark(["t"], FENCE)
    assert await store.marked(watch=True) == {"t", "u"}
    await store.unmark(["t"], FENCE)
    await store.unmark(["t"], FENCE)
    assert await store.marked() == {"u"}
    assert zk.watched == ["/admin/delete_topics"]


async def test_a_topic_goes_with_all_below_its_settings_and_its_mark(store: DeletionStore, zk: Any) -> None:
    await create(zk, "other")
    before = dict(zk.tree.nodes)
    await create(zk, "t")
    await store.mark(["t"], FENCE)
    await store.delete_topic("t", FENCE)
    assert zk.tree.nodes == before


async def test_what_a_person_put_below_a_topic_goes_too(store: DeletionStore, zk: Any) -> None:
    await create(zk, "t")
    await zk.create("/brokers/topics/t/partitions/1/note", b"by hand")
    await zk.create("/brokers/topics/t/note", b"by hand")
    await zk.delete("/brokers/topics/t/partitions/2/state")
    await store.delete_topic("t", FENCE)
    assert not [path for path in zk.tree.nodes if path.startswith("/brokers/topics/t")]


async def test_a_deletion_that_was_begun_is_finished(store: DeletionStore, zk: Any) -> None:
    await store.mark(["t"], FENCE)
    await store.delete_topic("t", FENCE)
    assert await store.marked() == set()


async def test_the_fence_keeps_a_topic(store: DeletionStore, zk: Any) -> None:
    await create(zk, "t")
    before = dict(zk.tree.nodes)
    with pytest.raises(ControllerMoved):
        await store.delete_topic("t", STALE)
    with pytest.raises(ControllerMoved):
        await store.mark(["t"], STALE)
    assert zk.tree.nodes == before


async def test_a_mark_goes_with_what_a_person_put_below_it(store: DeletionStore, zk: Any) -> None:
    await store.mark(["t"], FENCE)
    await zk.create("/admin/delete_topics/t/child")
    await store.unmark(["t"], FENCE)
    assert await store.marked() == set()
