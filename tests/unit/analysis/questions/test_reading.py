"""What was read, and whose clocks differ."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.questions.reading import brokers, clock_skew, not_understood, read_logs
from tests.unit.analysis.conftest import Read, derived

pytestmark = pytest.mark.usefixtures("here")


def test_what_no_rule_knows_is_counted_and_shown(story: Mapping[str, DataFrame]) -> None:
    rows = read_logs(story["events"], story["conditions"]).collect()
    assert sum(row["lines"] for row in rows) == story["events"].count()
    assert sum(row["unknown"] for row in rows) == 1
    (row,) = not_understood(story["events"]).collect()
    assert (row["lines"], row["sources"]) == (1, 1)
    assert row["shape"].endswith("INFO [Broker id=#] Danced around orders-# (state.change.logger)")


def test_each_log_is_named(story: Mapping[str, DataFrame]) -> None:
    rows = brokers(story["events"]).collect()
    assert [(row["broker"], row["sources"], row["errors"]) for row in rows] == [
        (1, 1, 0),
        (2, 1, 1),
        (3, 1, 0),
    ]


def test_a_leader_before_its_election_gives_its_clock_away(story: Mapping[str, DataFrame]) -> None:
    worst, *rest = clock_skew(story["delays"]).collect()
    assert (worst["controller"], worst["broker"], worst["behind_ms"], worst["least_ms"]) == (1, 3, 20, -20)
    # A follower logged one decision 1 ms before its controller did.
    assert {row["behind_ms"] for row in rest} == {0, 1}
    assert {row["ahead_ms"] for row in (worst, *rest)} == {0}


def test_lines_that_carry_a_condition_are_counted(read: Read) -> None:
    tables = derived(
        read(
            "[2018-07-14 04:38:45,990] INFO Partition [a,0] on broker 1: Cached zkVersion [4] not equal to "
            "that in zookeeper, skip updating ISR (kafka.cluster.Partition)\n"
            "[2018-07-14 04:38:45,991] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)\n"
        )
    )
    (row,) = read_logs(tables["events"], tables["conditions"]).collect()
    assert (row["lines"], row["conditions"], row["unknown"]) == (2, 1, 0)
