"""The story of a failover."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from barnabas.analysis.questions.failovers import failovers

pytestmark = pytest.mark.spark

NEEDS = ("events", "lives", "unavailability", "controllers", "requests")


def test_trigger_detection_election_request_leader_follower(story: Mapping[str, DataFrame]) -> None:
    (row,) = failovers(*(story[name] for name in NEEDS)).collect()
    assert (row["broker"], row["was_controller"], row["controller"], row["controller_epoch"]) == (
        1,
        True,
        2,
        8,
    )
    assert (row["partitions"], row["moved"], row["waited"], row["stranded"]) == (2, 1, 1, 0)
    assert (row["leaders"], row["returned"].minute) == ([2], 14)
    assert (row["notice_ms"], row["election_ms"], row["send_ms"], row["lead_ms"]) == (6_010, 0, 2, 38)
    # The follower's clock is 40 ms behind.
    assert (row["follow_ms"], row["total_ms"], row["controller_since"].second) == (-3, 6_050, 8)
    assert (row["led_behind"], row["followed_behind"]) == (False, True)


def test_a_partition_that_waits_for_its_only_replica_did_not_move(killed: Mapping[str, DataFrame]) -> None:
    (row,) = failovers(*(killed[name] for name in NEEDS)).collect()
    assert (row["partitions"], row["moved"], row["waited"], row["stranded"]) == (3, 2, 1, 0)
    assert (row["leaders"], row["election_ms"], row["total_ms"]) == ([1, 3], 1, 3_824)
    assert (row["returned"].second, row["led"].microsecond) == (40, 824_000)


def test_a_follower_of_another_partition_than_the_last_leader_s_shows_no_skew(
    killed: Mapping[str, DataFrame],
) -> None:
    (row,) = failovers(*(killed[name] for name in NEEDS)).collect()
    assert (row["followed"].microsecond, row["led_behind"], row["followed_behind"]) == (808_000, False, False)


def test_without_the_log_of_the_lost_broker_the_total_is_not_known(survivor: Mapping[str, DataFrame]) -> None:
    (row,) = failovers(*(survivor[name] for name in NEEDS)).collect()
    assert (row["last_logged"], row["total_ms"], row["led"].microsecond) == (None, None, 810_000)


def test_without_the_log_of_a_new_leader_the_total_is_not_known(killed: Mapping[str, DataFrame]) -> None:
    seen = killed["unavailability"].withColumn(
        "led_at", sf.when(sf.col("leader_after") != 3, sf.col("led_at"))
    )
    (row,) = failovers(*((killed | {"unavailability": seen})[name] for name in NEEDS)).collect()
    assert (row["led_unseen"], row["led"] is None, row["total_ms"]) == (1, False, None)


def test_a_controller_that_led_nothing_is_a_story_too(beginning: Mapping[str, DataFrame]) -> None:
    (row,) = failovers(*(beginning[name] for name in NEEDS)).collect()
    assert (row["broker"], row["was_controller"], row["controller"], row["partitions"]) == (1, True, 2, 0)
    assert row["notice_ms"] == 1_000
