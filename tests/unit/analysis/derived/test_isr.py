"""The size of the ISR over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.derived.isr import isr
from barnabas.analysis.derived.lives import lives
from barnabas.analysis.derived.states import states
from barnabas.analysis.runtime.engine import settled
from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr
from barnabas.cluster.model.statechange import ControllerLines

pytestmark = pytest.mark.usefixtures("here")


def test_each_change_is_a_row_and_unseen_steps_are_counted(story: Mapping[str, DataFrame]) -> None:
    whole, alone = story["isr"].where("partition = 3").orderBy("version").collect()
    assert (whole["size"], whole["assigned"], whole["left"], whole["until"].minute) == (3, 3, [], 9)
    assert (alone["size"], sorted(alone["left"]), alone["joined"], alone["unseen"]) == (1, [2, 3], [], 1)
    # The ISR stays [1] through two more leader epochs, so there is no further row.
    assert (alone["until"], alone["since"].minute) == (None, 9)


def test_a_removal_by_the_controller_is_seen_at_once(story: Mapping[str, DataFrame]) -> None:
    _, shrunk = story["isr"].where("partition = 1").orderBy("version").collect()
    assert (shrunk["left"], shrunk["size"], shrunk["unseen"], shrunk["since"].second) == ([1], 2, 0, 8)


def test_the_leader_s_server_log_tells_each_change_at_once(read: Callable[..., DataFrame]) -> None:
    tp, replicas = TopicPartition("a-b", 0), (BrokerId(1), BrokerId(2))
    born = ControllerLines(BrokerId(1), ControllerEpoch(1)).partition_online(
        tp, "NewPartition", LeaderAndIsr.initial(BrokerId(1), replicas)
    )
    said = (
        "[2026-11-21 10:00:0{0},000] INFO [Partition a-b-0 broker={1}] ISR updated to {2} and version "
        "updated to [{0}] (kafka.cluster.Partition)\n"
    )
    server = said.format(1, 1, "1") + "[2026-11-21 10:00:01,500] INFO [KafkaServer id=1] started (x.Y)\n"
    # Broker 2 led nothing: what it says of an ISR cannot be placed.
    events = read(
        born.entry("2026-11-21 10:00:00,000"), server + said.format(2, 1, "1,2"), said.format(3, 2, "2")
    )
    born = settled(lives(events))
    rows = isr(settled(states(events, born)), born).orderBy("version").collect()
    assert [
        (row["version"], row["leader_epoch"], row["size"], row["left"], row["joined"]) for row in rows
    ] == [
        (0, 0, 2, [], []),
        (1, 0, 1, [2], []),
        (2, 0, 2, [], [2]),
    ]
    assert [(row["since"].second, row["unseen"], row["seen_until"]) for row in rows[1:]] == [
        (1, 0, None),
        (2, 0, None),
    ]
