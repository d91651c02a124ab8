"""One partition on three real logs: the broker's own replica code, without network, clock and controller.

Real are the logs and their recovery, the produce path with its purgatory, control requests, both ends of
the fetch sessions and the bytes between them. The controller is a hand, ZooKeeper one conditional register;
a broker that is killed comes back with a copy of its directory as it was.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from concurrent.futures import Executor, Future
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import ModuleType

from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.record_batch import parse_header
from barnabas.broker.core.replication.control_gate import ControlGate
from barnabas.broker.disk.directory.log_dirs import LogDirs, LogDirsOptions
from barnabas.broker.replicas.append import Appender
from barnabas.broker.replicas.control_requests import ControlRequests
from barnabas.broker.replicas.fetch_session import FetchSession
from barnabas.broker.replicas.fetch_state import FetchState
from barnabas.broker.replicas.hosted import HostedPartitions, monotonic_ms
from barnabas.broker.replicas.settings import ReplicaSettings
from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import LeaderAndIsrPartition, LeaderAndIsrRequest
from barnabas.cluster.rpc import replication_pb2 as pb
from barnabas.controller.core.context.controller_context import ControllerContext, Facts
from barnabas.controller.core.protocol.effects import SendLeaderAndIsr
from barnabas.controller.core.protocol.inputs import BrokerChange, LeaderAndIsrResponseReceived, Startup

TP = TopicPartition("t", 0)
IDS = (1, 2, 3)
BROKERS = tuple(Broker(i, 10, (Endpoint("GRPC", "127.0.0.1", 9000 + i),)) for i in IDS)
FOR_EVER_MS = 10**9
ROOM = st.sampled_from((1, 200, 10_000))  # bytes of records in an answer
HEALED_WITHIN = 60

brokers = st.sampled_from(IDS)


def batch(value):
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 20,
    )
    builder.append(0, 1_700_000_000_000, None, b"<%d>" % value, [])
    return bytes(builder.build())


def let_in(partition, follower_id):
    partition.replica.propose_expansion(follower_id)


class Inline(Executor):
    """Does everything at once."""

    def submit(self, work, /, *args, **kwargs):
        done = Future()
        done.set_result(work(*args, **kwargs))
        return done


class Streams:
    """In place of the fetchers: what is fetched from each leader, and no stream."""

    def __init__(self, hosted):
        self._hosted = hosted
        self.by_leader = {}

    def follow(self, topic_partition, leader_epoch, leader, _endpoint):
        self.stop((topic_partition,))
        if leader not in self.by_leader:
            self.by_leader[leader] = FetchState(self._hosted, lambda: 1, lambda: None)
        self.by_leader[leader].add(topic_partition, leader_epoch)

    def stop(self, topic_partitions):
        for topic_partition in topic_partitions:
            for followed in self.by_leader.values():
                followed.remove(topic_partition)

    def end_idle(self):
        for leader in [leader for leader, followed in self.by_leader.items() if not followed.epochs]:
            self.by_leader.pop(leader).close()


class Node:
    """One broker; its directory outlives it."""

    config = LogConfig(segment_bytes=600, segment_index_bytes=1024)

    def __init__(self, broker_id, base, names):
        self.id = broker_id
        self._base, self._names = base, names
        self.directory = base / str(next(names))
        self.directory.mkdir()
        self.lives = 0
        self.start()

    def start(self):
        executor = Inline()
        options = LogDirsOptions(self.id, "A" * 22, lambda _: self.config, lambda _: executor, lambda: 0)
        self.lives += 1
        self.alive = True
        self.logs = LogDirs.open([self.directory], options)
        metadata, gate = MetadataCache(), ControlGate()
        # Nobody counts as caught up a moment ago: here no time passes.
        settings = ReplicaSettings(lag_time_max_ms=-1, fetch_backoff_ms=0)
        self.hosted = HostedPartitions(self.id, self.logs, metadata, settings)
        self.appender = Appender(self.hosted)
        self.streams = Streams(self.hosted)
        self.control_requests = ControlRequests(
            self.hosted, metadata, gate, self.streams, write=lambda _: None, on_metadata=lambda _: None
        )
        gate.registered(1)

    def stop(self, *, clean):
        """Close all files; what is left of a broker that was killed is what its files held before."""
        self.alive = False
        former, left = self.directory, self._base / str(next(self._names))
        if not clean:
            shutil.copytree(former, left)
        self.logs.close()
        if not clean:
            shutil.rmtree(former)
            self.directory = left

    @property
    def partition(self):
        return self.hosted.get(TP) if self.alive else None

    @property
    def leads(self):
        return self.partition is not None and self.partition.replica.is_leader

    def records(self):
        """What its files hold: epochs and values, oldest first; offsets have no gaps."""
        found = []
        for path in sorted((self.directory / "t-0").glob("*.log")):
            content = path.read_bytes()
            while content:
                header = parse_header(content)
                assert header.base_offset == len(found)
                value = re.search(rb"<(\d+)>", content[: header.size]).group(1)
                found.append((header.partition_leader_epoch, int(value)))
                content = content[header.size :]
        return found


class Stream:
    """The session of a follower with a leader, and the message under way in it."""

    def __init__(self, follower, followed, leader):
        self.leader_life = leader.lives
        self.followed = followed
        self.session = FetchSession(follower.id, leader.hosted, let_in)
        self._request = self._answer = None
        followed.begin_session()

    @property
    def is_idle(self):
        return self._request is None and self._answer is None

    def advance(self, room):
        """The message under way arrives, or the next request goes out."""
        if self._answer is not None:
            answer, self._answer = self._answer, None
            for data in pb.FetchResponse.FromString(answer).partitions:
                self.followed.take(data)
        elif self._request is not None:
            request, self._request = self._request, None
            self.session.take(pb.FetchRequest.FromString(request))
            self._answer = self.session.answer(room).SerializeToString()
        else:
            self._request = self.followed.next_request().SerializeToString()


class ControllerAfterAnOutage:
    """The core of a controller that takes over, and carries its requests to the nodes and their answers back.

    Args:
        machine: Who has the nodes and the register.
        back: The brokers that are live.
    """

    def __init__(self, machine, back):
        self._machine = machine
        self._world = machine.world_module.World(ControllerContext(Facts(BrokerId(back[0]))))
        self._world.register(*IDS)
        self._world.settle()
        self._world.remove(*IDS)
        self._world.register(*back)
        self._world.write_topic("t", IDS)
        self._world.states[TP] = machine.register
        self._world.epoch = 1
        self._told = 0
        self._handle(Startup())

    def hear_of(self, broker_id):
        """Another broker is back."""
        self._world.register(broker_id)
        self._handle(BrokerChange())

    def _handle(self, happened):
        self._world.run(happened)
        while self._told < len(self._world.effects):
            effect = self._world.effects[self._told]
            self._told += 1
            if isinstance(effect, SendLeaderAndIsr):
                self._tell(effect.broker_id, effect.request)
        # The nodes are told in the name of one controller, whatever they live through.
        self._machine.register = replace(self._world.states[TP], controller_epoch=1)

    def _tell(self, broker_id, request):
        leadership = self._machine.nodes[broker_id].control_requests
        known = replace(request, controller_id=9, controller_epoch=1, broker_epoch=1)
        response = self._machine.run(leadership.leader_and_isr, known)
        self._world.run(LeaderAndIsrResponseReceived(broker_id, request.broker_epoch, response))


class ThreeLogs(RuleBasedStateMachine):
    """Clean elections alone, so nothing acknowledged may be lost.

    Attributes:
        world_module: The module that has the class ``World``, set before the first machine is made.
    """

    world_module: ModuleType

    def __init__(self):
        super().__init__()
        self.home = tempfile.TemporaryDirectory(prefix="three-logs-")
        self.runner = asyncio.Runner()
        names = count()
        self.nodes = {i: self.run(Node, i, Path(self.home.name), names) for i in IDS}
        self.register = PartitionState(LeaderAndIsr.initial(1, IDS), 1)
        self.connected = {}
        self.waiting = []
        self.acknowledged = {}
        self.high_watermarks = {}
        self.values = count(1)

    def run(self, work, *args, **kwargs):
        """Do it on the loop, and let what it scheduled run."""

        async def on_the_loop():
            result = work(*args, **kwargs)
            result = await result if asyncio.iscoroutine(result) else result
            for _ in range(3):
                await asyncio.sleep(0)
            return result

        return self.runner.run(on_the_loop())

    def teardown(self):
        try:
            self.heal()
            self.what_is_acknowledged_is_on_every_in_sync_replica()
        finally:
            for node in self.nodes.values():
                if node.alive:
                    self.run(node.stop, clean=True)
            self.runner.close()
            self.home.cleanup()

    @initialize()
    def begin(self):
        for node in self.nodes.values():
            self.tell(node, is_new=True)

    def everyone_hears(self):
        for broker_id in IDS:
            self.hear(broker_id)

    @rule(broker_id=brokers)
    def hear(self, broker_id):
        node = self.nodes[broker_id]
        if node.alive:
            self.tell(node)

    def tell(self, node, *, is_new=False):
        order = LeaderAndIsrPartition(TP, self.register, Assignment(IDS), is_new)
        request = LeaderAndIsrRequest(9, 1, 1, (order,), BROKERS)
        self.run(node.control_requests.leader_and_isr, request)

    @rule(choice=st.integers(0, 2))
    def elect(self, choice):
        leadership = self.register.leader_and_isr
        live = tuple(i for i in leadership.isr if self.nodes[i].alive)
        if live:
            self.write(leadership.new_leader(live[choice % len(live)], live))

    def batch(self, value):
        return batch(value)

    def write(self, leadership):
        written = leadership.written_as(self.register.leader_and_isr.version + 1)
        self.register = PartitionState(written, 1)

    @rule()
    def produce(self):
        """acks=all, to everyone who thinks that it leads."""
        for node in self.nodes.values():
            if node.leads:
                value = next(self.values)
                answer = self.run(
                    lambda node=node, value=value: node.appender.append(
                        {TP: self.batch(value)}, acks=-1, timeout_ms=FOR_EVER_MS
                    )
                )
                self.waiting.append((value, answer))

    @rule(broker_id=brokers, room=ROOM)
    def fetch(self, broker_id, room):
        """A whole round: a request, its answer, and what the follower makes of it."""
        for _ in range(3):
            self.advance(broker_id, room)
        while (stream := self.connected.get(broker_id)) is not None and not stream.is_idle:
            self.advance(broker_id, room)

    @rule(broker_id=brokers, room=ROOM)
    def advance(self, broker_id, room):
        """One step of it."""
        stream = self.stream(self.nodes[broker_id])
        if stream is not None:
            self.run(stream.advance, room)

    def stream(self, follower):
        """The stream to the leader that it follows; None where it follows nobody who lives."""
        if not follower.alive or not follower.streams.by_leader:
            return self.disconnect(follower)
        ((leader_id, followed),) = follower.streams.by_leader.items()
        leader = self.nodes[leader_id]
        if not leader.alive:
            return self.disconnect(follower)
        stream = self.connected.get(follower.id)
        if stream is None or stream.followed is not followed or stream.leader_life != leader.lives:
            self.disconnect(follower)
            stream = self.run(Stream, follower, followed, leader)
            self.connected[follower.id] = stream
        return stream

    def disconnect(self, follower):
        stream = self.connected.pop(follower.id, None)
        if stream is not None:
            self.run(stream.session.close)

    @rule()
    def look_for_laggards(self):
        for node in self.nodes.values():
            if node.leads:
                node.partition.replica.propose_shrink(node.partition.log.log_end_offset, monotonic_ms())

    @rule(answer_is_lost=st.booleans())
    def write_isrs(self, answer_is_lost):
        for node in self.nodes.values():
            if node.leads and node.partition.replica.pending is not None:
                self.run(self.write_isr, node, answer_is_lost)

    def write_isr(self, node, answer_is_lost):
        replica, end = node.partition.replica, node.partition.log.log_end_offset
        wanted = replica.pending.state.leader_and_isr
        if wanted.version != self.register.leader_and_isr.version:
            _, rose = replica.isr_conflicts(replica.pending, self.register, end, monotonic_ms())
        else:
            self.write(wanted)
            if answer_is_lost:
                return
            rose = replica.isr_written(replica.pending, wanted.version + 1, end, monotonic_ms())
        if rose:
            node.hosted.high_watermark_rose(node.partition)
        # As IsrKeeper does: another one may have caught up meanwhile, and will not say so again.
        newcomer = replica.next_to_join() if replica.pending is None else None
        if newcomer is not None:
            replica.propose_expansion(newcomer)

    @rule(broker_id=brokers, clean=st.booleans(), checkpointed=st.booleans())
    def stop_or_start(self, broker_id, clean, checkpointed):
        node = self.nodes[broker_id]
        if not node.alive:
            self.run(node.start)
            return
        if checkpointed:
            self.run(node.hosted.checkpoint_high_watermarks)
        self.run(node.stop, clean=clean)

    @rule(late=st.sampled_from((None, *IDS)), emptied=st.sampled_from((None, *IDS)))
    def outage(self, late, emptied):
        """All are killed. A controller takes over where all but one are back; then that one comes, too.

        Args:
            late: Who comes last.
            emptied: Whose disk is lost meanwhile, if another member of the ISR has its own.
        """
        for node in self.nodes.values():
            if node.alive:
                self.run(node.stop, clean=False)
        if emptied and set(self.register.leader_and_isr.isr) - {emptied}:
            shutil.rmtree(self.nodes[emptied].directory)
            self.nodes[emptied].directory.mkdir()
        back = [i for i in IDS if i != late]
        for broker_id in back:
            self.run(self.nodes[broker_id].start)
        controller = ControllerAfterAnOutage(self, back)
        self.produce()
        for broker_id in back * 2:
            self.fetch(broker_id, 10_000)
        if late:
            self.run(self.nodes[late].start)
            controller.hear_of(late)

    @rule(broker_id=brokers)
    def bounce(self, broker_id):
        """Killed and back before anyone has noticed: it hears who leads as if it had never been away."""
        if self.nodes[broker_id].alive:
            self.stop_or_start(broker_id, clean=False, checkpointed=False)
        self.run(self.nodes[broker_id].start)
        self.hear(broker_id)

    @rule(choice=st.integers(0, 2))
    def fail_over(self, choice):
        """The leader dies, and another member of the ISR leads."""
        leader = self.register.leader_and_isr.leader
        if self.nodes[leader].alive:
            self.stop_or_start(leader, clean=False, checkpointed=False)
        self.elect(choice)
        self.everyone_hears()

    @rule()
    def heal(self):
        for node in self.nodes.values():
            if not node.alive:
                self.run(node.start)
        self.elect(0)
        self.everyone_hears()
        for _ in range(HEALED_WITHIN):
            for broker_id in IDS:
                self.fetch(broker_id, 10_000)
            self.write_isrs(answer_is_lost=False)
            if self.is_healed():
                break
        assert self.is_healed()

    def is_healed(self):
        logs = [node.records() for node in self.nodes.values()]
        high_watermarks = {node.partition.replica.high_watermark for node in self.nodes.values()}
        isr = set(self.register.leader_and_isr.isr)
        return isr == set(IDS) and logs[0] == logs[1] == logs[2] and high_watermarks == {len(logs[0])}

    @invariant()
    def what_is_acknowledged_is_on_every_in_sync_replica(self):
        for value, answer in [each for each in self.waiting if each[1].done()]:
            self.waiting.remove((value, answer))
            appended = answer.result()[TP]
            if appended.error is ErrorCode.NONE:
                self.acknowledged[appended.base_offset] = value
        for member in self.register.leader_and_isr.isr:
            values = [value for _, value in self.nodes[member].records()]
            for offset, value in self.acknowledged.items():
                assert values[offset : offset + 1] == [value], f"{member} lost {value} at {offset}"

    @invariant()
    def the_high_watermark_never_falls_at_a_leader(self):
        for node in self.nodes.values():
            if node.leads:
                replica = node.partition.replica
                fence = node.id, node.lives, replica.leader_epoch
                assert replica.high_watermark >= self.high_watermarks.get(fence, 0)
                self.high_watermarks[fence] = replica.high_watermark
