"""The story of a failover."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.questions.failovers import failovers
from barnabas.analysis.runtime.engine import sf
from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.ids import NO_LEADER, BrokerId, Offset, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.statechange import BrokerLines, ControllerLines
from tests.unit.analysis.conftest import Read, derived, when
from tests.unit.analysis.derived.test_unavailability import KRAFT

pytestmark = pytest.mark.usefixtures("here")

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


def _lost_twice(pause: int) -> str:
    """Lines of a partition whose only replica, on broker 2, is lost, elected 4 s later, and lost again."""
    two, only = BrokerId(2), TopicPartition("only", 0)
    controller = ControllerLines(BrokerId(3), ControllerEpoch(5))
    state = LeaderAndIsr.initial(two, (two,))
    log = when("10:00:00,000", controller.partition_online(only, "NewPartition", state))
    for second in (10, 10 + pause):
        lost = state.new_leader(NO_LEADER, (two,))
        state = lost.new_leader(two, (two,))
        removed = controller.removed_from_isr(only, PartitionState(lost, ControllerEpoch(5)), two)
        log += when(f"10:00:{second:02},000", removed)
        online = controller.partition_online(only, "OfflinePartition", state)
        log += when(f"10:00:{second + 4:02},000", online)
        starts = BrokerLines(two).leader_starts(
            only, state.leader_epoch, Offset(0), high_watermark=Offset(0), isr=state.isr,
            assignment=Assignment((two,)), previous_leader_epoch=lost.leader_epoch,
        )  # fmt: skip
        log += when(f"10:00:{second + 5:02},000", starts)
    return log


def test_a_broker_that_is_lost_again_after_its_return_is_another_failover(read: Read) -> None:
    tables = derived(read(_lost_twice(pause=8)))
    rows = failovers(*(tables[name] for name in NEEDS)).collect()
    assert [(row["noticed"].second, row["returned"].second, row["partitions"]) for row in rows] == [
        (10, 15, 1), (18, 23, 1),
    ]  # fmt: skip
    # In the second failover the broker had written that it led before it was lost again.
    assert [row["last_logged"] and row["last_logged"].second for row in rows] == [None, 15]


def test_a_broker_s_own_line_is_no_notice(read: Read) -> None:
    # Broker 1 of KRaft reads at its return, 30 s late, that its partition had no leader.
    tables = derived(read(KRAFT))
    assert failovers(*(tables[name] for name in NEEDS)).collect() == []


def test_the_first_line_of_an_active_controller_of_kraft_is_not_its_last(read: Read) -> None:
    active = "[QuorumController id={0}] Becoming the active controller at epoch {1}, next write offset 212."
    logger = "(org.apache.kafka.controller.QuorumController)"
    one = f"[2026-11-25 21:25:55,822] INFO {active.format(1, 3)} {logger}\n"
    three = f"[2026-11-25 21:27:02,602] INFO {active.format(3, 4)} {logger}\n"
    tables = derived(read(one, three))
    (row,) = failovers(*(tables[name] for name in NEEDS)).collect()
    assert (row["broker"], row["controller"], row["controller_since"].second) == (1, 3, 2)
    assert (row["last_logged"], row["notice_ms"]) == (None, None)


def test_a_controller_s_resignation_is_its_last_line(read: Read) -> None:
    tp, one = TopicPartition("new", 0), ControllerLines(BrokerId(1), ControllerEpoch(1))
    two = ControllerLines(BrokerId(2), ControllerEpoch(2))
    log = when("10:00:01,000", one.partition_new(tp, "NonExistentPartition", (BrokerId(2),)))
    log += "[2026-11-21 10:00:03,063] INFO [Controller id=1] Resigned (kafka.controller.KafkaController)\n"
    log += when("10:00:03,167", two.sending_update_metadata_batch((BrokerId(2),), 0))
    tables = derived(read(log))
    (row,) = failovers(*(tables[name] for name in NEEDS)).collect()
    assert (row["last_logged"].second, row["notice_ms"]) == (3, 104)


def test_a_controller_that_led_nothing_is_a_story_too(beginning: Mapping[str, DataFrame]) -> None:
    (row,) = failovers(*(beginning[name] for name in NEEDS)).collect()
    assert (row["broker"], row["was_controller"], row["controller"], row["partitions"]) == (1, True, 2, 0)
    assert row["notice_ms"] == 1_000
