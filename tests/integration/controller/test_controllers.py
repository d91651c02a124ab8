"""Controllers on a real ZooKeeper, speaking gRPC to brokers that are stubs."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from barnabas.cluster.model.commands.topics import CreateTopics, CreateTopicsResult, NewTopic
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.cluster.model.requests import ControlRequest, LeaderAndIsrRequest, UpdateMetadataRequest
from barnabas.cluster.model.statechange import StateChange
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.supervisor import Supervisor
from barnabas.cluster.zk.client.operations import SessionEvent, WatchEvent, ZooKeeperEvent
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.store import ZooKeeperStore
from barnabas.controller.core.protocol.inputs import BrokerChange
from barnabas.controller.node import ControllerNode, ControllerSettings

DEADLINE_S = 30
SESSION_MS = 6000
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Member:
    """A broker process reduced to what the controller sees of it: a session, a registration, a stub's port.

    Attributes:
        deaf: Whether it hears no event of ZooKeeper any more, as a process that is paused.
    """

    def __init__(self, stub: Any, connect: str) -> None:
        self.stub = stub
        self.id = BrokerId(stub.id)
        self.deaf = False
        self.lines: list[StateChange] = []
        self.metrics = Metrics()
        self.epochs: list[ControllerEpoch] = []
        self._connect = connect
        self._learned = asyncio.Event()
        self._supervisor = Supervisor(lambda name, error: pytest.fail(f"{name} died of {error!r}"))
        self.node = ControllerNode(
            ControllerSettings(self.id, zookeeper_session_timeout_ms=SESSION_MS),
            self._supervisor,
            self,  # it takes lines as a StateChangeLog does
            self.metrics,
            lambda _, epoch: self._heard_of(epoch),
        )

    def _heard_of(self, epoch: ControllerEpoch) -> None:
        self.epochs.append(epoch)
        self._learned.set()

    def write(self, line: StateChange) -> None:
        self.lines.append(line)

    async def join(self) -> BrokerEpoch:
        """Open a session, register, take part in the race."""
        session = await ZooKeeperSession.connect(
            self._connect, session_timeout_ms=SESSION_MS, on_event=self._heard
        )
        self.store = ZooKeeperStore(session)
        await self.store.cluster.create_persistent_paths()
        epoch = await self.store.brokers.register(
            self.id, self.stub.endpoints, None, now_ms=1, log_dir_locks=frozenset({f"of broker {self.id}"})
        )
        await self.node.start(self.store)
        return epoch

    async def vanish(self) -> None:
        """Die: the session ends, nothing is said in parting."""
        self.deaf = True
        await self.store.session.close()
        await self.node.on_session_expired()

    async def leave(self) -> None:
        if not self.store.session.is_over:
            await self.node.stop()
            await self.store.session.close()
        await self._supervisor.close(DEADLINE_S)

    async def until(self, fits: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not fits():
                self._learned.clear()
                await self._learned.wait()

    async def until_it_stands(self, stands: Callable[[], Awaitable[bool]]) -> None:
        """Wait until something that ``stands`` reads and watches in ZooKeeper is so."""
        async with asyncio.timeout(DEADLINE_S):
            while True:
                self._learned.clear()
                if await stands():
                    return
                await self._learned.wait()

    async def until_knows(self, controller_id: int) -> None:
        await self.until(lambda: self.node.active_controller_id == controller_id)

    def _heard(self, event: ZooKeeperEvent) -> None:
        self._learned.set()
        if isinstance(event, WatchEvent) and not self.deaf:
            self.node.on_zookeeper_event(event)
        assert event is not SessionEvent.EXPIRED


Join = Callable[..., Any]


@pytest.fixture
async def join(stub_brokers: Any, zk_connect: str) -> AsyncIterator[Join]:
    """Has members of the given ids join the cluster, one after the other."""
    members: list[Member] = []

    async def joined(*ids: int) -> list[Member]:
        new = [Member(stub, zk_connect) for stub in await stub_brokers(*ids)]
        for member in new:
            await member.join()
            members.append(member)
            await member.until(lambda member=member: member.node.active_controller_id >= 0)
        return new

    yield joined
    for member in members:
        await member.leave()


async def epoch_of(member: Member) -> int:
    fetched = await member.store.session.get("/controller_epoch")
    return int(fetched.data)


async def named_by(member: Member) -> BrokerId:
    """Whom ``/controller`` names."""
    claim = (await member.store.controller.look()).claim
    assert claim is not None
    assert claim.named is not None
    return claim.named


async def is_epoch(member: Member, epoch: int) -> bool:
    fetched = await member.store.session.get("/controller_epoch", watch=True)
    return int(fetched.data) == epoch


def last_received(stub: Any, kind: type[Any]) -> dict[TopicPartition, Any]:
    """Return the last state of each partition that a stub received."""
    return {p.topic_partition: p for r in stub.requests if isinstance(r, kind) for p in r.partitions}


async def create_topic(member: Member, *replicas: tuple[int, ...]) -> None:
    assignments = {n: tuple(BrokerId(id_) for id_ in some) for n, some in enumerate(replicas)}
    result = await member.node.port.submit(CreateTopics((NewTopic("t", assignments=assignments),)), 20_000)
    assert isinstance(result, CreateTopicsResult)
    assert [topic.error for topic in result.topics] == [ErrorCode.NONE]


async def test_one_wins_and_everybody_knows(join: Join) -> None:
    members = await join(1, 2, 3)
    assert [member.node.active_controller_id for member in members] == [1, 1, 1]
    assert await epoch_of(members[0]) == 1
    counts = [
        m.metrics.registry.get_sample_value("kafka_controller_KafkaController_ActiveControllerCount")
        for m in members
    ]
    assert counts == [1, 0, 0]


async def test_a_deleted_node_brings_exactly_one_new_controller(join: Join) -> None:
    members = await join(1, 2, 3)
    await members[1].store.session.delete("/controller")
    await members[0].until_it_stands(lambda: is_epoch(members[0], 2))
    (named,) = {await named_by(member) for member in members}
    for member in members:
        await member.until_knows(named)
    assert await epoch_of(members[0]) == 2


async def test_a_hand_written_id_leaves_the_cluster_with_one_acting_controller(join: Join) -> None:
    members = await join(1, 2, 3)
    await members[1].store.session.set("/controller", b'{"version":1,"brokerid":77,"timestamp":"1"}')
    await members[0].until_it_stands(lambda: is_epoch(members[0], 2))
    elected = await named_by(members[0])
    for member in members:
        await member.until_knows(elected)
    assert elected in {1, 2, 3}


async def test_a_dead_controller_is_followed_by_one_that_tells_the_brokers(join: Join) -> None:
    first, second, third = await join(1, 2, 3)
    await create_topic(first, (1, 2, 3), (2, 3, 1))
    await third.stub.until(lambda _: last_received(third.stub, UpdateMetadataRequest).keys() == {T0, T1})
    await first.vanish()
    for member in (second, third):
        await member.stub.until(
            lambda _, stub=member.stub: (
                T0 in (known := last_received(stub, LeaderAndIsrRequest))
                and known[T0].state.leader_and_isr.leader == 2
            )
        )
    states = await second.store.partitions.read([T0, T1])
    assert (states[T0].leader_and_isr.leader, states[T0].leader_and_isr.isr) == (2, (2, 3))
    assert states[T1].leader_and_isr.isr == (2, 3)
    assert states[T0].controller_epoch == 2
    last = second.stub.requests[-1]
    assert last.controller_epoch == 2


async def test_brokers_get_the_list_of_brokers_before_leaders(join: Join) -> None:
    first, second = await join(1, 2)
    await create_topic(first, (2, 1))
    await second.stub.until(lambda _: T0 in last_received(second.stub, LeaderAndIsrRequest))
    assert isinstance(second.stub.requests[0], UpdateMetadataRequest)
    assert all(r.broker_epoch > 0 and r.controller_id == 1 for r in second.stub.requests)


async def test_a_former_controller_cannot_write_and_resigns(join: Join) -> None:
    """KAFKA-6082: it is paused, another is elected, it wakes and acts before it hears of that."""
    first, second, third = await join(1, 2, 3)
    await create_topic(first, (3, 1), (3, 2))
    await third.stub.until(lambda _: last_received(third.stub, LeaderAndIsrRequest).keys() == {T0, T1})
    # The third does not stand for election: its own registration is taken away below.
    first.deaf = third.deaf = True
    await second.store.session.delete("/controller")
    await second.until(lambda: second.node.active_controller_id == 2)
    assert await epoch_of(second) == 2
    before = await second.store.partitions.read([T0, T1])
    await third.store.session.delete("/brokers/ids/3")
    first.node._loop.put(BrokerChange())
    await first.until(lambda: first.node.active_controller_id == 2)
    after = await second.store.partitions.read([T0, T1])
    assert all(state.controller_epoch != 1 or state == before[tp] for tp, state in after.items())


async def test_an_isr_change_is_sent_to_all_brokers_and_its_notification_deleted(join: Join) -> None:
    first, second = await join(1, 2)
    await create_topic(first, (2, 1))
    await second.stub.until(lambda _: T0 in last_received(second.stub, LeaderAndIsrRequest))
    state = (await second.store.partitions.read([T0]))[T0]
    shrunk = replace(state.leader_and_isr, isr=(BrokerId(2),))
    await second.store.partitions.update_as_leader(T0, shrunk, state.controller_epoch)
    await second.store.isr_changes.add([T0])

    def is_sent(_: list[ControlRequest]) -> bool:
        # The creation's UpdateMetadata may come after its LeaderAndIsr, so there may be none yet.
        last = last_received(first.stub, UpdateMetadataRequest).get(T0)
        return last is not None and last.state.leader_and_isr.isr == (2,)

    await first.stub.until(is_sent)

    async def no_note_is_left() -> bool:
        return not await second.store.isr_changes.pending(watch=True)

    await second.until_it_stands(no_note_is_left)


async def test_a_topic_written_by_hand_is_created_and_grows(join: Join) -> None:
    first, second = await join(1, 2)
    one = {0: Assignment((BrokerId(2), BrokerId(1)))}
    await second.store.topics.create("t", one, {}, None)
    await second.stub.until(lambda _: T0 in last_received(second.stub, LeaderAndIsrRequest))
    node = (await second.store.topics.read(["t"]))["t"]
    node.partitions[1] = Assignment((BrokerId(1),))
    await second.store.topics.set_partitions("t", node, None)
    await first.stub.until(lambda _: T1 in last_received(first.stub, LeaderAndIsrRequest))


async def test_a_bounced_broker_gets_its_state_again(join: Join) -> None:
    first, second = await join(1, 2)
    await create_topic(first, (1, 2))
    await second.stub.until(lambda _: T0 in last_received(second.stub, LeaderAndIsrRequest))
    await second.vanish()
    second.deaf = False
    epoch = await second.join()
    await second.stub.until(
        lambda requests: any(isinstance(r, LeaderAndIsrRequest) and r.broker_epoch == epoch for r in requests)
    )


async def test_who_owns_the_node_runs_the_controller_however_often_sessions_end(join: Join) -> None:
    """KAFKA-4229, KAFKA-13407: after losses of sessions a broker owned the node and ran no controller."""
    members = await join(1, 2, 3)
    dice = random.Random(4229)
    for _ in range(6):
        member = dice.choice(members)
        await member.vanish()
        member.deaf = False
        await member.join()
        await asyncio.sleep(dice.choice((0, 0, 0.05)))  # where in the others' decisions the next one strikes
    reigning = await named_by(members[0])
    acting = next(member for member in members if member.id == reigning)
    for member in members:
        await member.until_knows(reigning)
    await create_topic(acting, (1, 2, 3))
    for member in members:
        await member.stub.until(lambda _, stub=member.stub: T0 in last_received(stub, UpdateMetadataRequest))
    assert acting.stub.requests[-1].controller_epoch == await epoch_of(acting)


async def test_a_controller_that_leaves_is_followed_at_once(join: Join) -> None:
    first, second = await join(1, 2)
    await first.node.stop()
    await second.until_knows(2)
    assert await epoch_of(second) == 2
