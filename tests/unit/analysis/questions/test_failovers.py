"""The story of a failover."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.sql import DataFrame

from analysis.questions.failovers import failovers

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

NEEDS = ("events", "unavailability", "controllers", "requests")


def test_trigger_detection_election_request_leader_follower(story: Mapping[str, DataFrame]) -> None:
    (row,) = failovers(*(story[name] for name in NEEDS)).collect()
    assert (row["broker"], row["was_controller"], row["controller"], row["controller_epoch"]) == (
        1,
        True,
        2,
        8,
    )
    assert (row["partitions"], row["moved"], row["stranded"], row["leaders"]) == (2, 1, 1, [2])
    assert (row["notice_ms"], row["election_ms"], row["send_ms"], row["lead_ms"]) == (6_010, 0, 2, 38)
    # The follower's clock is 40 ms behind.
    assert (row["follow_ms"], row["total_ms"], row["reigned"].second) == (-41, 6_050, 8)


def test_a_controller_that_led_nothing_is_a_story_too(beginning: Mapping[str, DataFrame]) -> None:
    (row,) = failovers(*(beginning[name] for name in NEEDS)).collect()
    assert (row["broker"], row["was_controller"], row["controller"], row["partitions"]) == (1, True, 2, 0)
    assert row["notice_ms"] == 1_000
