"""Topics that are deleted and created again under their name."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.derived.leaders import DELETED, leaders
from barnabas.analysis.derived.lives import lives, with_life
from barnabas.analysis.derived.states import states
from barnabas.analysis.runtime.engine import settled
from barnabas.cluster.model.epochs import ControllerEpoch, PartitionVersion
from barnabas.cluster.model.ids import NO_LEADER, BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import UpdateMetadataPartition
from barnabas.cluster.model.statechange import ControllerLines, RequestLines

pytestmark = pytest.mark.usefixtures("here")

TP = TopicPartition("again", 0)
ONE, TWO = BrokerId(1), BrokerId(2)


@pytest.fixture(scope="module")
def twice(read: Callable[..., DataFrame]) -> DataFrame:
    """One partition of two incarnations; the second has lines of a broker whose clock is a second behind."""
    controller = ControllerLines(ONE, ControllerEpoch(1))
    first, second = LeaderAndIsr.initial(ONE, (ONE, TWO)), LeaderAndIsr.initial(TWO, (TWO,))
    lines = (
        ("10:00:00,000", controller.partition_new(TP, "NonExistentPartition", (ONE, TWO))),
        ("10:00:00,010", controller.partition_online(TP, "NewPartition", first)),
        ("10:05:00,000", controller.partition_down(TP, "OfflinePartition", "NonExistentPartition")),
        ("10:09:00,000", controller.partition_new(TP, "NonExistentPartition", (TWO,))),
        ("10:09:00,010", controller.partition_online(TP, "NewPartition", second)),
    )
    log = "".join(line.entry(f"2026-11-21 {time}") for time, line in lines)
    behind = (
        "[2026-11-21 10:08:59,020] INFO [Broker id=2] Leader again-0 starts at leader epoch 0 from offset 0 "
        "with high watermark 0 ISR [2] addingReplicas [] removingReplicas []. Previous leader epoch was -1. "
        "(state.change.logger)\n"
    )
    return read(log, behind)


def test_each_creation_begins_an_incarnation(twice: DataFrame) -> None:
    first, second = lives(twice).orderBy("life").collect()
    assert (first["life"], first["born"].minute, first["deleted"].minute, first["replicas"]) == (
        1,
        0,
        5,
        [1, 2],
    )
    assert (second["life"], second["born"].minute, second["deleted"], second["replicas"]) == (2, 9, None, [2])


def test_a_broker_s_line_just_behind_a_creation_belongs_to_it_though_another_follows(
    read: Callable[..., DataFrame],
) -> None:
    controller = ControllerLines(ONE, ControllerEpoch(1))
    made = controller.partition_new(TP, "NonExistentPartition", (ONE,))
    learnt = UpdateMetadataPartition(
        TP, PartitionState(LeaderAndIsr.initial(ONE, (ONE,)), ControllerEpoch(1)), (ONE,), ()
    )
    cached = RequestLines(TWO, ONE, ControllerEpoch(1), 1).cached_metadata(learnt)
    lines = (
        ("09:59:59,500", cached),
        ("10:00:00,000", made),
        ("10:00:00,100", cached),
        ("10:00:00,300", made),
    )
    events = read("".join(line.entry(f"2026-11-21 {time}") for time, line in lines))
    told = with_life(events.where("role = 'broker'"), lives(events)).orderBy("time").collect()
    assert [row["life"] for row in told] == [1, 1]


@pytest.fixture(scope="module")
def deleted(read: Callable[..., DataFrame]) -> DataFrame:
    """A controller's log at INFO: at 10:02 a topic is deleted, at 10:05 broker 2 dies."""
    controller = ControllerLines(ONE, ControllerEpoch(1))
    kept = TopicPartition("kept", 0)
    led = LeaderAndIsr.initial(TWO, (TWO,))

    def gone(state: LeaderAndIsr, epoch: int) -> PartitionState:
        left = state.new_leader(NO_LEADER, (TWO,)).written_as(PartitionVersion(epoch))
        return PartitionState(left, ControllerEpoch(1))

    lines = (
        ("10:00:00,010", controller.partition_online(TP, "NewPartition", led)),
        ("10:00:00,010", controller.partition_online(kept, "NewPartition", led)),
        ("10:02:00,990", controller.removed_from_isr(TP, gone(led, 1), TWO)),
        ("10:02:01,010", controller.sending_stop_replica_batch(1, TWO)),
        ("10:05:00,000", controller.removed_from_isr(kept, gone(led, 1), TWO)),
    )
    return read("".join(line.entry(f"2026-11-21 {time}") for time, line in lines))


