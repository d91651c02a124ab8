"""Partitions without a leader, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.questions.availability import leaderless_minutes, partitions_without_leader, strip
from barnabas.analysis.runtime.engine import sf

pytestmark = pytest.mark.usefixtures("here")


def test_the_longest_without_a_leader_comes_first(story: Mapping[str, DataFrame]) -> None:
    worst, other = partitions_without_leader(story["unavailability"]).collect()
    assert (worst["partition"], worst["total_ms"], worst["at_most_ms"]) == (3, 152_519, 158_530)
    assert (other["partition"], other["total_ms"], other["at_most_ms"], other["lasting"]) == (
        0,
        40,
        6_050,
        False,
    )


def test_without_the_lost_leader_s_log_nothing_bounds_an_outage(
    killed: Mapping[str, DataFrame], survivor: Mapping[str, DataFrame]
) -> None:
    known, unknown = (
        {
            (row["topic"], row["partition"]): (row["total_ms"], row["at_most_ms"])
            for row in partitions_without_leader(tables["unavailability"]).collect()
        }
        for tables in (killed, survivor)
    )
    assert (known["first", 0], known["first", 1]) == ((10, 3_810), (23, 3_824))
    assert (unknown["first", 0], unknown["first", 1]) == ((10, None), (0, None))


def test_an_election_alone_bounds_no_outage(killed: Mapping[str, DataFrame]) -> None:
    unseen = killed["unavailability"].withColumn("led_at", sf.lit(None).cast("timestamp_ntz"))
    rows = partitions_without_leader(unseen).collect()
    assert [row["at_most_ms"] for row in rows] == [None, None, None]
    # No leader follows a deletion, so it is the end.
    deleted = unseen.withColumn("leader_after", sf.lit(None).cast("int"))
    assert None not in [row["at_most_ms"] for row in partitions_without_leader(deleted).collect()]


def test_a_new_partition_that_nobody_led_was_without_one_from_its_creation(
    beginning: Mapping[str, DataFrame],
) -> None:
    (row,) = partitions_without_leader(beginning["unavailability"]).collect()
    assert (row["lasting"], row["at_most_ms"]) == (True, 0)


def test_the_minutes_in_which_that_changed(story: Mapping[str, DataFrame]) -> None:
    rows = leaderless_minutes(story["unavailability"]).collect()
    assert [(row["minute"].minute, row["began"], row["partitions"], row["touched"]) for row in rows] == [
        (12, 2, 1, 2),
        (14, 0, 0, 1),
    ]


def test_a_strip_has_few_rows_however_long_it_is(story: Mapping[str, DataFrame]) -> None:
    start, end = datetime(2026, 11, 21, 3, 10), datetime(2026, 11, 21, 3, 20)  # noqa: DTZ001
    rows = strip(story["unavailability"], sf.lit(start), sf.lit(end), 10).collect()
    assert [(row["topic"], row["cell"], row["began"], row["over"]) for row in rows] == [
        ("orders", 2, 2, 0),
        ("orders", 3, 0, 1),
        ("orders", 5, 0, 1),
    ]
