"""The size of the ISR over time."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.sql import DataFrame

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def test_each_change_is_a_row_and_unseen_steps_are_counted(story: Mapping[str, DataFrame]) -> None:
    whole, alone = story["isr"].where("partition = 3").orderBy("version").collect()
    assert (whole["size"], whole["assigned"], whole["left"], whole["until"].minute) == (3, 3, [], 9)
    assert (alone["size"], sorted(alone["left"]), alone["joined"], alone["unseen"]) == (1, [2, 3], [], 1)
    # The ISR stays [1] through two more leader epochs, so there is no further row.
    assert (alone["until"], alone["since"].minute) == (None, 9)


def test_a_removal_by_the_controller_is_seen_at_once(story: Mapping[str, DataFrame]) -> None:
    _, shrunk = story["isr"].where("partition = 1").orderBy("version").collect()
    assert (shrunk["left"], shrunk["size"], shrunk["unseen"], shrunk["since"].second) == ([1], 2, 0, 8)
