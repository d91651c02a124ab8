from __future__ import annotations

import asyncio
import gc
import threading
import time
from types import SimpleNamespace

import pytest
import structlog

from barnabas.cluster.model.commands.topics import CreateTopics
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.cluster.runtime.line_limit import LINES_PER_WINDOW
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.controller import loop as loop_module
from barnabas.controller.core.context.controller_context import ControllerContext, Facts
from barnabas.controller.core.election.effects import ContestController, GiveUpController, ReadController
from barnabas.controller.core.partitions.effects import WatchPartitionStates
from barnabas.controller.core.protocol.effects import CloseAllChannels, CloseChannel, Reply
from barnabas.controller.core.protocol.inputs import (
    BrokerChange,
    CommandReceived,
    ControllerChange,
    Expire,
    PartitionReassignmentIsrChange,
    ShutdownEventThread,
    Startup,
    TopicChange,
)
from barnabas.controller.core.topics.effects import ReadTopics
from barnabas.controller.loop import LONGEST_TURN_S, STRETCH, ControllerLoop

DEADLINE_S = 120
"""Ends a wait that hangs.

The loop's first failover collects the garbage of the whole process: after thousands of tests, which leave
3.6 million objects, that alone took 9.6 s where others used the processors.
"""


class Worldly:
    """A performer over a world in memory, which may be made to wait or to fail."""

    def __init__(self, world):
        self.world = world
        self.performed = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = asyncio.Event()
        self.progress = asyncio.Event()
        self.handled = 0
        self.errors = {}

    def perform(self, effect):
        self.performed.append(effect)

    async def answer(self, question):
        self.asked.set()
        await self.gate.wait()
        if type(question) in self.errors:
            raise self.errors.pop(type(question))
        self.world.questions.append(question)
        return self.world.answer(question)


@pytest.fixture
async def stage(make_world):
    """A running loop, its performer, its context and its metrics."""
    world = make_world(active=False)
    performer, metrics = Worldly(world), Metrics()
    running = ControllerLoop(world.context, performer, metrics)
    show = running._show

    def measured(measures):
        show(measures)
        performer.handled += 1
        performer.progress.set()

    running._show = measured
    task = asyncio.ensure_future(running.run())
    yield SimpleNamespace(world=world, performer=performer, metrics=metrics, loop=running, task=task)
    performer.gate.set()
    task.cancel()
    await asyncio.wait([task])


async def stopped(stage):
    async with asyncio.timeout(DEADLINE_S):
        await stage.loop.preempt(ShutdownEventThread())
        await stage.task


def kinds(stage):
    return [type(question) for question in stage.world.questions]


async def idle(stage, under_way=0):
    """Wait until all that waits is handled, and the entries that are being handled already."""
    performer = stage.performer
    expected = performer.handled + under_way + len(stage.loop._mailbox)
    async with asyncio.timeout(DEADLINE_S):
        while performer.handled < expected:
            performer.progress.clear()
            await performer.progress.wait()


async def test_an_event_is_handled_to_its_end_before_the_next(stage):
    stage.world.write_topic("t", (1, 2))
    stage.loop.put_once(Startup())
    stage.loop.put_once(TopicChange())
    await idle(stage)
    assert kinds(stage)[:2] == [ReadController, ContestController]
    assert kinds(stage)[-1] is ReadTopics
    assert stage.world.context.is_active


async def test_signals_coalesce_while_they_wait(stage):
    stage.loop.put_once(Startup())
    for _ in range(1000):
        stage.loop.put_once(TopicChange())
    await idle(stage)
    # One read for the failover, one for a thousand events.
    assert kinds(stage).count(ReadTopics) == 2


async def test_partitions_whose_reassignments_go_on_are_looked_at_together(stage):
    moving = Assignment((4, 1), (4,), (1,))
    for topic in ("t", "u"):
        stage.world.write_topic(topic, (1,))
        stage.world.topics[topic] = {0: moving}
    stage.loop.put_once(Startup())
    await idle(stage)
    stage.world.questions.clear()
    both = tuple(TopicPartition(topic, 0) for topic in ("t", "u"))
    for tp in both:
        stage.loop.put_once(PartitionReassignmentIsrChange((tp,)))
    await idle(stage)
    assert stage.world.questions == [WatchPartitionStates(both)]


