"""The group coordinator of broker 1 on real logs; it leads what the test says, and time moves by the test."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest

from barnabas.broker.coordinator.coordinator import GroupCoordinator
from barnabas.broker.coordinator.offsets_topic import OffsetsTopic
from barnabas.broker.core.group.coordinator_partition import OFFSETS_TOPIC
from barnabas.broker.core.group.records import OffsetAndMetadata
from barnabas.broker.core.group.requests import GroupProtocol, JoinGroup, MemberCall, SyncGroup
from barnabas.broker.core.group.settings import GroupSettings
from barnabas.broker.core.records.records import decompress, key_values
from barnabas.broker.core.timing_wheel import TimingWheel
from barnabas.broker.replicas.append import Appender
from barnabas.cluster.model.commands.topics import CreateTopicsResult, TopicResult
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.supervisor import Supervisor
from tests.batches import whole_batches
from tests.unit.broker.replicas import conftest as replicas

PARTITIONS = 4

log_config, room = replicas.log_config, replicas.room


class ManualTimer:
    """A timing wheel whose time the test moves."""

    def __init__(self):
        self.wheel = TimingWheel(0)

    def add(self, task, delay_ms):
        self.wheel.add(task, self.wheel.now_ms + max(1, delay_ms))

    def cancel(self, task):
        self.wheel.remove(task)

    def advance(self, by_ms):
        for task in self.wheel.advance(self.wheel.now_ms + by_ms):
            task.run()


class FakeController:
    """Remembers the commands; says ``answer``, or that everything was created."""

    def __init__(self):
        self.commands = []
        self.answer = None

    async def submit(self, command, timeout_ms):
        self.commands.append(command)
        done = CreateTopicsResult(tuple(TopicResult(each.name, ErrorCode.NONE) for each in command.topics))
        return done if self.answer is None else self.answer


class Scene:
    """The coordinator with what surrounds it, and short ways to ask it."""

    def __init__(self, room: replicas.Room, **settings):
        self.room = room
        self.hosted = room.hosted
        self.controller = FakeController()
        self.failed = []
        self.supervisor = Supervisor(lambda name, error: self.failed.append((name, error)))
        self.metrics = Metrics()
        self.settings = GroupSettings(
            **{"topic_partitions": PARTITIONS, "commit_required_acks": 1, "initial_rebalance_delay_ms": 0}
            | settings
        )
        self.timer = ManualTimer()
        topic = OffsetsTopic(self.settings, room.metadata, self.controller, self.supervisor)
        self.groups = GroupCoordinator(
            self.settings,
            topic,
            room.hosted,
            appends=Appender(room.hosted),
            timer=self.timer,
            supervisor=self.supervisor,
            metrics=self.metrics,
        )
        room.hosted.on_leadership_changed = self.groups.leadership_changed

    def tp(self, group="g") -> TopicPartition:
        return TopicPartition(OFFSETS_TOPIC, self.groups.topic.partition_of(group))

    async def lead(self, group="g", epoch=0):
        """Lead the partition of a group, and wait until it is loaded."""
        hosted = self.room.lead(epoch, topic_partition=self.tp(group))
        await self.room.until(lambda: self.groups.partitions.get(self.tp(group).partition).is_loaded)
        return hosted

    async def resign(self, group="g", epoch=1):
        self.room.follow(epoch=epoch, topic_partition=self.tp(group))
        await self.room.until(lambda: not any("unload" in name for name in self.supervisor.names))

    async def commit(self, offset, topic="t", *, group="g", generation=-1, member="", metadata="", **more):
        value = OffsetAndMetadata(offset, -1, metadata, more.pop("commit_ms", 10**15), **more)
        commits = {TopicPartition(topic, 0): value}
        errors = await self.groups.offsets.commit(MemberCall(group, generation, member, None), commits)
        return errors[TopicPartition(topic, 0)]

    async def fetch(self, topic="t", *, group="g", require_stable=False):
        """The committed offset, None for none; or the error."""
        tp = TopicPartition(topic, 0)
        found = await self.groups.offsets.fetch(group, [tp], require_stable=require_stable)
        if isinstance(found, ErrorCode):
            return found
        error, committed = found[tp]
        return error if error is not ErrorCode.NONE else committed and committed.offset

    def join(self, member="", *, group="g", instance=None, topics=()):
        subscription = b"\0\0" + len(topics).to_bytes(4) + b"".join(b"\0\1" + t.encode() for t in topics)
        request = JoinGroup(
            group,
            member,
            instance,
            require_known_member_id=False,
            client_id="c",
            client_host="/127.0.0.1",
            rebalance_timeout_ms=60_000,
            session_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=(GroupProtocol("range", subscription),),
            fresh_uuid=str(uuid4()),
        )
        return asyncio.ensure_future(self.groups.join(request))

    def sync(self, joined, assignments=(), *, group="g"):
        request = SyncGroup(group, joined.generation, joined.member_id, None, None, None, dict(assignments))
        return asyncio.ensure_future(self.groups.sync(request))

    async def member(self, *, group="g", instance=None, topics=("t",)):
        """A stable group of one member."""
        joining = self.join(group=group, instance=instance, topics=topics)
        await asyncio.sleep(0)
        self.timer.advance(1)
        joined = await joining
        synced = await self.sync(joined, {joined.member_id: b"mine"}, group=group)
        assert (synced.error, synced.assignment) == (ErrorCode.NONE, b"mine")
        return joined

    def heartbeat(self, joined, group="g"):
        return self.groups.heartbeat(MemberCall(group, joined.generation, joined.member_id, None))

    def records(self, group="g"):
        """The records of the group's partition: key and value as bytes."""
        log = self.hosted.get(self.tp(group)).log
        data = log.read(log.log_start_offset, 2**30, log.log_end_offset).records
        return [
            (key, value)
            for batch in whole_batches(data)
            for _, key, value in key_values(batch.header, bytes(decompress(batch)))
        ]


@pytest.fixture
def make_scene(room):
    return lambda **settings: Scene(room, **settings)


@pytest.fixture
def scene(make_scene):
    return make_scene()
