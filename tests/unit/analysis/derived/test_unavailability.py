"""Partitions without a leader."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.derived.unavailability import (
    BOTH_OFFLINE,
    NEVER_LED,
    NOBODY_IN_SYNC,
    NOTIFIED_ONLY,
    UNSEEN,
)
from tests.unit.analysis.conftest import Read, derived

pytestmark = pytest.mark.spark


def test_an_outage_has_a_begin_an_end_and_a_cause(story: Mapping[str, DataFrame]) -> None:
    (row,) = story["unavailability"].where("partition = 3").collect()
    assert (row["since"].second, row["until"].minute, row["led_at"].microsecond) == (8, 14, 530_000)
    assert (row["leader_before"], row["leader_after"], row["leader_epoch"]) == (1, 1, 2)
    assert (row["failed"], row["cause"]) == (1, NOBODY_IN_SYNC)
    assert "Failed to elect leader for partition orders-3" in row["failure"]
    assert (row["leader_last_logged"].minute, row["leader_last_logged"].second) == (12, 2)


def test_an_election_out_of_nowhere_tells_since_when_at_the_earliest(story: Mapping[str, DataFrame]) -> None:
    (row,) = story["unavailability"].where("partition = 0").collect()
    assert row["since"] == row["until"]
    assert (row["leader_last_logged"].second, row["cause"], row["leader_after"]) == (2, BOTH_OFFLINE, 2)


def test_the_others_had_a_leader_all_the_time(story: Mapping[str, DataFrame]) -> None:
    assert story["unavailability"].count() == 2


def test_a_new_partition_may_never_be_led(beginning: Mapping[str, DataFrame]) -> None:
    (row,) = beginning["unavailability"].collect()
    assert (row["until"], row["leader_before"], row["cause"]) == (None, None, NEVER_LED)
    assert row["failure"] == "kafka.common.X: nobody is alive"


def test_who_led_before_the_logs_begin_is_not_known(unseen: Mapping[str, DataFrame]) -> None:
    (row,) = unseen["unavailability"].collect()
    assert (row["leader_before"], row["until"], row["cause"]) == (None, None, UNSEEN)


_LEADS = (
    "INFO [Broker id=1] Leader only-0 with topic id Some(iFjYi-ETSkKhMbbudMW5wg) starts at leader epoch {0} "
    "from offset 0 with partition epoch {0}, high watermark 0, ISR [1], adding replicas [] and removing "
    "replicas [] . Previous leader None and previous leader epoch was -1. (state.change.logger)\n"
)
KRAFT = (
    f"[2026-11-25 10:00:00,100] {_LEADS.format(0)}"
    "[2026-11-25 10:01:07,700] INFO [Broker id=1] Transitioning 1 partition(s) to local followers. "
    "(state.change.logger)\n"
    "[2026-11-25 10:01:08,400] INFO [Broker id=1] Follower only-0 starts at leader epoch 1 from offset 0 "
    "with partition epoch 1 and high watermark 0. Current leader is -1. Previous leader Some(1) and previous "
    "leader epoch was 0. (state.change.logger)\n"
    f"[2026-11-25 10:01:09,400] {_LEADS.format(2)}"
)
"""A broker of KRaft reads after its return that its partition had no leader meanwhile."""


def test_a_line_of_a_broker_does_not_bound_the_begin_of_an_outage(read: Read) -> None:
    (row,) = derived(read(KRAFT))["unavailability"].collect()
    assert (row["since"].second, row["led_at"].second, row["leader_before"]) == (8, 9, 1)
    # Its line of 10:01:07 is of its next process, which led nothing.
    assert (row["leader_last_logged"], row["cause"]) == (None, NOTIFIED_ONLY)
