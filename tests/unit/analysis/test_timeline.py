"""The questions, on two brokers' lines."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame

from analysis import timeline

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def test_reigns_show_in_their_order(table: DataFrame) -> None:
    assert [
        (row["controller_epoch"], row["controller"], row["first"].second, row["last"].second, row["changes"])
        for row in timeline.controllers(table).collect()
    ] == [(1, 1, 0, 0, 2), (2, 2, 6, 7, 1)]


def test_elections_tell_who_led_before_and_when_the_new_one_began(table: DataFrame) -> None:
    first, gone, second = timeline.elections(table).collect()
    assert (first["topic"], first["partition"]) == ("a-b", 0)
    assert (first["leader"], first["previous_leader"], first["reason"]) == (1, None, "new partition")
    assert (gone["leader"], gone["previous_leader"], gone["reason"]) == (-1, 1, "its leader went offline")
    assert (second["leader"], second["previous_leader"], second["reason"]) == (2, 1, "leader was lost")
    assert (second["led_at"] - second["time"]).microseconds == 20_000
    assert (second["controller"], second["controller_epoch"], second["isr"]) == (2, 2, [2])


def test_a_line_in_two_files_is_one_election(table: DataFrame) -> None:
    assert timeline.elections(table.union(table)).count() == 3


def test_failures_name_their_cause(table: DataFrame) -> None:
    (row,) = timeline.failures(table).collect()
    assert (row["topic"], row["partition"], row["from"], row["to"]) == (
        "lost",
        0,
        "OfflinePartition",
        "OnlinePartition",
    )
    assert row["cause"].startswith("kafka.common.StateChangeFailedException: Failed to elect leader")


def test_coverage_counts_what_no_rule_knows(table: DataFrame) -> None:
    rows = {row["kind"]: row["lines"] for row in timeline.coverage(table).collect()}
    assert rows[None] == 1
    assert rows["partition-online"] == 2
    assert sum(rows.values()) == 10
