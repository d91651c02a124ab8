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

pytestmark = pytest.mark.usefixtures("here")


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


_CHANGED = (
    "to (Leader:{0},ISR:3,LeaderRecoveryState:RECOVERED,LeaderEpoch:{1},ZkVersion:{1},ControllerEpoch:5)"
)
_REMOVED = (
    "INFO [Controller id=1 epoch=5] Partition a-1 state changed {0} after removing replica {1} from the "
    "ISR as part of transition to OfflineReplica (state.change.logger)\n"
)
STOPPING = (
    "[2026-11-25 22:31:06,507] INFO [Controller id=1 epoch=5] Changed partition a-1 from NewPartition to "
    "OnlinePartition with state LeaderAndIsr(leader=3, leaderEpoch=0, isrWithBrokerEpoch=List(BrokerState("
    "brokerId=3, brokerEpoch=-1), BrokerState(brokerId=1, brokerEpoch=-1)), "
    "leaderRecoveryState=RECOVERED, partitionEpoch=0) (state.change.logger)\n"
    f"[2026-11-25 22:31:09,927] {_REMOVED.format(_CHANGED.format(3, 1), 2)}"
    "[2026-11-25 22:31:10,910] ERROR [Controller id=1 epoch=5] Controller 1 epoch 5 failed to change state "
    "for partition a-1 from OfflinePartition to OnlinePartition (state.change.logger)\n"
    "kafka.common.StateChangeFailedException: Failed to elect leader for partition a-1\n"
    f"[2026-11-25 22:31:10,943] {_REMOVED.format(_CHANGED.format(3, 1), 2)}"
    f"[2026-11-25 22:31:40,184] {_REMOVED.format(_CHANGED.format(-1, 2), 3)}"
    "[2026-11-25 22:31:41,608] INFO [Controller id=1 epoch=5] Changed partition a-1 from OfflinePartition to "
    "OnlinePartition with state LeaderAndIsr(leader=3, leaderEpoch=3, isrWithBrokerEpoch=List(BrokerState("
    "brokerId=3, brokerEpoch=-1)), leaderRecoveryState=RECOVERED, partitionEpoch=3) (state.change.logger)\n"
)
"""All brokers stop: no other broker may lead while broker 3, which stops last, still does."""


def test_an_election_that_failed_while_the_leader_still_led_begins_no_outage(read: Read) -> None:
    (row,) = derived(read(STOPPING))["unavailability"].collect()
    assert (row["since"].second, row["until"].second) == (40, 41)
    assert (row["leader_before"], row["leader_after"], row["failed"]) == (3, 3, 0)


FAILED = (
    "[2026-11-25 22:31:06,507] INFO [Controller id=1 epoch=5] Changed partition a-1 from NewPartition to "
    "OnlinePartition with state LeaderAndIsr(leader={0}, leaderEpoch=0, isrWithBrokerEpoch=List(BrokerState("
    "brokerId={0}, brokerEpoch=-1)), leaderRecoveryState=RECOVERED, partitionEpoch=0) (state.change.logger)\n"
    "[2026-11-25 22:31:10,910] ERROR [Controller id=1 epoch=5] Controller 1 epoch 5 failed to change state "
    "for partition a-1 from OfflinePartition to OnlinePartition (state.change.logger)\n"
    "kafka.common.StateChangeFailedException: Failed to elect leader for partition a-1\n"
    "[2026-11-25 22:31:14,831] INFO [Controller id=2 epoch=6] Partition a-1 state changed to (Leader:-1,"
    "ISR:{0},LeaderRecoveryState:RECOVERED,LeaderEpoch:1,ZkVersion:1,ControllerEpoch:6) after removing "
    "replica {0} from the ISR as part of transition to OfflineReplica (state.change.logger)\n"
)
"""All brokers stop: the controller may move no leader, and the next one finds that leader gone."""
GOES_ON = (
    "[2026-11-25 22:31:11,874] WARN [KafkaServer id=3] Proceeding to do an unclean shutdown as all the "
    "controlled shutdown attempts failed (kafka.server.KafkaServer)\n"
)


@pytest.mark.parametrize(
    ("log", "since"),
    [
        # A controller does not notice its own end.
        (FAILED.format(1), 14),
        (FAILED.format(3) + GOES_ON, 14),
        (FAILED.format(3), 10),
        # It has started again.
        (FAILED.format(3) + GOES_ON.replace("31:11", "31:29"), 10),
    ],
)
def test_an_election_that_failed_shows_no_outage_of_a_leader_that_goes_on(
    read: Read, log: str, since: int
) -> None:
    (row,) = derived(read(log))["unavailability"].collect()
    assert row["since"].second == since
    assert row["controller_epoch"] == (5 if since == 10 else 6)


SKIPPED = (
    "[2026-11-25 10:00:00,900] INFO [Broker id=1] Skipped the become-leader state change for only-0 with "
    "topic id Some(iFjYi-ETSkKhMbbudMW5wg) and partition state LeaderAndIsrPartitionState(topicName='only', "
    "partitionIndex=0, controllerEpoch=-1, leader=1, leaderEpoch=0, isr=[1], partitionEpoch=1, replicas=[1], "
    "addingReplicas=[], removingReplicas=[], isNew=false, leaderRecoveryState=0) since it is already the "
    "leader with leader epoch 0. Current high watermark 1, ISR [1], adding replicas [] and removing replicas "
    "[]. (state.change.logger)\n"
)


def test_the_lack_of_a_controller_epoch_in_kraft_says_nothing_about_the_order(read: Read) -> None:
    head, led = KRAFT.split("\n", 1)
    skipped = SKIPPED.replace("10:00:00,900", "10:01:09,900").replace("Epoch=0", "Epoch=2")
    (row,) = derived(read(f"{head}\n{SKIPPED}{led}{skipped}"))["unavailability"].collect()
    assert (row["since"].second, row["led_at"].second, row["leader_epoch"]) == (8, 9, 2)
    assert (row["leader_before"], row["controller_epoch"]) == (1, None)
