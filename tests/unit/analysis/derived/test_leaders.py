"""The table ``leaders``."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.derived.leaders import LOST, NEW, NONE, SAME

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
