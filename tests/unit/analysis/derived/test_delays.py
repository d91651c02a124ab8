"""The delays from a controller's decisions to the lines of brokers about them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.derived.delays import delays

pytestmark = pytest.mark.usefixtures("here")


def decided(time: str, leader: int, epoch: int) -> str:
    return (
        f"[2024-03-05 10:00:{time}] INFO [Controller id=3 epoch=5] Changed partition orders-0 from "
        f"OfflinePartition to OnlinePartition with state LeaderAndIsr(leader={leader}, leaderEpoch={epoch}, "
        f"isr=List(1, 2, 3), zkVersion={epoch}) (state.change.logger)\n"
    )


def starts(time: str, broker: int, what: str, epoch: int) -> str:
    members = " ISR [1,2,3] addingReplicas [] removingReplicas []" if what == "Leader" else ""
    return (
        f"[2024-03-05 10:00:{time}] INFO [Broker id={broker}] {what} orders-0 starts at leader epoch {epoch} "
        f"from offset 42 with high watermark 42{members}. Previous leader epoch was {epoch - 1}. "
        "(state.change.logger)\n"
    )


def test_the_least_delay_of_each_broker_is_kept(read: Callable[..., DataFrame]) -> None:
    log = (
        decided("01,000", 1, 1) + starts("01,030", 1, "Leader", 1) + starts("09,000", 1, "Leader", 1)
        + decided("05,000", 2, 2) + starts("03,500", 2, "Leader", 2) + starts("04,000", 1, "Follower", 2)
        + decided("06,000", 3, 3) + starts("06,010", 3, "Leader", 3)
    )  # fmt: skip
    rows = {row["broker"]: row for row in delays(read(log)).collect()}
    assert rows.keys() == {1, 2}
    assert (rows[1]["decisions"], rows[1]["least_ms"], rows[1]["led_ms"]) == (2, -1_000, 30)
    assert (rows[2]["decisions"], rows[2]["least_ms"], rows[2]["led_ms"]) == (1, -1_500, -1_500)


def test_a_delay_is_compared_with_the_controller_s_own_of_that_minute(read: Callable[..., DataFrame]) -> None:
    log = (
        decided("01,000", 1, 1) + starts("04,000", 1, "Leader", 1)
        + decided("05,000", 3, 2) + starts("07,500", 3, "Leader", 2)
    )  # fmt: skip
    (row,) = delays(read(log)).collect()
    assert (row["broker"], row["least_ms"], row["excess_ms"]) == (1, 3_000, 500)


def test_a_leader_epoch_that_was_decided_twice_is_left_out(read: Callable[..., DataFrame]) -> None:
    log = decided("01,000", 1, 0) + starts("01,030", 1, "Leader", 0) + decided("30,000", 1, 0)
    assert delays(read(log)).collect() == []


def test_a_leader_epoch_of_topics_with_several_ids_is_left_out(read: Callable[..., DataFrame]) -> None:
    """The logs of a cluster in ZooKeeper mode and of one with KRaft, which logs no decisions."""
    first, early = (
        f"[2024-03-05 {time}] INFO [Broker id={broker}] Leader orders-0 with topic id Some({name * 22}) "
        "starts at leader epoch 1 from offset 42 with partition epoch 1, high watermark 42, ISR [1,2], "
        "adding replicas [] and removing replicas [] . Previous leader Some(3) and previous leader epoch "
        "was 0. (state.change.logger)\n"
        for time, broker, name in (("10:00:01,030", 1, "a"), ("09:00:01,030", 2, "b"))
    )
    log, old = decided("01,000", 1, 1), starts("01,030", 1, "Leader", 1)
    assert [row["broker"] for row in delays(read(log + first)).collect()] == [1]
    assert delays(read(log + first + early)).collect() == []
    assert delays(read(log + old + early)).collect() == []