async def test_expiry_preempts_what_waits_and_tells_the_callers(stage):
    stage.loop.put_once(Startup())
    await idle(stage)
    stage.performer.gate.clear()
    stage.performer.asked.clear()
    stage.loop.put_once(TopicChange())
    async with asyncio.timeout(DEADLINE_S):
        await stage.performer.asked.wait()
    stage.loop.put(CommandReceived(9, CreateTopics(()), ()))
    stage.loop.put_once(TopicChange())
    expired = asyncio.ensure_future(stage.loop.preempt(Expire()))
    await asyncio.sleep(0)
    assert not expired.done(), "the event under way is finished first"
    assert [effect.token for effect in stage.performer.performed if isinstance(effect, Reply)] == [9]
    stage.performer.gate.set()
    async with asyncio.timeout(DEADLINE_S):
        await expired
    assert not stage.world.context.is_active
    assert kinds(stage).count(ReadTopics) == 2


async def test_an_error_ends_one_event_and_not_the_task(stage):
    stage.loop.put_once(Startup())
    await idle(stage)
    stage.performer.errors[ReadTopics] = RuntimeError("a bug")
    stage.loop.put_once(TopicChange())
    await idle(stage)
    assert stage.world.context.is_active
    assert not stage.task.done()
    stage.loop.put_once(TopicChange())
    await idle(stage)
    assert kinds(stage)[-1] is ReadTopics


async def test_errors_of_one_kind_are_logged_a_few_times(stage):
    stage.loop.put_once(Startup())
    await idle(stage)
    with structlog.testing.capture_logs() as lines:
        for _ in range(LINES_PER_WINDOW + 5):
            stage.performer.errors[ReadTopics] = RuntimeError("a bug")
            stage.loop.put_once(TopicChange())
            await idle(stage)
    assert sum(line["event"] == "error while handling an event" for line in lines) == LINES_PER_WINDOW


async def test_an_error_while_taking_over_gives_the_node_back(stage):
    stage.performer.errors[ReadTopics] = RuntimeError("a bug")
    stage.loop.put_once(Startup())
    await idle(stage)
    assert not stage.world.context.is_active
    assert stage.world.controller == -1


async def test_an_error_even_while_giving_it_back_is_mended_by_the_next_event(stage):
    stage.performer.errors[ReadTopics] = RuntimeError("a bug")
    stage.performer.errors[GiveUpController] = RuntimeError("and another")
    stage.loop.put_once(Startup())
    await idle(stage)
    assert stage.world.owns_controller
    assert not stage.world.context.is_active
    stage.loop.put_once(Startup())
    await idle(stage)
    assert stage.world.context.is_active
    assert stage.world.context.epoch == 2


async def test_a_controller_that_was_held_up_takes_nobody_for_dead_who_lives(stage):
    """KAFKA-15019, KAFKA-14392: an overloaded controller fenced healthy brokers, for want of heartbeats."""
    stage.world.write_topic("t", (1, 2, 3))
    stage.loop.put_once(Startup())
    await idle(stage)
    stage.performer.performed.clear()
    stage.performer.gate.clear()
    stage.performer.asked.clear()
    stage.loop.put_once(TopicChange())
    async with asyncio.timeout(DEADLINE_S):
        await stage.performer.asked.wait()
    # Meanwhile broker 2 goes and comes, again and again; broker 3 is well all the time.
    for _ in range(1000):
        stage.world.remove(2)
        stage.loop.put_once(BrokerChange())
        stage.world.register(2)
        stage.loop.put_once(BrokerChange())
    stage.performer.gate.set()
    await idle(stage, under_way=1)
    closed = [effect.broker_id for effect in stage.performer.performed if isinstance(effect, CloseChannel)]
    assert closed == [2], "once, for its former life"
    assert stage.world.leadership(TopicPartition("t", 0)).isr == (1, 3), "the other left it with its life"


