"""One Spark session for all tests of the analysis: starting one takes seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.derived.store import derive_here
from barnabas.analysis.reading.blocks import BlockReader, Origin
from barnabas.analysis.reading.times import Clock
from barnabas.analysis.runtime import gateway
from barnabas.analysis.runtime.engine import framed, in_this_process, settled
from barnabas.analysis.runtime.session import Amount, spark_session
from barnabas.analysis.scan import events, plain
from barnabas.analysis.sources import find
from barnabas.cluster.model.epochs import ControllerEpoch, LeaderEpoch, PartitionVersion
from barnabas.cluster.model.ids import NO_LEADER, BrokerId, Offset, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import UpdateMetadataPartition
from barnabas.cluster.model.statechange import BrokerLines, ControllerLines, RequestLines, StateChange

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
    """Broker 1 is killed; broker 2 takes over both, another partition is lost, one line is unknown."""
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
    with spark_session(Amount.SMALL) as session:
        yield session
    # Java ends with its standard input. At the interpreter's end it would be reported like a failure.
    for java in gateway._started:
        java.communicate()


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
        (folder / name / "kafkaServer.out").write_text("not to be read\n")
    return folder


def settled_by_spark(frame: DataFrame) -> DataFrame:
    """The rows of a frame of Spark without the way to them: what is asked of it has a short plan.

    In one piece, as no rows need to be brought together then.
    """
    return frame.sparkSession.createDataFrame(frame.toArrow(), frame.schema).coalesce(1)


@pytest.fixture
def here() -> Iterator[None]:
    """Tables and questions by this process. ``runtime/test_engine.py`` compares them with Spark's."""
    with in_this_process():
        yield


@pytest.fixture(scope="session")
def table(spark: SparkSession, logs: Path) -> DataFrame:
    return settled_by_spark(events(spark, find([logs])))


Read = Callable[..., DataFrame]


@pytest.fixture(scope="session")
def read() -> Read:
    """The table of events of hand-made logs: ``read("text of a log", "of another", …)``."""

    def events_of(*logs: str) -> DataFrame:
        reader = BlockReader(Clock(UTC), lambda _: None)
        rows = [
            plain(reader.read(log.encode(), Origin(f"file:///log-{number}", 0, 1)).rows)
            for number, log in enumerate(logs)
        ]
        return framed(pa.Table.from_batches(rows))

    return events_of


def written(rows: pa.Table, folder: Path) -> None:
    """Write a table into a new folder."""
    folder.mkdir()
    pq.write_table(rows, folder / "part-0.parquet")


ORDERS = [TopicPartition("orders", number) for number in range(4)]
THREE = BrokerId(3)
REPLICAS = [(ONE, TWO, THREE), (TWO, THREE, ONE), (THREE, ONE, TWO), (ONE, THREE, TWO)]
FIRST_0, FIRST_1, ALONE_0 = TopicPartition("first", 0), TopicPartition("first", 1), TopicPartition("alone", 0)
ASSIGNED = {FIRST_0: (TWO, ONE, THREE), FIRST_1: (TWO, THREE, ONE), ALONE_0: (TWO,)}
REPLICAS_OF = {**dict(zip(ORDERS, REPLICAS, strict=True)), **ASSIGNED}


def when(moment: str, line: StateChange) -> str:
    return line.entry(f"2026-11-21 {moment}")


def leads(broker: BrokerId, tp: TopicPartition, state: LeaderAndIsr) -> StateChange:
    return BrokerLines(broker).leader_starts(
        tp,
        state.leader_epoch,
        Offset(70),
        high_watermark=Offset(70),
        isr=state.isr,
        assignment=Assignment(REPLICAS_OF[tp]),
        previous_leader_epoch=LeaderEpoch(state.leader_epoch - 1),
    )


def follows(broker: BrokerId, tp: TopicPartition, state: LeaderAndIsr) -> StateChange:
    return BrokerLines(broker).follower_starts(
        tp, state.leader_epoch, Offset(70), high_watermark=Offset(70), previous_leader_epoch=LeaderEpoch(0)
    )


BORN = [LeaderAndIsr.initial(replicas[0], replicas) for replicas in REPLICAS]
ALONE = replace(BORN[3], isr=(ONE,)).written_as(PartitionVersion(2))
MOVED = BORN[0].new_leader(TWO, (TWO, THREE)).written_as(PartitionVersion(1))
SHRUNK = BORN[1].new_leader(TWO, (TWO, THREE)).written_as(PartitionVersion(1))
NOBODY = ALONE.new_leader(NO_LEADER, (ONE,)).written_as(PartitionVersion(3))
BACK = NOBODY.new_leader(ONE, (ONE,)).written_as(PartitionVersion(4))


