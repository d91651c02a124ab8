"""The store against a real ZooKeeper: the race, registration, the fence."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.controllership import Claim, Controllership, Owner
from barnabas.cluster.model.epochs import (
    ControllerEpoch,
    EpochVersion,
    LeaderEpoch,
    PartitionVersion,
)
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.zk.client.errors import BadVersion, ControllerMoved, NodeExists, NoNode
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.store import ZooKeeperStore
from barnabas.cluster.zk.stores.brokers import BrokerIdTaken, EndpointTaken
from barnabas.cluster.zk.stores.fence import Fence

ONE, TWO, THREE = BrokerId(1), BrokerId(2), BrokerId(3)


def endpoints(port: int) -> tuple[Endpoint, ...]:
    return Endpoint("PLAINTEXT", "127.0.0.1", port), Endpoint("GRPC", "127.0.0.1", port + 1)


@contextlib.asynccontextmanager
async def opened(connect: str, session_timeout_ms: int = 6000) -> AsyncIterator[ZooKeeperStore]:
    session = await ZooKeeperSession.connect(
        connect,
        session_timeout_ms=session_timeout_ms,
        on_event=lambda _event: None,
        connect_timeout_ms=15_000,
    )
    try:
        yield ZooKeeperStore(session)
    finally:
        await session.close()


@pytest.fixture
async def store(zk_connect: str) -> AsyncIterator[ZooKeeperStore]:
    async with opened(zk_connect) as store:
        await store.cluster.create_persistent_paths()
        yield store


@contextlib.asynccontextmanager
async def crowd(connect: str, size: int) -> AsyncIterator[list[ZooKeeperStore]]:
    async with contextlib.AsyncExitStack() as stack:
        yield [await stack.enter_async_context(opened(connect)) for _ in range(size)]


LOCKS, OTHERS = frozenset({"a lock"}), frozenset({"the lock of another directory"})


async def test_persistent_paths_are_created_once(store: ZooKeeperStore) -> None:
    await store.cluster.create_persistent_paths()
    for path in paths.PERSISTENT:
        assert await store.session.exists(path) is not None


async def test_all_agree_on_the_cluster_id(zk_connect: str) -> None:
    async with crowd(zk_connect, 4) as stores:
        ids = await asyncio.gather(*(s.cluster.cluster_id(f"id-{n}") for n, s in enumerate(stores)))
        assert len(set(ids)) == 1
        assert await stores[0].cluster.cluster_id("another") == ids[0]


async def test_producer_id_blocks_never_overlap(store: ZooKeeperStore, zk_connect: str) -> None:
    async with crowd(zk_connect, 4) as stores:
        taken = await asyncio.gather(
            *(s.cluster.take_producer_id_block(BrokerId(n)) for n, s in enumerate(stores) for _ in range(5))
        )
    assert sorted(block.start for block in taken) == [1000 * n for n in range(20)]
    assert all(block.end == block.start + 999 for block in taken)


async def test_every_race_has_one_winner_and_the_next_epoch(zk_connect: str) -> None:
    async with crowd(zk_connect, 6) as stores:
        for reign in range(1, 8):
            outcomes = await asyncio.gather(
                *(s.controller.elect(BrokerId(n), 0) for n, s in enumerate(stores)), return_exceptions=True
            )
            winners = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, Fence)]
            assert all(isinstance(o, ControllerMoved) for n, o in enumerate(outcomes) if n not in winners)
            (winner,) = winners
            assert outcomes[winner] == Fence(ControllerEpoch(reign), EpochVersion(reign))
            for n, store in enumerate(stores):
                owner = Owner.THIS_SESSION if n == winner else Owner.NOBODY  # none of them is registered
                claim = Claim(BrokerId(winner), owner, 0)
                assert await store.controller.look() == Controllership(claim, ControllerEpoch(reign))
            await stores[winner].controller.give_up()
            assert (await stores[0].controller.look()).claim is None


async def test_a_controller_ends_with_its_session(zk_connect: str) -> None:
    async with opened(zk_connect) as witness:
        async with opened(zk_connect) as store:
            await store.controller.elect(ONE, 0)
            await witness.controller.give_up()
            claim = (await witness.controller.look()).claim
            assert claim == Claim(ONE, Owner.NOBODY, 0), "gave up what another session owns"
        assert (await witness.controller.look()).claim is None


async def test_a_former_controller_writes_nothing(store: ZooKeeperStore, zk_connect: str) -> None:
    tp = TopicPartition("t", 0)
    async with opened(zk_connect) as former:
        old = await former.controller.elect(ONE, 0)
        await former.topics.create("t", {0: Assignment((ONE, TWO))}, {}, old)
        state = LeaderAndIsr.initial(ONE, (ONE, TWO))
        created = (await former.partitions.create({tp: state}, old))[tp]
        assert created == state
        await former.controller.give_up()
        new = await store.controller.elect(TWO, 0)
        assert (new.controller_epoch, new.epoch_version) == (2, 2)
        for write in (
            former.partitions.update({tp: state.new_leader(TWO, (TWO,))}, old),
            former.partitions.create({TopicPartition("t", 1): state}, old),
            former.topics.create("u", {0: Assignment((ONE,))}, {}, old),
            former.isr_changes.delete(["isr_change_0000000000"], old),
        ):
            with pytest.raises(ControllerMoved, match="controller epoch 1 is over"):
                await write
    assert await store.topics.names() == {"t"}
    assert await store.partitions.read([tp]) == {tp: PartitionState(state, ControllerEpoch(1))}


async def test_a_broker_is_registered_as_it_is(store: ZooKeeperStore) -> None:
    epoch = await store.brokers.register(ONE, endpoints(9092), "r1", now_ms=5, log_dir_locks=LOCKS)
    stat = await store.session.exists(paths.broker(ONE))
    assert stat is not None
    assert (stat.czxid, stat.ephemeral_owner) == (epoch, store.session.id)
    assert await store.brokers.live() == {ONE: Broker(ONE, epoch, endpoints(9092), "r1")}
    again = await store.brokers.register(ONE, endpoints(9092), "r1", now_ms=6, log_dir_locks=LOCKS)
    assert again == epoch, "the same session's registration stands"


async def test_a_restart_within_the_session_is_a_new_life(store: ZooKeeperStore, zk_connect: str) -> None:
    before = await store.brokers.register(ONE, endpoints(9092), None, now_ms=5, log_dir_locks=LOCKS)
    async with opened(zk_connect) as reborn:
        after = await reborn.brokers.register(ONE, endpoints(9092), None, now_ms=6, log_dir_locks=LOCKS)
        assert after > before
        assert (await store.brokers.live())[ONE].epoch == after


@pytest.mark.parametrize("port", [9192, 9092])
async def test_a_duplicate_id_is_refused_after_one_session(
    store: ZooKeeperStore, zk_connect: str, port: int
) -> None:
    first = await store.brokers.register(ONE, endpoints(9092), None, now_ms=5, log_dir_locks=LOCKS)
    async with opened(zk_connect, session_timeout_ms=1500) as other:
        start = time.monotonic()
        with pytest.raises(BrokerIdTaken, match=r"/brokers/ids/1 is registered .*PLAINTEXT://127.0.0.1:9092"):
            await other.brokers.register(
                ONE, endpoints(port), None, now_ms=6, log_dir_locks=frozenset({"another"})
            )
        assert time.monotonic() - start >= 1.5, "it must be given a session to go"
    assert (await store.brokers.live())[ONE].epoch == first


async def test_a_previous_incarnation_with_a_lock_not_held_is_waited_for(
    store: ZooKeeperStore, zk_connect: str
) -> None:
    async with opened(zk_connect) as former:
        old = await former.brokers.register(ONE, endpoints(9092), None, now_ms=5, log_dir_locks=LOCKS)
        waiting = asyncio.ensure_future(
            store.brokers.register(ONE, endpoints(9092), None, now_ms=6, log_dir_locks=OTHERS)
        )
        await asyncio.sleep(0.2)
        assert not waiting.done()
    assert await waiting > old


async def test_an_address_belongs_to_one_broker(store: ZooKeeperStore) -> None:
    await store.brokers.register(ONE, endpoints(9092), None, now_ms=5, log_dir_locks=LOCKS)
    with pytest.raises(EndpointTaken, match=r"/brokers/ids/1 advertises .*:9092; broker 2"):
        await store.brokers.register(TWO, endpoints(9092), None, now_ms=5, log_dir_locks=LOCKS)


async def test_topics_are_created_with_their_settings_or_not_at_all(store: ZooKeeperStore) -> None:
    fence = await store.controller.elect(ONE, 0)
    partitions = {0: Assignment((ONE, TWO)), 1: Assignment((TWO, THREE, ONE), (ONE,), (THREE,))}
    await store.topics.create("t", partitions, {"min.insync.replicas": "2"}, fence)
    await store.topics.create("u", {0: Assignment((ONE,))}, {}, None)
    read = await store.topics.read(["t", "u", "missing"])
    assert {name: topic.partitions for name, topic in read.items()} == {
        "t": partitions,
        "u": {0: Assignment((ONE,))},
    }
    found = await store.topics.configs(["t", "u", "missing"])
    assert found == ({"t": {"min.insync.replicas": "2"}, "u": {}}, {})
    with pytest.raises(NodeExists, match="/brokers/topics/t exists already"):
        await store.topics.create("t", partitions, {"min.insync.replicas": "1"}, fence)
    assert (await store.topics.configs(["t"])).settings["t"] == {"min.insync.replicas": "2"}
    changed = replace(read["u"], partitions=partitions)
    written = await store.topics.set_partitions("u", changed, fence)
    assert written == replace(changed, version=1)
    assert (await store.topics.read(["u"]))["u"] == written
    with pytest.raises(BadVersion):
        await store.topics.set_partitions("u", changed, fence)


async def test_settings_that_a_deleted_topic_left_are_replaced(store: ZooKeeperStore) -> None:
    await store.topics.create("t", {0: Assignment((ONE,))}, {"retention.ms": "1"}, None)
    await store.session.delete(paths.topic("t"))
    await store.topics.create("t", {0: Assignment((ONE,))}, {"retention.ms": "2"}, None)
    assert (await store.topics.configs(["t"])).settings == {"t": {"retention.ms": "2"}}


async def test_states_of_many_partitions_in_few_transactions(store: ZooKeeperStore) -> None:
    fence = await store.controller.elect(ONE, 0)
    states = {
        TopicPartition(topic, p): LeaderAndIsr.initial(ONE, (ONE, TWO)) for topic in "tu" for p in range(250)
    }
    for topic in "tu":
        await store.topics.create(topic, {p: Assignment((ONE, TWO)) for p in range(250)}, {}, fence)
    assert await store.partitions.create(states, fence) == states
    read = await store.partitions.read([*states, TopicPartition("t", 999)])
    assert read == {tp: PartitionState(state, fence.controller_epoch) for tp, state in states.items()}
    moved = {tp: state.new_leader(TWO, (TWO,)) for tp, state in states.items()}
    written = await store.partitions.update(moved, fence)
    assert written == {tp: state.written_as(PartitionVersion(1)) for tp, state in moved.items()}


async def test_one_partition_that_is_there_does_not_hinder_the_others(store: ZooKeeperStore) -> None:
    fence = await store.controller.elect(ONE, 0)
    await store.topics.create("t", {p: Assignment((ONE,)) for p in range(3)}, {}, fence)
    first, second, third = (TopicPartition("t", p) for p in range(3))
    await store.partitions.create({second: LeaderAndIsr(TWO, LeaderEpoch(7), (TWO,))}, fence)
    state = LeaderAndIsr.initial(ONE, (ONE,))
    results = await store.partitions.create({first: state, second: state, third: state}, fence)
    assert (results[first], results[third]) == (state, state)
    assert isinstance(results[second], NodeExists)
    results = await store.partitions.update(
        {first: state.new_leader(TWO, (TWO,)), second: state.written_as(PartitionVersion(9))}, fence
    )
    assert isinstance(results[first], LeaderAndIsr)
    assert isinstance(results[second], BadVersion)
    lost = TopicPartition("gone", 0)
    assert isinstance((await store.partitions.update({lost: state}, fence))[lost], NoNode)
    assert isinstance((await store.partitions.create({lost: state}, fence))[lost], NoNode)


async def test_a_leader_writes_its_isr_under_the_version_it_knows(store: ZooKeeperStore) -> None:
    fence = await store.controller.elect(ONE, 0)
    tp = TopicPartition("t", 0)
    state = LeaderAndIsr.initial(ONE, (ONE, TWO))
    await store.topics.create("t", {0: Assignment((ONE, TWO))}, {}, fence)
    await store.partitions.create({tp: state}, fence)
    shrunk = await store.partitions.update_as_leader(tp, replace(state, isr=(ONE,)), fence.controller_epoch)
    assert shrunk == LeaderAndIsr(ONE, LeaderEpoch(0), (ONE,), PartitionVersion(1))
    same = await store.partitions.update_as_leader(tp, replace(state, isr=(ONE,)), fence.controller_epoch)
    assert same == shrunk, "a write whose answer was lost is recognized by its content"
    with pytest.raises(BadVersion):
        await store.partitions.update_as_leader(tp, replace(state, isr=(TWO,)), fence.controller_epoch)


async def test_notes_are_read_in_order_and_deleted(store: ZooKeeperStore) -> None:
    fence = await store.controller.elect(ONE, 0)
    first = await store.isr_changes.add([TopicPartition("t", 0), TopicPartition("u", 1)])
    second = await store.isr_changes.add([TopicPartition("t", 1)])
    await store.session.create(f"{paths.ISR_CHANGE_PREFIX}9999999999", b"not JSON")
    pending = await store.isr_changes.pending()
    assert list(pending)[:2] == [first, second]
    assert pending[first] == (TopicPartition("t", 0), TopicPartition("u", 1))
    assert isinstance(pending["isr_change_9999999999"], ValueError)
    await store.isr_changes.delete([*pending, "isr_change_0000000077"], fence)
    assert await store.isr_changes.pending() == {}