def test_a_deletion_at_info_is_no_outage(deleted: DataFrame) -> None:
    (row,) = lives(deleted).where("deleted is not null").collect()
    assert (row["topic"], row["deleted"].minute) == ("again", 2)


def test_equal_leader_epochs_of_two_incarnations_are_two_leaderships(twice: DataFrame) -> None:
    born = settled(lives(twice))
    first, second = leaders(settled(states(twice, born)), born).orderBy("life").collect()
    assert (first["leader"], first["until"].minute, first["ended"]) == (1, 5, DELETED)
    assert (second["leader"], second["led_at"].second, second["until"]) == (2, 59, None)


def leads(time: str, epoch: int, topic_id: str = "") -> str:
    named = f" with topic id Some({topic_id})" if topic_id else ""
    state = (
        f" with partition epoch {epoch}, high watermark 0, ISR [1], "
        if topic_id
        else " with high watermark 0 ISR [1] "
    )
    assigned = (
        "adding replicas [] and removing replicas [] ."
        if topic_id
        else "addingReplicas [] removingReplicas []."
    )
    return (
        f"[2026-11-21 {time}] INFO [Broker id=1] Leader again-0{named} starts at leader epoch {epoch} from "
        f"offset 0{state}{assigned} Previous leader epoch was -1. (state.change.logger)\n"
    )


@pytest.mark.parametrize(
    ("log", "born"),
    [
        (leads("10:00:00,000", 6, "A" * 22) + leads("10:00:30,000", 0, "B" * 22), ["10:00:30"]),
        (leads("10:00:00,000", 6, "A" * 22) + leads("10:30:00,000", 7, "A" * 22), []),
        (leads("10:00:00,000", 6) + leads("10:30:00,000", 0) + leads("10:31:00,000", 1), ["10:30:00"]),
        (leads("10:00:00,000", 6) + leads("10:00:30,000", 0), []),
        (leads("10:00:00,000", 0) + leads("10:30:00,000", 0), []),
    ],
    ids=["another id", "the same id", "epoch 0 long after 6", "epoch 0 soon after 6", "a restart in epoch 0"],
)
def test_without_a_line_about_its_creation_a_topic_is_known_by_its_id_or_epoch(
    log: str, born: list[str], read: Callable[..., DataFrame]
) -> None:
    assert [str(row["born"].time()) for row in lives(read(log)).orderBy("born").collect()] == born


@pytest.mark.parametrize(
    "named", [None, "10:30:00,500"], ids=["another cluster", "created again, by a late clock"]
)
def test_another_topic_id_after_a_creation_in_the_logs_begins_an_incarnation(
    named: str | None, read: Callable[..., DataFrame]
) -> None:
    controller = ControllerLines(ONE, ControllerEpoch(1))
    new = controller.partition_new(TP, "NonExistentPartition", (ONE,))
    log = new.entry("2026-11-21 10:00:00,500") + leads("10:00:00,000", 0, "A" * 22)
    log += leads("10:30:00,000", 0, "B" * 22) + leads("10:40:00,000", 1, "B" * 22)
    log += "" if named is None else new.entry(f"2026-11-21 {named}")
    second = "10:30:00" if named is None else "10:30:00.500000"
    born = [str(row["born"].time()) for row in lives(read(log)).orderBy("born").collect()]
    assert born == ["10:00:00.500000", second]
