"""A simulated cluster of three brokers that writes what Kafka 2.8 writes at INFO, with one clock."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from barnabas.cluster.model.epochs import ControllerEpoch, LeaderEpoch, PartitionVersion
from barnabas.cluster.model.ids import NO_LEADER, BrokerId, Offset, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.statechange import BrokerLines, ControllerLines, RequestLines, StateChange

START = datetime(2026, 11, 21, 10)  # noqa: DTZ001  (the logs' times have no zone)
SESSION_MS = 6_000
BROKERS = (1, 2, 3)
PARTITIONS = {"a": (1, 2, 3), "b": (2, 3, 1), "c": (3,), "d": (1, 2)}
ACTIONS = ("kill", "stop", "start", "talk")


def at(ms: int) -> datetime:
    return START + timedelta(milliseconds=ms)


@dataclass
class Cluster:
    """Three brokers; the truth is in ``outages`` and ``departures``, in ms."""

    lines: list[tuple[int, str, str]] = field(default_factory=list)
    outages: list[tuple[str, int, int | None]] = field(default_factory=list)
    departures: list[tuple[int, int]] = field(default_factory=list)
    alive: set[int] = field(default_factory=lambda: set(BROKERS))
    known: set[int] = field(default_factory=lambda: set(BROKERS))
    controller: int = 1
    epoch: int = 1
    states: dict[str, LeaderAndIsr] = field(default_factory=dict)
    down: dict[str, int] = field(default_factory=dict)
    queue: list[tuple[int, int, Callable[[int], None]]] = field(default_factory=list)

    def run(self, script: Sequence[tuple[int, str, int]]) -> None:
        for topic, replicas in PARTITIONS.items():
            tp, ids = TopicPartition(topic, 0), tuple(map(BrokerId, replicas))
            self.states[topic] = LeaderAndIsr.initial(ids[0], ids)
            self.decide(0, self.acting().partition_new(tp, "NonExistentPartition", ids))
            self.decide(5, self.acting().partition_online(tp, "NewPartition", self.states[topic]))
            self.leads(20, topic, before=-1)
        now = 1_000
        for gap, action, broker in script:
            now += gap
            self.until(now)
            getattr(self, action)(now, broker)
        self.until(now + 60_000)
        for topic, since in self.down.items():
            self.outages.append((topic, since, None))

    def until(self, now: int) -> None:
        while self.queue and self.queue[0][0] <= now:
            due, _, step = heapq.heappop(self.queue)
            step(due)

    def later(self, due: int, step: Callable[[int], None]) -> None:
        heapq.heappush(self.queue, (due, len(self.lines) + len(self.queue), step))

    def talk(self, now: int, broker: int) -> None:
        if broker in self.alive:
            request = RequestLines(
                BrokerId(broker), BrokerId(self.controller), ControllerEpoch(self.epoch), 9
            )
            self.write(now, broker, "state-change", request.updated_metadata(1, 0))

    def kill(self, now: int, broker: int) -> None:
        if broker in self.alive:
            self.gone(now, broker)
            self.later(now + SESSION_MS, lambda due: self.notice(due, broker))

    def gone(self, now: int, broker: int) -> None:
        self.alive.discard(broker)
        self.departures.append((broker, now))
        for topic, state in self.states.items():
            if state.leader == broker:
                self.down.setdefault(topic, now)

    def stop(self, now: int, broker: int) -> None:
        if broker not in self.alive:
            return
        signal = (
            "Terminating process due to signal SIGTERM (org.apache.kafka.common.utils.LoggingSignalHandler)"
        )
        self.server(now, broker, signal, is_whole=True)
        self.server(now + 2, broker, "Starting controlled shutdown")
        is_moved = True
        for topic, state in self.states.items():
            heirs = [each for each in state.isr if each != broker and each in self.alive]
            if state.leader == broker and not heirs:
                is_moved = False
            elif state.leader == broker and self.controller in self.alive:
                self.elect(
                    now + 100,
                    topic,
                    heirs[0],
                    [each for each in state.isr if each != broker],
                    "OnlinePartition",
                )
        if is_moved:
            self.server(now + 300, broker, "Controlled shutdown succeeded")
        else:
            said = "Proceeding to do an unclean shutdown as all the controlled shutdown attempts failed"
            self.server(now + 300, broker, said)
        self.server(now + 500, broker, "shut down completed")
        self.gone(now + 500, broker)
        self.later(now + 600, lambda due: self.notice(due, broker))

    def start(self, now: int, broker: int) -> None:
        if broker in self.alive or broker in self.known:
            return
        self.server(now, broker, "starting (kafka.server.KafkaServer)", is_whole=True)
        self.alive.add(broker)
        self.later(now + 600, lambda due: self.join(due, broker))
        self.server(now + 1_000, broker, "started")

    def join(self, now: int, broker: int) -> None:
        self.known.add(broker)
        self.succeed(now)
        for topic, state in self.states.items():
            if state.leader == NO_LEADER and broker in state.isr:
                self.elect(now + 1, topic, broker, [broker], "OfflinePartition")

    def succeed(self, now: int) -> None:
        """Another broker becomes controller if the former one is gone."""
        if self.controller not in self.known and self.known & self.alive:
            self.controller, self.epoch = min(self.known & self.alive), self.epoch + 1
            self.decide(now, self.acting().sending_update_metadata_batch((BrokerId(self.controller),), 0))
            for broker in sorted(set(BROKERS) - self.known):
                self.handle(now + 1, broker)

    def notice(self, now: int, broker: int) -> None:
        self.known.discard(broker)
        if self.controller == broker:
            self.succeed(now)
        elif self.controller in self.alive:
            self.handle(now, broker)

    def handle(self, now: int, broker: int) -> None:
        for topic, state in list(self.states.items()):
            heirs = [each for each in state.isr if each in self.known & self.alive]
            if state.leader == broker and heirs:
                self.elect(now, topic, heirs[0], heirs, "OfflinePartition")
            elif state.leader == broker or (broker in state.isr and len(state.isr) > 1):
                leader = NO_LEADER if state.leader == broker else state.leader
                rest = tuple(each for each in state.isr if each != broker) or state.isr
                self.put(topic, leader, rest)
                change = PartitionState(self.states[topic], ControllerEpoch(self.epoch))
                line = self.acting().removed_from_isr(TopicPartition(topic, 0), change, BrokerId(broker))
                self.decide(now, line)

    def elect(self, now: int, topic: str, leader: int, isr: Sequence[int], source: str) -> None:
        before = self.states[topic].leader_epoch
        self.put(topic, leader, isr)
        self.decide(now, self.acting().partition_online(TopicPartition(topic, 0), source, self.states[topic]))
        self.leads(now + 20, topic, before=before)
        if topic in self.down:
            self.outages.append((topic, self.down.pop(topic), now + 20))

    def put(self, topic: str, leader: int, isr: Sequence[int]) -> None:
        old = self.states[topic]
        new = old.new_leader(BrokerId(leader), tuple(map(BrokerId, isr)))
        self.states[topic] = new.written_as(PartitionVersion(old.version + 1))

    def leads(self, now: int, topic: str, before: int) -> None:
        state = self.states[topic]
        line = BrokerLines(state.leader).leader_starts(
            TopicPartition(topic, 0), state.leader_epoch, Offset(7), high_watermark=Offset(7), isr=state.isr,
            assignment=Assignment(tuple(map(BrokerId, PARTITIONS[topic]))),
            previous_leader_epoch=LeaderEpoch(before),
        )  # fmt: skip
        self.write(now, state.leader, "state-change", line)

    def acting(self) -> ControllerLines:
        return ControllerLines(BrokerId(self.controller), ControllerEpoch(self.epoch))

    def decide(self, now: int, line: StateChange) -> None:
        self.write(now, self.controller, "state-change", line)

    def write(self, now: int, broker: int, log: str, line: StateChange) -> None:
        self.lines.append((now, f"broker-{broker}/{log}.log", line.entry(stamp(now))))

    def server(self, now: int, broker: int, text: str, *, is_whole: bool = False) -> None:
        said = text if is_whole else f"[KafkaServer id={broker}] {text} (kafka.server.KafkaServer)"
        self.lines.append((now, f"broker-{broker}/server.log", f"[{stamp(now)}] INFO {said}\n"))

    def logs(self, dropped: set[int]) -> dict[str, str]:
        kept: dict[str, str] = {}
        for index, (_, name, text) in enumerate(sorted(self.lines, key=lambda each: each[0])):
            if index not in dropped:
                kept[name] = kept.get(name, "") + text
        return kept


def stamp(ms: int) -> str:
    return at(ms).isoformat(" ", timespec="milliseconds").replace(".", ",")
