"""Controllers, and brokers that were gone."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.sql import DataFrame

from analysis.questions.reigns import controller_reigns, departures

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def test_who_was_controller_when(story: Mapping[str, DataFrame]) -> None:
    rows = controller_reigns(story["controllers"]).collect()
    assert [(row["controller_epoch"], row["controller"]) for row in rows] == [(7, 1), (8, 2)]


def test_a_broker_is_gone_once_and_comes_back(story: Mapping[str, DataFrame]) -> None:
    (row,) = departures(story["events"], story["unavailability"]).collect()
    assert (row["broker"], row["partitions"], row["controller_epoch"]) == (1, 3, 8)
    assert (row["heard"].second, row["since"].second, row["back"].minute) == (2, 8, 14)
