"""How long brokers took."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.questions.handlers import request_times, slowest_leader_and_isr

pytestmark = pytest.mark.usefixtures("here")


def test_the_slowest_come_first(story: Mapping[str, DataFrame]) -> None:
    rows = slowest_leader_and_isr(story["requests"]).collect()
    assert [(row["broker"], row["duration_ms"]) for row in rows] == [(1, 60), (2, 30), (3, 10)]


def test_each_broker_has_a_row_for_each_request(story: Mapping[str, DataFrame]) -> None:
    rows = {(row["api"], row["broker"]): row for row in request_times(story["requests"]).collect()}
    asked = rows["LEADER_AND_ISR", 3]
    assert (asked["requests"], asked["unlogged"], asked["slowest_ms"], asked["refused"]) == (2, 1, 10, 0)
