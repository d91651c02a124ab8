"""The table ``leaders``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.derived.leaders import FIRST_SEEN, LOST, NEW, NONE, SAME, leaders
from barnabas.analysis.derived.lives import lives
from barnabas.analysis.derived.states import states

pytestmark = pytest.mark.usefixtures("here")


def test_a_leadership_has_the_reasons_why_it_began_and_ended(story: Mapping[str, DataFrame]) -> None:
    rows = story["leaders"].where("partition = 3").orderBy("leader_epoch").collect()
    assert [(row["leader"], row["why"], row["ended"]) for row in rows] == [
        (1, NEW, NONE),
        (-1, NONE, LOST),
        (1, LOST, None),
    ]
    first, gone, back = rows
    assert (first["isr"], first["last_isr"], first["last_version"]) == ([1, 3, 2], [1], 2)
    assert first["until"] == gone["since"]
    assert (back["previous_leader"], back["previous_isr"], back["led_at"].second) == (1, [1], 40)


def test_an_isr_that_shrinks_begins_a_new_epoch_of_the_same_leader(story: Mapping[str, DataFrame]) -> None:
    first, second = story["leaders"].where("partition = 1").orderBy("leader_epoch").collect()
    assert (first["leader"], first["ended"], second["leader"], second["why"]) == (2, SAME, 2, SAME)
    assert (second["replicas"], second["until"]) == ([2, 3, 1], None)


def test_a_line_of_leader_epoch_0_after_a_rotation_shows_no_new_partition(
    read: Callable[..., DataFrame],
) -> None:
    follower = (
        "[2024-03-05 11:00:39,010] INFO [Broker id=3] Follower {0} starts at leader epoch 0 from offset 42 "
        "with partition epoch 3 and high watermark 42. Current leader is 2. Previous leader Some(2) and "
        "previous leader epoch was 0. (state.change.logger)\n"
    )
    changed = (
        "[2024-03-05 11:00:40,010] INFO [Partition bills-1 broker=2] ISR updated to 2,3 and version updated "
        "to [4] (kafka.cluster.Partition)\n"
    )
    led = (
        "[2024-03-05 11:00:39,030] INFO [Broker id=2] Leader new-0 with topic id Some(2-3qO3o8RgetP5oocXJFcQ)"
        " starts at leader epoch 0 from offset 0 with partition epoch 0, high watermark 0, ISR [2,3], adding "
        "replicas [] and removing replicas [] . Previous leader None and previous leader epoch was -1. "
        "(state.change.logger)\n"
    )
    events = read(follower.format("bills-1") + follower.format("new-0"), changed, led)
    born = lives(events)
    rows = leaders(states(events, born), born).orderBy("topic").collect()
    assert [(row["topic"], row["leader"], row["why"]) for row in rows] == [
        ("bills", 2, FIRST_SEEN),
        ("new", 2, NEW),
    ]
