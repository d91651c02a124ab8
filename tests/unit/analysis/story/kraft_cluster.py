"""A simulated cluster that writes what Kafka 3.7 with KRaft writes at INFO."""

from __future__ import annotations

from dataclasses import dataclass, field

from barnabas.cluster.model.ids import NO_LEADER
from barnabas.cluster.model.partition import LeaderAndIsr
from barnabas.cluster.model.statechange import StateChange
from tests.unit.analysis.story.cluster import BROKERS, PARTITIONS, SESSION_MS, Cluster, stamp

CONTROLLER = 100
"""A controller that is no broker, and never fails."""

SAYINGS = {
    "starting (kafka.server.KafkaServer)": "BrokerServer|Transition from SHUTDOWN to STARTING",
    "started": "BrokerServer|Transition from STARTING to STARTED",
    "Starting controlled shutdown": "BrokerLifecycleManager|Beginning controlled shutdown.",
    "Controlled shutdown succeeded": (
        "BrokerLifecycleManager|The controller has asked us to exit controlled shutdown."
    ),
    "Proceeding to do an unclean shutdown as all the controlled shutdown attempts failed": (
        "BrokerLifecycleManager|Timed out waiting for the controller to approve controlled shutdown"
    ),
    "shut down completed": "BrokerServer|shut down completed",
}
"""The words of brokers with ZooKeeper, and after the class those of brokers with KRaft."""


@dataclass
class KraftCluster(Cluster):
    """As ``Cluster``: the controller logs who is fenced, and the brokers log the leaders they learn of."""

    alive: set[int] = field(default_factory=lambda: {*BROKERS, CONTROLLER})
    known: set[int] = field(default_factory=lambda: {*BROKERS, CONTROLLER})
    controller: int = CONTROLLER
    killed: set[int] = field(default_factory=set)

    def kill(self, now: int, broker: int) -> None:
        if broker in self.alive:
            self.gone(now, broker)
            self.killed.add(broker)
            self.later(now + SESSION_MS, lambda due: self.notice(due, broker))

    def notice(self, now: int, broker: int) -> None:
        if broker in self.killed:
            text = f"Fencing broker {broker} because its session has timed out."
            self.controls(now, text, "ReplicationControlManager")
        self.killed.discard(broker)
        super().notice(now, broker)

    def join(self, now: int, broker: int) -> None:
        text = (
            f"The request from broker {broker} to unfence has been granted because it has caught up with the "
            f"offset of its register broker record {now}."
        )
        self.controls(now, text, "BrokerHeartbeatManager")
        super().join(now, broker)

    def handle(self, now: int, broker: int) -> None:
        super().handle(now, broker)
        for topic, state in self.states.items():
            if state.leader == NO_LEADER:
                self.follow(now + 10, topic, state)

    def talk(self, now: int, broker: int) -> None:
        if broker in self.alive:
            self.said(now, broker, "Stopped fetchers as part of become-follower for 1 partitions")

    def decide(self, now: int, line: StateChange) -> None:
        """A KRaft controller logs no decision about a partition at INFO."""

    def leads(self, now: int, topic: str, before: int) -> None:
        state = self.states[topic]
        self.said(
            now, state.leader,
            f"Leader {topic}-0 with topic id Some(hI41ERKGSAiW3h1ucq6V2g) starts at leader epoch "
            f"{state.leader_epoch} from offset 7 with partition epoch {state.version}, high watermark 7, ISR "
            f"[{','.join(map(str, state.isr))}], adding replicas [] and removing replicas [] . Previous "
            f"leader None and previous leader epoch was {before}.",
        )  # fmt: skip
        self.follow(now, topic, state)

    def follow(self, now: int, topic: str, state: LeaderAndIsr) -> None:
        for broker in sorted(set(PARTITIONS[topic]) & self.alive - {state.leader}):
            self.said(
                now, broker,
                f"Follower {topic}-0 starts at leader epoch {state.leader_epoch} from offset 7 with "
                f"partition epoch {state.version} and high watermark 7. Current leader is {state.leader}. "
                "Previous leader Some(-1) and previous leader epoch was 0.",
            )  # fmt: skip

    def said(self, now: int, broker: int, text: str) -> None:
        entry = f"[{stamp(now)}] INFO [Broker id={broker}] {text} (state.change.logger)\n"
        self.lines.append((now, f"broker-{broker}/state-change.log", entry))

    def controls(self, now: int, text: str, name: str) -> None:
        logger = f"org.apache.kafka.controller.{name}"
        entry = f"[{stamp(now)}] INFO [QuorumController id={CONTROLLER}] {text} ({logger})\n"
        self.lines.append((now, f"broker-{CONTROLLER}/controller.log", entry))

    def server(self, now: int, broker: int, text: str, *, is_whole: bool = False) -> None:
        if text not in SAYINGS:
            super().server(now, broker, text, is_whole=is_whole)
            return
        name, _, words = SAYINGS[text].partition("|")
        entry = f"[{stamp(now)}] INFO [{name} id={broker}] {words} (kafka.server.{name})\n"
        self.lines.append((now, f"broker-{broker}/server.log", entry))