async def test_who_no_longer_waits_for_the_end_does_not_break_it(stage):
    """KAFKA-9189: ZooKeeper is away, and the broker that stops has waited long enough."""
    stage.performer.gate.clear()
    stage.loop.put_once(Startup())
    async with asyncio.timeout(DEADLINE_S):
        await stage.performer.asked.wait()
        waiting = asyncio.ensure_future(stage.loop.preempt(ShutdownEventThread()))
        await asyncio.sleep(0)
        waiting.cancel()
        stage.performer.gate.set()
        await stage.task
    assert stage.task.exception() is None


async def test_shutdown_resigns_and_ends_the_task(stage):
    stage.loop.put_once(Startup())
    await idle(stage)
    await stopped(stage)
    assert stage.world.controller == -1


async def test_the_cluster_is_measured_after_each_event(stage):
    stage.world.write_topic("t", (1, 2), (2, 1))
    stage.loop.put_once(Startup())
    await idle(stage)
    value = stage.metrics.registry.get_sample_value
    name = "kafka_controller_KafkaController_"
    assert value(name + "ActiveControllerCount") == 1
    assert value(name + "GlobalTopicCount") == 1
    assert value(name + "GlobalPartitionCount") == 2
    assert value(name + "OfflinePartitionsCount") == 0
    assert value(name + "PreferredReplicaImbalanceCount") == 0
    assert value(name + "ControllerState") == 0
    assert value("kafka_controller_ControllerEventManager_EventQueueSize") == 0
    times = "kafka_controller_ControllerStats_ControllerChangeRateAndTimeMs_count"
    assert value(times, {"event": "Startup"}) == 1
    assert value("kafka_controller_ControllerEventManager_EventQueueTimeMs_count") == 1


@pytest.fixture
def handle(monkeypatch):
    """Makes a loop handle one entry by a decision of the test's, and ends it."""

    async def handled(decision, tell, clock=time.monotonic):
        monkeypatch.setattr(loop_module, "decide", lambda _context, _happened: decision)
        performer = SimpleNamespace(perform=tell)
        running = ControllerLoop(ControllerContext(Facts(BrokerId(1))), performer, Metrics(), clock)
        task = asyncio.ensure_future(running.run())
        async with asyncio.timeout(DEADLINE_S):
            await running.preempt(ShutdownEventThread())
            await task

    return handled


async def test_many_effects_let_others_run(handle):
    """A decision of a hundred effects, each a turn too long: the loop is free between any two."""
    now = 0.0

    def clock():
        nonlocal now
        now += LONGEST_TURN_S
        return now

    turns = 0

    async def other():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    rival = asyncio.ensure_future(other())
    await handle((CloseAllChannels() for _ in range(100)), lambda _: None, clock)
    rival.cancel()
    assert turns >= 50


async def test_the_loop_is_free_while_a_decision_is_made(handle):
    made = threading.Event()

    def decision():
        # What it waits for is done on the loop.
        assert made.wait(DEADLINE_S)
        yield CloseAllChannels()

    performed = []
    asyncio.get_running_loop().call_soon(made.set)
    await handle(decision(), performed.append)
    assert performed == [CloseAllChannels()]


async def test_a_decision_gets_only_so_far_ahead_of_its_effects(handle):
    performed = []
    performed_before = []

    def decision():
        for _ in range(3 * STRETCH):
            yield CloseAllChannels()
        performed_before.append(len(performed))

    await handle(decision(), performed.append)
    assert performed_before == [3 * STRETCH]


async def test_what_was_decided_before_an_error_is_done(handle):
    performed = []

    def decision():
        yield CloseAllChannels()
        raise ValueError("a bug")

    await handle(decision(), performed.append)
    assert performed[0] == CloseAllChannels()


@pytest.fixture
def full_collections():
    """One entry for each full garbage collection."""
    seen = []

    def note(phase, info):
        if phase == "start" and info["generation"] == 2:
            seen.append(phase)

    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)
    gc.unfreeze()


async def test_only_what_makes_much_is_followed_by_a_full_collection(stage, full_collections):
    for happened, partitions, expected in [
        (Startup(), 0, 1),
        (ControllerChange(), 0, 0),
        (TopicChange(), 99, 0),
        (TopicChange(), 100, 1),
    ]:
        if partitions:
            stage.world.write_topic(f"t{partitions}", *[(1, 2)] * partitions)
        full_collections.clear()
        stage.loop.put(happened)
        await idle(stage)
        assert len(full_collections) == expected, happened
