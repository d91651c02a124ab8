"""Topics that are deleted and created again under their name."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame

from analysis.derived.leaders import DELETED, leaders
from analysis.derived.lives import lives
from analysis.derived.states import states
from cluster.model.epochs import ControllerEpoch
from cluster.model.ids import BrokerId, TopicPartition
from cluster.model.partition import LeaderAndIsr
from cluster.model.statechange import ControllerLines

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

TP = TopicPartition("again", 0)
ONE, TWO = BrokerId(1), BrokerId(2)


@pytest.fixture(scope="module")
def twice(read: Callable[..., DataFrame]) -> DataFrame:
    """One partition of two lives; of the second a broker speaks whose clock is a second behind."""
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


def test_each_creation_begins_a_life(twice: DataFrame) -> None:
    first, second = lives(twice).orderBy("life").collect()
    assert (first["life"], first["born"].minute, first["deleted"].minute, first["replicas"]) == (
        1,
        0,
        5,
        [1, 2],
    )
    assert (second["life"], second["born"].minute, second["deleted"], second["replicas"]) == (2, 9, None, [2])


def test_equal_epochs_of_two_lives_are_two_reigns(
    twice: DataFrame, settle: Callable[[DataFrame], DataFrame]
) -> None:
    first, second = leaders(settle(states(twice)), settle(lives(twice))).orderBy("life").collect()
    assert (first["leader"], first["until"].minute, first["ended"]) == (1, 5, DELETED)
    assert (second["leader"], second["led_at"].second, second["until"]) == (2, 59, None)
