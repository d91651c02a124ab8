"""All lines about one state of a partition become one row."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.derived.lives import lives
from barnabas.analysis.derived.states import states
from barnabas.analysis.runtime.engine import sf

pytestmark = pytest.mark.usefixtures("here")


def test_a_state_is_one_row_however_many_lines_hold_it(story: Mapping[str, DataFrame]) -> None:
    rows = story["states"].where("partition = 3").orderBy("version").collect()
    assert [(row["leader_epoch"], row["version"], row["leader"], row["isr"]) for row in rows] == [
        (0, 0, 1, [1, 3, 2]),
        (0, 2, 1, [1]),
        (1, 3, -1, [1]),
        (2, 4, 1, [1]),
    ]
    born, alone, _, back = rows
    assert (born["decided"].second, born["led_at"].microsecond, born["from"]) == (0, 31_000, "NewPartition")
    assert (alone["decided"], alone["first_logged"].minute, alone["controller_epoch"]) == (None, 9, 7)
    assert {row["changed"] for row in rows} == {None}
    assert (back["controller"], back["controller_epoch"], back["replicas"]) == (2, 8, None)
    assert "from OfflinePartition to OnlinePartition" in back["raw"]


def test_a_line_in_two_files_changes_nothing(story: Mapping[str, DataFrame]) -> None:
    copied = story["events"].withColumn("source", sf.concat("source", sf.lit("-copy")))
    twice = states(story["events"].union(copied), story["lives"])
    assert sorted(map(str, twice.collect())) == sorted(map(str, story["states"].collect()))


def test_a_leader_changes_the_isr_in_the_leader_epoch_in_which_it_last_said_that_it_leads(
    read: Callable[..., DataFrame],
) -> None:
    def own(second: int, epoch: int) -> str:
        return (
            f"[2026-11-26 00:00:{second:02},000] INFO [Broker id=2] Leader a-0 starts at leader epoch "
            f"{epoch} from offset 5 with high watermark 5 ISR [2] addingReplicas [] removingReplicas []. "
            "Previous leader epoch was 0. (state.change.logger)\n"
        )

    def updated(second: int, version: int, isr: str) -> str:
        return (
            f"[2026-11-26 00:00:{second:02},000] INFO [Partition a-0 broker=2] ISR updated to {isr} and "
            f"version updated to [{version}] (kafka.cluster.Partition)\n"
        )

    decided = (
        "[2026-11-26 00:00:01,000] INFO [Controller id=1 epoch=1] Changed partition a-0 from "
        "OfflinePartition to OnlinePartition with state LeaderAndIsr(leader=2, leaderEpoch=4, isr=List(2), "
        "zkVersion=5) (state.change.logger)\n"
    )
    # No decision of epochs 5 and 7 is at hand, so only the leader's own lines say when they began.
    server = updated(2, 6, "2,3") + updated(4, 8, "2,3") + updated(6, 9, "2") + updated(8, 11, "2,3")
    events = read(decided + own(3, 5) + own(7, 7), server)
    rows = states(events, lives(events)).where("version is not null").orderBy("version").collect()
    assert [(row["version"], row["leader_epoch"]) for row in rows] == [
        (5, 4),
        (6, 4),
        (8, 5),
        (9, 5),
        (11, 7),
    ]
    # Each change is of the second in which the leader logs it.
    assert [row["changed"] and row["changed"].second for row in rows] == [None, 2, 4, 6, 8]


def test_up_to_1_0_decisions_without_epoch_stand_where_nothing_else_does(
    read: Callable[..., DataFrame],
) -> None:
    def entry(second: int, text: str) -> str:
        return f"[2017-01-01 00:00:{second:02},000] TRACE {text} (state.change.logger)\n"

    changed = "Controller 0 epoch 1 changed partition [old,0] from"
    bare = entry(1, f"{changed} NewPartition to OnlinePartition with leader 2")
    again = entry(
        9,
        f"{changed} OfflinePartition to OnlinePartition with leader 3",
    )
    other = bare.replace("[old,0]", "[told,0]")
    told = entry(
        1,
        "Controller 0 epoch 1 sending become-leader LeaderAndIsr request "
        "(Leader:2,ISR:2,3,LeaderEpoch:0,ControllerEpoch:1) to broker 2 for partition [told,0]",
    )
    events = read(bare + again + other + told)
    rows = states(events, lives(events)).orderBy("topic", "first_logged").collect()
    assert [(row["topic"], row["leader"], row["leader_epoch"], row["isr"]) for row in rows] == [
        ("old", 2, None, None),
        ("old", 3, None, None),
        ("told", 2, 0, [2, 3]),
    ]
