from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from barnabas.cluster.model.epochs import ControllerEpoch, EpochVersion, PartitionVersion
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr, PartitionState
from barnabas.cluster.zk.client.errors import BadVersion, ControllerMoved, NodeExists, NoNode
from barnabas.cluster.zk.stores.fence import Fence
from barnabas.cluster.zk.stores.partitions import PartitionStore

ONE, TWO = BrokerId(1), BrokerId(2)
FENCE = Fence(ControllerEpoch(4), EpochVersion(0))
STATE = LeaderAndIsr.initial(ONE, (ONE, TWO))
TP = TopicPartition("t", 0)


@pytest.fixture
async def store(zk: Any) -> PartitionStore:
    for path in (
        "/controller_epoch",
        "/brokers",
        "/brokers/topics",
        "/brokers/topics/t",
        "/brokers/topics/u",
    ):
        await zk.create(path)
    return PartitionStore(zk)


def states(count: int, topic: str = "t") -> dict[TopicPartition, LeaderAndIsr]:
    return {TopicPartition(topic, partition): STATE for partition in range(count)}


async def test_states_are_created_with_their_parents_in_few_transactions(
    store: PartitionStore, zk: Any
) -> None:
    wanted = {**states(150), **states(150, "u")}
    before = next(zk.tree.zxids)
    assert await store.create(wanted, FENCE) == wanted
    assert next(zk.tree.zxids) - before - 1 == 2 + 3, (
        "two parents, three transactions of a hundred partitions"
    )
    assert await store.read([*wanted, TopicPartition("t", 999)]) == {
        tp: PartitionState(STATE, FENCE.controller_epoch) for tp in wanted
    }


async def test_a_state_is_watched_where_that_is_asked_for(store: PartitionStore, zk: Any) -> None:
    await store.create({TP: STATE}, FENCE)
    state = PartitionState(STATE, FENCE.controller_epoch)
    assert await store.read([TP, TopicPartition("t", 9)]) == {TP: state}
    assert zk.watched == []
    await store.read([TP], watch=True)
    assert zk.watched == ["/brokers/topics/t/partitions/0/state"]


async def test_a_state_that_is_there_is_left_alone(store: PartitionStore) -> None:
    there = TopicPartition("t", 1)
    other = LeaderAndIsr.initial(TWO, (TWO,))
    await store.create({there: other}, FENCE)
    results = await store.create(states(3), FENCE)
    assert isinstance(results.pop(there), NodeExists)
    assert results == {TopicPartition("t", 0): STATE, TopicPartition("t", 2): STATE}
    assert (await store.read([there]))[there].leader_and_isr == other


async def test_a_state_that_a_person_spoiled_fails_alone(store: PartitionStore, zk: Any) -> None:
    there = TopicPartition("t", 1)
    await store.create({there: STATE}, FENCE)
    await zk.set("/brokers/topics/t/partitions/1/state", b"garbage")
    results = await store.create(states(3), FENCE)
    assert isinstance(results.pop(there), NodeExists)
    assert results == {TopicPartition("t", 0): STATE, TopicPartition("t", 2): STATE}


async def test_a_partition_without_its_topic_fails_alone(store: PartitionStore) -> None:
    lost = TopicPartition("gone", 0)
    results = await store.create({lost: STATE, TP: STATE}, FENCE)
    assert isinstance(results[lost], NoNode)
    assert results[TP] == STATE


@pytest.mark.parametrize("lost_answers", [1, 2, 9])
async def test_creations_whose_answers_were_lost_are_recognized(
    store: PartitionStore, zk: Any, lost_answers: int
) -> None:
    zk.lost_answers = lost_answers
    assert await store.create(states(3), FENCE) == states(3)


async def test_each_update_stands_for_itself(store: PartitionStore, zk: Any) -> None:
    await store.create(states(3), FENCE)
    await zk.set("/brokers/topics/t/partitions/1/state", b"{}")
    wanted = {tp: state.new_leader(TWO, (TWO,)) for tp, state in states(3).items()}
    zk.tree.nodes["/brokers/topics/t/partitions/1/state"] = type(node := await zk.get("/controller_epoch"))(
        b'{"version":1,"leader":1,"leader_epoch":0,"controller_epoch":4,"isr":[1]}', type(node.stat)(7, 1, 1)
    )
    results = await store.update({**wanted, TopicPartition("u", 0): STATE}, FENCE)
    assert results[TP] == wanted[TP].written_as(PartitionVersion(1))
    assert isinstance(results[TopicPartition("t", 1)], BadVersion)
    assert results[TopicPartition("t", 2)] == wanted[TP].written_as(PartitionVersion(1))
    assert isinstance(results[TopicPartition("u", 0)], NoNode)


async def test_updates_whose_answers_were_lost_are_recognized(store: PartitionStore, zk: Any) -> None:
    await store.create(states(2), FENCE)
    zk.lost_answers = 2
    wanted = {tp: state.new_leader(TWO, (TWO,)) for tp, state in states(2).items()}
    assert await store.update(wanted, FENCE) == {
        tp: state.written_as(PartitionVersion(1)) for tp, state in wanted.items()
    }


async def test_the_fence_holds(store: PartitionStore, zk: Any) -> None:
    await store.create(states(1), FENCE)
    await zk.set("/controller_epoch", b"")
    for write in (store.update(states(1), FENCE), store.create(states(2), FENCE)):
        with pytest.raises(ControllerMoved):
            await write
    assert (await store.read([TP]))[TP].leader_and_isr == STATE


async def test_a_leader_needs_no_fence_but_the_version(store: PartitionStore, zk: Any) -> None:
    await store.create(states(1), FENCE)
    await zk.set("/controller_epoch", b"")
    shrunk = replace(STATE, isr=(ONE,))
    zk.lost_answers = 1
    written = await store.update_as_leader(TP, shrunk, FENCE.controller_epoch)
    assert written == shrunk.written_as(PartitionVersion(1))
    with pytest.raises(BadVersion):
        await store.update_as_leader(TP, replace(STATE, isr=(TWO,)), FENCE.controller_epoch)
    with pytest.raises(BadVersion):
        await store.update_as_leader(TP, shrunk, ControllerEpoch(5))
    with pytest.raises(NoNode):
        await store.update_as_leader(TopicPartition("gone", 0), STATE, FENCE.controller_epoch)


async def test_nothing_to_do_is_no_request(store: PartitionStore, zk: Any) -> None:
    before = next(zk.tree.zxids)
    assert await store.create({}, FENCE) == {}
    assert await store.update({}, FENCE) == {}
    assert await store.read([]) == {}
    assert next(zk.tree.zxids) == before + 1


async def test_long_names_make_smaller_transactions(store: PartitionStore, zk: Any) -> None:
    topic = "x" * 249
    await zk.create(f"/brokers/topics/{topic}")
    wide = LeaderAndIsr.initial(ONE, tuple(BrokerId(2**31 - 1 - n) for n in range(1000)))
    wanted = {TopicPartition(topic, p): wide for p in range(100)}
    before = next(zk.tree.zxids)
    assert await store.create(wanted, FENCE) == wanted
    assert next(zk.tree.zxids) - before - 1 == 1 + 3, (
        "a parent, and three transactions of half a megabyte each"
    )
