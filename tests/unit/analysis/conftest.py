"""One Spark session for all tests of the analysis: starting one takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from analysis.scan import events
from analysis.session import spark_session
from analysis.sources import find
from cluster.model.epochs import ControllerEpoch, LeaderEpoch, PartitionVersion
from cluster.model.ids import NO_LEADER, BrokerId, Offset, TopicPartition
from cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from cluster.model.statechange import BrokerLines, ControllerLines, RequestLines, StateChange

TP = TopicPartition("a-b", 0)
ONE, TWO = BrokerId(1), BrokerId(2)
FIRST = LeaderAndIsr.initial(ONE, (ONE, TWO))
GONE = FIRST.new_leader(NO_LEADER, (TWO,)).written_as(PartitionVersion(1))
SECOND = GONE.new_leader(TWO, (TWO,)).written_as(PartitionVersion(2))
TRACE = (
    "kafka.common.StateChangeFailedException: Failed to elect leader for partition lost-0\n"
    "\tat kafka.controller.ZkPartitionStateMachine.doElectLeaderForPartitions(X.scala:366)\n"
    "Caused by: java.lang.Exception: [not an entry]"
)


def starts(broker: BrokerId, state: LeaderAndIsr, offset: int, before: int) -> StateChange:
    return BrokerLines(broker).leader_starts(
        TP,
        state.leader_epoch,
        Offset(offset),
        high_watermark=Offset(offset),
        isr=state.isr,
        assignment=Assignment((ONE, TWO)),
        previous_leader_epoch=LeaderEpoch(before),
    )


def at(second: int, millisecond: int, line: StateChange) -> str:
    return line.entry(f"2026-11-21 03:12:{second:02},{millisecond:03}")


def broker_1() -> str:
    """A topic of one partition is created; broker 1 leads it and is controller."""
    controller = ControllerLines(ONE, ControllerEpoch(1))
    return (
        at(0, 0, controller.partition_new(TP, "NonExistentPartition", (ONE, TWO)))
        + at(0, 10, controller.partition_online(TP, "NewPartition", FIRST))
        + at(0, 30, starts(ONE, FIRST, 0, -1))
    )


def broker_2() -> str:
    """Broker 1 is killed; broker 2 takes over both, another partition is lost, one line is unheard of."""
    controller = ControllerLines(TWO, ControllerEpoch(2))
    request = RequestLines(TWO, ONE, ControllerEpoch(1), 1)
    lost = controller.partition_failed(
        TopicPartition("lost", 0), "OfflinePartition", "OnlinePartition", cause=TRACE
    )
    return (
        at(0, 40, request.handling_leader_and_isr(1))
        + at(0, 41, request.updated_metadata(1, 0))
        + at(6, 500, lost)
        + at(6, 505, controller.removed_from_isr(TP, PartitionState(GONE, ControllerEpoch(2)), ONE))
        + at(6, 510, controller.partition_online(TP, "OfflinePartition", SECOND))
        + at(6, 530, starts(TWO, SECOND, 7, 0))
        + "[2026-11-21 03:12:07,000] INFO [Controller id=2 epoch=2] Danced around partition a-b-0 "
        + "(state.change.logger)\n"
    )


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with spark_session("barnabas tests", brief=True) as session:
        session.conf.set("spark.sql.shuffle.partitions", "2")
        yield session


@pytest.fixture(scope="session")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two brokers' folders: one log with LF, the other with CRLF, NUL bytes and a byte that is no UTF-8."""
    folder = tmp_path_factory.mktemp("logs")
    for name, text in (("broker-1", broker_1()), ("broker-2", broker_2())):
        (folder / name).mkdir()
        content = text.encode()
        if name == "broker-2":
            content = b"\0" * 9 + content.replace(b"\n", b"\r\n").replace(b"Danced", b"Danc\xffd")
        (folder / name / "state-change.log").write_bytes(content)
        (folder / name / "server.log").write_text("not to be read\n")
    return folder


@pytest.fixture(scope="session")
def table(spark: SparkSession, logs: Path) -> DataFrame:
    return events(spark, find([logs])).cache()
