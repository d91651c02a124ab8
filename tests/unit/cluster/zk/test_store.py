from __future__ import annotations

from typing import Any

from barnabas.cluster.zk.store import ZooKeeperStore


async def test_all_stores_speak_over_the_one_session(zk: Any) -> None:
    store = ZooKeeperStore(zk)
    assert store.session is zk
    await store.cluster.create_persistent_paths()
    assert await store.brokers.live() == {}
    assert (await store.controller.look()).claim is None
    assert await store.topics.names() == set()
    assert await store.partitions.read([]) == {}
    assert await store.reassignments.read() is None
    assert await store.isr_changes.pending() == {}
    assert await store.log_dir_events.pending() == {}
    assert store.isr_changes.path != store.log_dir_events.path