def stall_of_orders_3() -> tuple[str, str, str]:
    """The logs of three brokers, in which writes to orders-3 stall at 03:12.

    Broker 1 is controller in epoch 7 and leads orders-0 and orders-3; at 03:09 orders-3 has nobody else in
    sync. Broker 1 dies at 03:12:02. Broker 2 becomes controller at 03:12:08: it gives orders-0 a new leader,
    takes broker 1 out of the ISR of the others and finds nobody for orders-3, until broker 1 is back at
    03:14:40. The clock of broker 3 is 40 ms behind.
    """
    return stalled_1(), stalled_2(), stalled_3()


def stalled_1() -> str:
    controller = ControllerLines(ONE, ControllerEpoch(7))
    before, after = (
        RequestLines(ONE, ONE, ControllerEpoch(7), 9),
        RequestLines(ONE, TWO, ControllerEpoch(8), 1),
    )
    created = [
        when("03:00:00,000", controller.partition_new(tp, "NonExistentPartition", replicas))
        for tp, replicas in zip(ORDERS, REPLICAS, strict=True)
    ]
    online = [
        when("03:00:00,010", controller.partition_online(tp, "NewPartition", state))
        for tp, state in zip(ORDERS, BORN, strict=True)
    ]
    sent = [
        when("03:00:00,020", controller.sending_leader_and_isr_batch(broker, 1, 3))
        for broker in (ONE, TWO, THREE)
    ]
    return "".join(
        (
            *created,
            *online,
            *sent,
            when("03:00:00,030", leads(ONE, ORDERS[0], BORN[0])),
            when("03:00:00,031", leads(ONE, ORDERS[3], BORN[3])),
            when("03:12:02,000", before.updated_metadata(1, 0)),
            when("03:14:40,500", after.handling_leader_and_isr(4)),
            when("03:14:40,530", leads(ONE, ORDERS[3], BACK)),
            when("03:14:40,560", after.finished_leader_and_isr(60, 4)),
        )
    )


def stalled_2() -> str:
    controller = ControllerLines(TWO, ControllerEpoch(8))
    before, after = (
        RequestLines(TWO, ONE, ControllerEpoch(7), 5),
        RequestLines(TWO, TWO, ControllerEpoch(8), 1),
    )
    alone = PartitionState(ALONE, ControllerEpoch(7))
    seen = UpdateMetadataPartition(ORDERS[3], alone, REPLICAS[3], ())
    lost = "kafka.common.StateChangeFailedException: Failed to elect leader for partition orders-3"
    failed = controller.partition_failed(ORDERS[3], "OfflinePartition", "OnlinePartition", lost)
    epoch = ControllerEpoch(8)
    return "".join(
        (
            when("03:00:00,032", leads(TWO, ORDERS[1], BORN[1])),
            when("03:09:00,000", before.cached_metadata(seen)),
            when("03:12:08,000", controller.sending_update_metadata_batch((TWO, THREE), 4)),
            when("03:12:08,010", controller.partition_online(ORDERS[0], "OfflinePartition", MOVED)),
            when("03:12:08,011", failed),
            when("03:12:08,012", controller.sending_leader_and_isr_batch(TWO, 1, 0)),
            when("03:12:08,013", controller.sending_leader_and_isr_batch(THREE, 0, 1)),
            when("03:12:08,020", controller.removed_from_isr(ORDERS[1], PartitionState(SHRUNK, epoch), ONE)),
            when("03:12:08,021", controller.removed_from_isr(ORDERS[3], PartitionState(NOBODY, epoch), ONE)),
            when("03:12:08,030", after.handling_leader_and_isr(1)),
            when("03:12:08,050", leads(TWO, ORDERS[0], MOVED)),
            when("03:12:08,060", after.finished_leader_and_isr(30, 1)),
            when("03:14:40,400", controller.partition_online(ORDERS[3], "OfflinePartition", BACK)),
            when("03:14:40,410", controller.sending_leader_and_isr_batch(ONE, 1, 3)),
        )
    )


def stalled_3() -> str:
    after = RequestLines(THREE, TWO, ControllerEpoch(8), 1)
    return "".join(
        (
            when("02:59:59,990", leads(THREE, ORDERS[2], BORN[2])),
            when("03:12:08,005", after.handling_leader_and_isr(1)),
            when("03:12:08,009", follows(THREE, ORDERS[0], MOVED)),
            when("03:12:08,015", after.finished_leader_and_isr(10, 1)),
            "[2026-11-21 03:12:09,000] INFO [Broker id=3] Danced around orders-2 (state.change.logger)\n",
        )
    )


