"""Why writes to orders-3 stalled at 03:12."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.questions.availability import OFFLINE, UNDER_REPLICATED
from barnabas.analysis.questions.stalls import write_stalls

pytestmark = pytest.mark.usefixtures("here")


def test_all_that_kept_producers_waiting(story: Mapping[str, DataFrame]) -> None:
    rows = write_stalls(story["unavailability"], story["isr"]).where("partition = 3").collect()
    assert [row["what"] for row in rows] == [UNDER_REPLICATED, OFFLINE]
    short, without = rows
    assert (short["since"].minute, short["least"], short["missing"]) == (9, 1, [2, 3])
    assert (without["earliest"].second, without["since"].second, without["until"].minute) == (2, 8, 14)
    assert (without["failed"], without["leader_after"], without["until"]) == (1, 1, without["led_at"])
