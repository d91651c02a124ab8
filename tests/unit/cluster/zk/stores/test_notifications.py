from __future__ import annotations

from typing import Any

import pytest

from barnabas.cluster.model.epochs import ControllerEpoch, EpochVersion
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.zk.client.errors import ControllerMoved
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.admin import LogDirEvent
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.store import ZooKeeperStore
from barnabas.cluster.zk.stores.fence import Fence

FENCE = Fence(ControllerEpoch(0), EpochVersion(0))


@pytest.fixture
async def store(zk: Any) -> ZooKeeperStore:
    await ZooKeeperStore(zk).cluster.create_persistent_paths()
    await zk.create("/controller_epoch", b"0")
    return ZooKeeperStore(zk)


async def test_notes_are_pending_until_they_are_deleted(store: ZooKeeperStore, zk: Any) -> None:
    queue = store.isr_changes
    assert queue.path == "/isr_change_notification"
    first = await queue.add([TopicPartition("t", 0)])
    second = await queue.add(iter([TopicPartition("t", 1), TopicPartition("u", 0)]))
    assert (first, second) == ("isr_change_0000000000", "isr_change_0000000001")
    assert await queue.pending(watch=True) == {
        first: (TopicPartition("t", 0),),
        second: (TopicPartition("t", 1), TopicPartition("u", 0)),
    }
    assert zk.watched == [queue.path]
    await queue.delete([first], FENCE)
    await queue.delete([first], FENCE)
    assert list(await queue.pending()) == [second]


async def test_an_unreadable_note_is_pending_as_its_error(store: ZooKeeperStore, zk: Any) -> None:
    await zk.create(f"{paths.ISR_CHANGE_PREFIX}x", b"?")
    (error,) = (await store.isr_changes.pending()).values()
    assert isinstance(error, ZnodeDecodeError)
    assert error.path == f"{paths.ISR_CHANGE_PREFIX}x"


async def test_the_other_queue(store: ZooKeeperStore) -> None:
    name = await store.log_dir_events.add(LogDirEvent(BrokerId(3)))
    assert await store.log_dir_events.pending() == {name: LogDirEvent(BrokerId(3))}


async def test_only_the_controller_deletes(store: ZooKeeperStore, zk: Any) -> None:
    name = await store.isr_changes.add([])
    await zk.set("/controller_epoch", b"1")
    with pytest.raises(ControllerMoved):
        await store.isr_changes.delete([name], FENCE)


async def test_a_note_goes_with_what_a_person_put_below_it(store: ZooKeeperStore, zk: Any) -> None:
    other = await store.isr_changes.add([])
    await zk.create(f"{paths.ISR_CHANGE_PREFIX}x")
    await zk.create(f"{paths.ISR_CHANGE_PREFIX}x/child")
    await store.isr_changes.delete(["isr_change_x", other], FENCE)
    assert await store.isr_changes.pending() == {}
