"""News of changed ISRs on their way from leaders to every broker: throttled, and none is lost."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.core.replication.isr_changes import CHECK_INTERVAL_MS, MAX_DELAY_MS, IsrChanges
from barnabas.broker.replicas.leader_store import LeaderStore
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.context.controller_context import ControllerContext, Facts
from barnabas.controller.core.partitions.effects import ReadPartitionStates
from barnabas.controller.core.protocol.broker_znodes import DeleteIsrChanges, ReadIsrChanges
from barnabas.controller.core.protocol.effects import NO_CONTROLLER, Ask, Interruption, SendUpdateMetadata
from barnabas.controller.core.protocol.inputs import ControllerChange, Expire, IsrChangeNotification, Startup

COUNT = 1000
TPS = [TopicPartition("t", number) for number in range(COUNT)]


class Leaders:
    """A broker that leads everything, and must announce ISR changes; ``world.notes`` is ZooKeeper's."""

    def __init__(self, world: Any) -> None:
        self._world = world
        self._changes = IsrChanges(0)
        self._store = LeaderStore(SimpleNamespace(isr_changes=self))  # type: ignore[arg-type]
        self.now_ms = 0
        self.announcements = 0

    def change(self, tp: TopicPartition, isr: tuple[int, ...]) -> None:
        known = self._world.leadership(tp)
        self._world.write_state(tp, known.leader, isr, known.leader_epoch)
        self._changes.add(tp, self.now_ms)

    async def wait(self, milliseconds: int) -> None:
        """Let time pass, and have them look whether something is due as often as they do."""
        for _ in range(0, milliseconds, CHECK_INTERVAL_MS):
            self.now_ms += CHECK_INTERVAL_MS
            due = self._changes.take_due(self.now_ms)
            if due:
                self.announcements += 1
                await self._store.announce_isr_changes(due)

    async def add(self, note: Any) -> None:
        self._world.notes[f"isr_change_{self.now_ms}_{len(self._world.notes)}"] = tuple(note)


@pytest.fixture
def world(world_module: Any) -> Any:
    """Three brokers, of which 1 is the controller, and a topic of a thousand partitions."""
    world = world_module.World(ControllerContext(Facts(BrokerId(1), traces=False)))
    world.register(1, 2, 3)
    world.write_topic("t", *[(2, 3, 1)] * COUNT)
    world.run(Startup())
    world.effects.clear()
    return world


def last_isrs(world: Any) -> dict[TopicPartition, dict[int, tuple[int, ...]]]:
    """The ISR of each partition that each broker got last."""
    heard: dict[TopicPartition, dict[int, tuple[int, ...]]] = {}
    for sent in world.sent(SendUpdateMetadata):
        for partition in sent.request.partitions:
            for broker in sent.recipients:
                isr = partition.state.leader_and_isr.isr
                heard.setdefault(partition.topic_partition, {})[broker] = isr
    return heard


async def test_a_thousand_shrinks_in_a_second_are_one_announcement(world: Any) -> None:
    """KAFKA-2406, KAFKA-2722: each change was a note of its own, and the notes flooded the controller."""
    leaders = Leaders(world)
    for number, tp in enumerate(TPS):
        leaders.now_ms = number
        leaders.change(tp, (2, 1))
    await leaders.wait(4 * CHECK_INTERVAL_MS)
    assert leaders.announcements == len(world.notes) == 1
    world.run(IsrChangeNotification())
    assert len(world.sent(SendUpdateMetadata)) == 1
    assert last_isrs(world) == {tp: {1: (2, 1), 2: (2, 1), 3: (2, 1)} for tp in TPS}
    assert world.notes == {}


async def test_an_endless_flood_is_announced_once_a_minute(world: Any) -> None:
    """KAFKA-2722: nor may it hide what happened for longer."""
    leaders = Leaders(world)
    for number in range(3 * MAX_DELAY_MS // CHECK_INTERVAL_MS):
        leaders.change(TPS[number], (2, 1))
        await leaders.wait(CHECK_INTERVAL_MS)
    assert leaders.announcements == 3


@pytest.mark.parametrize(
    "question",
    [ReadIsrChanges, ReadPartitionStates, DeleteIsrChanges],
    ids=lambda question: question.__name__,
)
@pytest.mark.parametrize("interruption", list(Interruption), ids=lambda one: one.name)
async def test_none_is_lost_where_the_controller_fails_in_the_middle(
    world: Any, question: type[Ask[Any]], interruption: Interruption
) -> None:
    """KAFKA-2406, KAFKA-2722: the successor finds the notes, or the states that they point to."""
    leaders = Leaders(world)
    for tp in TPS[: COUNT // 2]:
        leaders.change(tp, (2, 1))
    await leaders.wait(4 * CHECK_INTERVAL_MS)
    world.interruptions[question] = interruption
    world.run(IsrChangeNotification())
    world.run(Expire())
    for tp in TPS[COUNT // 2 :]:
        leaders.change(tp, (2, 3))
    await leaders.wait(4 * CHECK_INTERVAL_MS)
    world.effects.clear()
    world.controller, world.owns_controller = NO_CONTROLLER, False
    world.run(ControllerChange())
    assert world.notes == {}
    standing = {tp: world.leadership(tp).isr for tp in TPS}
    assert set(standing.values()) == {(2, 1), (2, 3)}
    assert last_isrs(world) == {tp: dict.fromkeys((1, 2, 3), isr) for tp, isr in standing.items()}