@pytest.fixture(scope="session")
def stored(read: Read, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tables of the stall of orders-3; one of a former run was in it."""
    folder = tmp_path_factory.mktemp("stored")
    events = read(*stall_of_orders_3()).toArrow()
    for name, rows in (("events", events), ("lives", events.slice(0, 1))):
        written(rows, folder / name)
    with in_this_process(), derive_here(folder):
        pass
    return folder


@pytest.fixture(scope="session")
def story(stored: Path) -> Mapping[str, DataFrame]:
    """The stall of orders-3: events and all tables derived from them."""
    names = ("events", *(table.name for table in DERIVED))
    return {name: framed(pq.read_table(stored / name)) for name in names}


@pytest.fixture(scope="session")
def beginning(read: Read) -> Mapping[str, DataFrame]:
    """Events and derived tables of a cluster that never led anything.

    Broker 1 as controller finds nobody to lead the first partition; a second later broker 2 is controller.
    """
    tp, one = TopicPartition("new", 0), ControllerLines(ONE, ControllerEpoch(1))
    two = ControllerLines(TWO, ControllerEpoch(2))
    nobody = "kafka.common.X: nobody is alive"
    log = (
        when("10:00:01,000", one.partition_new(tp, "NonExistentPartition", (TWO,)))
        + when("10:00:01,000", one.partition_failed(tp, "NewPartition", "OnlinePartition", nobody))
        + when("10:00:02,000", two.sending_update_metadata_batch((TWO,), 0))
    )
    return derived(read(log))


def derived(events: DataFrame) -> Mapping[str, DataFrame]:
    """Events and all tables derived from them."""
    tables = {"events": events}
    with in_this_process():
        for table in DERIVED:
            tables[table.name] = settled(table.of(tables))
    return tables


HEIRS = {FIRST_0: ONE, FIRST_1: THREE}


def killed_logs() -> tuple[str, str, str]:
    """Broker 2 leads three partitions and is killed; two move to brokers 1 and 3 within a millisecond.

    Broker 2 is the only replica of alone-0, which waits for it. All clocks agree, and the last follower
    followed before the last leader led: they are of different partitions.
    """
    controller, epoch = ControllerLines(ONE, ControllerEpoch(1)), ControllerEpoch(1)
    born = {tp: LeaderAndIsr.initial(TWO, replicas) for tp, replicas in ASSIGNED.items()}
    moved = {
        tp: born[tp].new_leader(heir, (ONE, THREE)).written_as(PartitionVersion(1))
        for tp, heir in HEIRS.items()
    }
    nobody = born[ALONE_0].new_leader(NO_LEADER, (TWO,)).written_as(PartitionVersion(1))
    back = nobody.new_leader(TWO, (TWO,)).written_as(PartitionVersion(2))
    lost = PartitionState(nobody, epoch)
    first = [
        *(
            when("00:53:00,000", controller.partition_new(tp, "NonExistentPartition", ASSIGNED[tp]))
            + when("00:53:00,010", controller.partition_online(tp, "NewPartition", born[tp]))
            for tp in ASSIGNED
        ),
        when("00:53:25,800", controller.partition_online(FIRST_0, "OfflinePartition", moved[FIRST_0])),
        when("00:53:25,801", controller.partition_online(FIRST_1, "OfflinePartition", moved[FIRST_1])),
        when("00:53:25,802", controller.removed_from_isr(ALONE_0, lost, TWO)),
        when("00:53:25,803", controller.sending_leader_and_isr_batch(ONE, 1, 1)),
        when("00:53:25,804", controller.sending_leader_and_isr_batch(THREE, 1, 1)),
        when("00:53:25,807", follows(ONE, FIRST_1, moved[FIRST_1])),
        when("00:53:25,810", leads(ONE, FIRST_0, moved[FIRST_0])),
        when("00:53:40,600", controller.partition_online(ALONE_0, "OfflinePartition", back)),
    ]
    second = [
        *(when("00:53:00,030", leads(TWO, tp, born[tp])) for tp in ASSIGNED),
        when("00:53:22,000", RequestLines(TWO, ONE, epoch, 3).updated_metadata(1, 0)),
        when("00:53:40,635", leads(TWO, ALONE_0, back)),
    ]
    third = [
        when("00:53:25,808", follows(THREE, FIRST_0, moved[FIRST_0])),
        when("00:53:25,824", leads(THREE, FIRST_1, moved[FIRST_1])),
    ]
    return "".join(first), "".join(second), "".join(third)


@pytest.fixture(scope="session")
def killed(read: Read) -> Mapping[str, DataFrame]:
    """The tables of all three logs of ``killed_logs``."""
    return derived(read(*killed_logs()))


@pytest.fixture(scope="session")
def survivor(read: Read) -> Mapping[str, DataFrame]:
    """The tables of the log of broker 1 alone: how long broker 2 lived it does not say."""
    return derived(read(killed_logs()[0]))


@pytest.fixture(scope="session")
def unseen(read: Read) -> Mapping[str, DataFrame]:
    """The tables of one line of Kafka 2.x: a partition has no leader, and nothing says who led it."""
    return derived(
        read(
            "[2019-05-28 20:06:27,770] TRACE [Controller id=0 epoch=6] Sending become-follower LeaderAndIsr "
            "request PartitionState(controllerEpoch=5, leader=-1, leaderEpoch=3, isr=0, zkVersion=3, "
            "replicas=0, isNew=false) to broker 0 for partition prueba-0 (state.change.logger)\n"
        )
    )
