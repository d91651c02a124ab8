from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.cluster.model.epochs import ControllerEpoch, EpochVersion
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.partition import Assignment
from barnabas.cluster.zk.client.errors import BadVersion, ControllerMoved, NodeExists
from barnabas.cluster.zk.client.operations import Node, Stat
from barnabas.cluster.zk.schema.topics import TopicAssignment
from barnabas.cluster.zk.stores import topics as store_topics
from barnabas.cluster.zk.stores.cluster import ClusterStore
from barnabas.cluster.zk.stores.fence import Fence
from barnabas.cluster.zk.stores.topics import TopicStore

FENCE = Fence(ControllerEpoch(0), EpochVersion(0))
PARTITIONS = {0: Assignment((BrokerId(1), BrokerId(2)))}
OTHER = {0: Assignment((BrokerId(2), BrokerId(1)))}


@pytest.fixture
async def store(zk: Any) -> TopicStore:
    await ClusterStore(zk).create_persistent_paths()
    await zk.create("/controller_epoch", b"0")
    return TopicStore(zk)


async def test_a_topic_and_its_settings(store: TopicStore, zk: Any) -> None:
    await store.create("t", PARTITIONS, {"k": "v"}, FENCE)
    assert await store.names(watch=True) == {"t"}
    czxid = zk.tree.nodes["/brokers/topics/t"].stat.czxid
    assert await store.read(["t", "u"], watch=True) == {"t": TopicAssignment(PARTITIONS, czxid=czxid)}
    assert (await store.configs(["t", "u"])).settings == {"t": {"k": "v"}}
    assert zk.watched == ["/brokers/topics", "/brokers/topics/t", "/brokers/topics/u"]
    assert zk.tree.nodes["/config/topics/t"].data == b'{"version":1,"config":{"k":"v"}}'


@pytest.mark.parametrize(("count", "is_on_thread"), [(1, False), (2_000, True)])
async def test_the_loop_neither_encodes_nor_decodes_a_topic_of_many_partitions(
    store: TopicStore, monkeypatch: pytest.MonkeyPatch, count: int, is_on_thread: bool
) -> None:
    """10,000 partitions took 60 to 80 ms in one turn of the controller's event loop."""
    threads = []

    def noted(work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            threads.append(threading.current_thread())
            return work(*arguments)

        return call

    for name in ("encode_topic", "decode_topic"):
        monkeypatch.setattr(store_topics.topics, name, noted(getattr(store_topics.topics, name)))
    partitions = dict.fromkeys(range(count), Assignment((BrokerId(1), BrokerId(2))))
    await store.create("t", partitions, {}, FENCE)
    standing = (await store.read(["t"]))["t"]
    assert standing.partitions == partitions
    await store.set_partitions("t", standing, FENCE)
    assert len(threads) == 3
    assert {thread is not threading.main_thread() for thread in threads} == {is_on_thread}


async def test_a_topic_that_is_there_stays_as_it_is(store: TopicStore) -> None:
    await store.create("t", PARTITIONS, {"k": "v"}, FENCE)
    with pytest.raises(NodeExists):
        await store.create("t", PARTITIONS, {"k": "w"}, FENCE)
    assert (await store.configs(["t"])).settings == {"t": {"k": "v"}}


async def test_settings_left_behind_are_replaced(store: TopicStore, zk: Any) -> None:
    await zk.create("/config/topics/t", b"")
    await store.create("t", PARTITIONS, {"k": "v"}, FENCE)
    assert (await store.configs(["t"])).settings == {"t": {"k": "v"}}


@pytest.mark.parametrize("left_behind", [False, True])
async def test_a_creation_whose_answer_was_lost_is_recognized(
    store: TopicStore, zk: Any, left_behind: bool
) -> None:
    if left_behind:
        await zk.create("/config/topics/t", b"")
    zk.lost_answers = 1
    await store.create("t", PARTITIONS, {}, FENCE)
    assert (await store.read(["t"]))["t"].partitions == PARTITIONS


async def test_a_topic_without_settings_is_there_too(store: TopicStore, zk: Any) -> None:
    await zk.create("/brokers/topics/t", b'{"version":2,"partitions":{}}')
    with pytest.raises(NodeExists, match="/brokers/topics/t exists already"):
        await store.create("t", PARTITIONS, {}, FENCE)


async def test_an_assignment_is_written_under_its_version(store: TopicStore) -> None:
    await store.create("t", PARTITIONS, {}, FENCE)
    read = (await store.read(["t"]))["t"]
    changed = TopicAssignment(OTHER, "id", read.version, read.czxid)
    written = await store.set_partitions("t", changed, FENCE)
    assert written == TopicAssignment(OTHER, "id", 1, read.czxid)
    assert (await store.read(["t"]))["t"] == written
    with pytest.raises(BadVersion):
        await store.set_partitions("t", read, FENCE)


async def test_a_tree_is_identified_by_its_creation_time(store: TopicStore, zk: Any) -> None:
    zk.tree.nodes["/brokers/topics"] = Node(b"", Stat(0, 8, 8, ctime_ms=1_700_000_000_000))
    assert await store.tree() == 1_700_000_000_000
    del zk.tree.nodes["/brokers/topics"]
    assert await store.tree() is None


async def test_the_fence_holds(store: TopicStore, zk: Any) -> None:
    await zk.set("/controller_epoch", b"1")
    with pytest.raises(ControllerMoved):
        await store.create("t", PARTITIONS, {}, FENCE)
    with pytest.raises(ControllerMoved):
        await store.set_partitions("t", TopicAssignment(), FENCE)
    await store.create("t", PARTITIONS, {}, None)


async def test_settings_that_cannot_be_read_do_not_keep_others(store: TopicStore, zk: Any) -> None:
    await store.create("t", PARTITIONS, {"k": "v"}, FENCE)
    for name, content in (("bad", b"garbage"), ("worse", b'{"version":1e999,"config":{}}')):
        await zk.create(f"/config/topics/{name}", content)
    settings, unreadable = await store.configs(["bad", "t", "worse", "none"])
    assert settings == {"t": {"k": "v"}}
    assert [error.path for error in unreadable.values()] == ["/config/topics/bad", "/config/topics/worse"]
    assert list(unreadable) == ["bad", "worse"]
