"""A generator of reproducible logs of any length: a cluster at TRACE with continuous failovers.

The lines are those of release 2.8, the release that our brokers are, in the proportions of a failover: the
controller's decisions, what it sends, what brokers receive, do and cache, and some failures with their
traces. The generator has its own random numbers and texts, and uses neither the analysis nor the servers' log
code.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple, TextIO

BROKERS = (1, 2, 3)
_BEGIN = datetime(2026, 11, 21, tzinfo=UTC)
_END = " (state.change.logger)\n"
_FRAME = "\tat kafka.controller.ZkPartitionStateMachine.doElectLeaderForPartitions(StateMachine.scala:427)\n"
_TRACE = (
    "kafka.common.StateChangeFailedException: Failed to elect leader for partition {} under strategy "
    "OfflinePartitionLeaderElectionStrategy(false)\n"
)
_TOPICS = (
    *(f"orders-{number}" for number in range(40)),
    *(f"web.click_stream-{number}" for number in range(20)),
    "__consumer_offsets",
)
_PARTITIONS = 48
_TOGETHER = 8
"""The number of partitions in a request."""


def write_logs(folder: Path, lines: int) -> list[Path]:
    """Write the logs of three brokers with at least ``lines`` entries together.

    Returns:
        The files, one for each broker in a separate folder.
    """
    paths = [folder / f"broker-{broker}" / "state-change.log" for broker in BROKERS]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
    with paths[0].open("w") as one, paths[1].open("w") as two, paths[2].open("w") as three:
        cluster = _Cluster(random.Random(1), dict(zip(BROKERS, (one, two, three), strict=True)))
        while cluster.entries < lines:
            cluster.fail_over()
    return paths


class _State(NamedTuple):
    """The latest state of a partition: as in Kafka, its epochs rise and its next leader is in sync."""

    isr: Sequence[int]
    epoch: int
    version: int


class _Cluster:
    """A simulated cluster that logs one failover after the other, with broker 1 as controller."""

    def __init__(self, dice: random.Random, logs: dict[int, TextIO]) -> None:
        self._dice = dice
        self._logs = logs
        self._milliseconds = 0
        self._correlation = 0
        self._states: dict[str, _State] = {}
        self.entries = 0

    def fail_over(self) -> None:
        """Log a failover that moves some partitions to other leaders."""
        self._correlation += 1
        for _ in range(_TOGETHER):
            self._milliseconds += self._dice.randrange(3)
            self._move(self._stamp())
        self._answer(self._stamp())

    def _stamp(self) -> str:
        now = _BEGIN + timedelta(milliseconds=self._milliseconds)
        return f"[{now:%Y-%m-%d %H:%M:%S},{self._milliseconds % 1000:03}]"

    def _say(self, broker: int, text: str) -> None:
        self._logs[broker].write(text)
        self.entries += 1

    def _move(self, stamp: str) -> None:
        dice, correlation = self._dice, self._correlation
        tp = f"{dice.choice(_TOPICS)}-{dice.randrange(_PARTITIONS)}"
        former = self._states.get(tp, _State(BROKERS, -1, -1))
        leader, epoch = dice.choice(former.isr), former.epoch + 1
        others = [broker for broker in BROKERS if broker != leader]
        isr = [leader, *dice.sample(others, dice.randint(0, len(others)))]
        version = former.version + dice.randint(1, 2)
        self._states[tp] = _State(isr, epoch, version)
        lost = next((broker for broker in BROKERS if broker not in isr), 3)
        controller = "[Controller id=1 epoch=3] "
        for level, text in _decided(tp, isr, epoch, version, lost):
            self._say(1, f"{stamp} {level} {controller}{text}{_END}")
        state = _state(tp, isr, epoch, version)
        request = f"LeaderAndIsrPartitionState({state}, addingReplicas=[], removingReplicas=[], isNew=false)"
        self._say(
            1,
            f"{stamp} TRACE {controller}Sending become-leader LeaderAndIsr request {request} to broker "
            f"{leader} for partition {tp}{_END}",
        )
        started = _started(tp, isr, epoch, dice.randrange(10**9), dice.randrange(10**9))
        for level, text in _followed(tp, correlation, request, started):
            self._say(leader, f"{stamp} {level} [Broker id={leader}] {text}{_END}")
        for broker in BROKERS:
            self._say(
                broker,
                f"{stamp} TRACE [Broker id={broker}] Cached leader info "
                f"UpdateMetadataPartitionState({state}, offlineReplicas=[]) for partition {tp} "
                f"in response to UpdateMetadata request sent by "
                f"controller 1 epoch 3 with correlation id {correlation}{_END}",
            )
        if dice.random() < 0.005:
            self._say(
                1,
                f"{stamp} ERROR {controller}Controller 1 epoch 3 failed to change state for partition {tp} "
                f"from OfflinePartition to OnlinePartition{_END}{_TRACE.format(tp)}{_FRAME * 20}",
            )

    def _answer(self, stamp: str) -> None:
        broker = self._dice.choice(BROKERS)
        self._say(
            1,
            f"{stamp} INFO [Controller id=1 epoch=3] Sending UpdateMetadata request to brokers "
            f"HashSet(1, 2, 3) for {_TOGETHER} partitions{_END}",
        )
        self._say(
            broker,
            f"{stamp} INFO [Broker id={broker}] Finished LeaderAndIsr request in "
            f"{self._dice.randrange(900)}ms correlationId {self._correlation} from controller 1 "
            f"for {_TOGETHER} partitions{_END}",
        )
        self._say(
            1,
            f"{stamp} TRACE [Controller id=1 epoch=3] Received response "
            f"LeaderAndIsrResponseData(errorCode=0, partitionErrors=[], topics=[]) for request "
            f"LEADER_AND_ISR with correlation id "
            f"{self._correlation} sent to broker kafka-{broker}:9092 (id: {broker} rack: null){_END}",
        )


def _state(tp: str, isr: list[int], epoch: int, version: int) -> str:
    topic, _, partition = tp.rpartition("-")
    return (
        f"topicName='{topic}', partitionIndex={partition}, controllerEpoch=3, leader={isr[0]}, "
        f"leaderEpoch={epoch}, isr=[{_listed(isr)}], zkVersion={version}, replicas=[1, 2, 3]"
    )


def _decided(tp: str, isr: list[int], epoch: int, version: int, lost: int) -> Iterator[tuple[str, str]]:
    yield "TRACE", f"Changed state of replica {lost} for partition {tp} from OnlineReplica to OfflineReplica"
    yield "TRACE", f"Changed partition {tp} state from OnlinePartition to OfflinePartition"
    online = f"leader={isr[0]}, leaderEpoch={epoch}, isr=List({_listed(isr)}), zkVersion={version}"
    yield (
        "INFO",
        f"Changed partition {tp} from OfflinePartition to OnlinePartition with state LeaderAndIsr({online})",
    )
    state = f"(Leader:{isr[0]},ISR:{','.join(map(str, isr))},LeaderEpoch:{epoch},ZkVersion:{version}"
    removed = f"after removing replica {lost} from the ISR as part of transition to OfflineReplica"
    yield "INFO", f"Partition {tp} state changed to {state},ControllerEpoch:3) {removed}"


def _started(tp: str, isr: list[int], epoch: int, offset: int, high_watermark: int) -> str:
    return (
        f"Leader {tp} starts at leader epoch {epoch} from offset {offset} with high watermark "
        f"{high_watermark} ISR [{','.join(map(str, isr))}] addingReplicas [] removingReplicas []. Previous "
        f"leader epoch was {epoch - 1}."
    )


def _followed(tp: str, correlation: int, request: str, started: str) -> Iterator[tuple[str, str]]:
    by = "from controller 1 epoch 3"
    one = f"LeaderAndIsr request correlationId {correlation} {by}"
    yield "TRACE", f"Received LeaderAndIsr request {request} correlation id {correlation} {by}"
    yield "TRACE", f"Handling {one} starting the become-leader transition for partition {tp}"
    yield "INFO", started
    yield "TRACE", f"Completed {one} for the become-leader transition for partition {tp}"


def _listed(ids: list[int]) -> str:
    return ", ".join(map(str, ids))
