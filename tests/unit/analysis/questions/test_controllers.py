"""What controllers did."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.questions.controllers import controller_epochs, failed_elections, request_times

pytestmark = pytest.mark.usefixtures("here")


def test_who_was_controller_when(story: Mapping[str, DataFrame]) -> None:
    rows = controller_epochs(story["controllers"]).collect()
    assert [(row["controller_epoch"], row["controller"]) for row in rows] == [(7, 1), (8, 2)]


def test_a_failed_election_names_its_cause(story: Mapping[str, DataFrame]) -> None:
    (row,) = failed_elections(story["events"]).collect()
    assert (row["partition"], row["from"], row["to"]) == (3, "OfflinePartition", "OnlinePartition")
    assert row["cause"].startswith("kafka.common.StateChangeFailedException: Failed to elect leader")


def test_each_broker_has_a_row_for_each_request(story: Mapping[str, DataFrame]) -> None:
    rows = {(row["api"], row["broker"]): row for row in request_times(story["requests"]).collect()}
    asked = rows["LEADER_AND_ISR", 3]
    assert (asked["requests"], asked["unlogged"], asked["slowest_ms"], asked["refused"]) == (2, 1, 10, 0)
    assert rows["LEADER_AND_ISR", 1]["slowest_at"].minute == 14
