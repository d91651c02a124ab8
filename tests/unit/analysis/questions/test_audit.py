"""Logs that break each rule of the audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.derived.controllers import controllers
from barnabas.analysis.derived.lives import lives
from barnabas.analysis.derived.requests import requests
from barnabas.analysis.derived.states import states
from barnabas.analysis.questions import audit
from barnabas.analysis.runtime.engine import settled
from barnabas.cluster.model.epochs import ControllerEpoch, LeaderEpoch, PartitionVersion
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr
from barnabas.cluster.model.statechange import ControllerLines, RequestLines, StateChange

pytestmark = pytest.mark.usefixtures("here")

ONE, TWO, THREE = BrokerId(1), BrokerId(2), BrokerId(3)


def at(second: int, line: StateChange) -> str:
    return line.entry(f"2026-11-21 10:00:{second:02},000")


def online(second: int, name: str, leader: BrokerId, epoch: int, version: int, *isr: BrokerId) -> str:
    state = LeaderAndIsr(leader, LeaderEpoch(epoch), isr, PartitionVersion(version))
    line = ControllerLines(ONE, ControllerEpoch(5)).partition_online(
        TopicPartition(name, 0), "OfflinePartition", state
    )
    return at(second, line)


BROKEN = (
    online(1, "fell", ONE, 4, 7, ONE)
    + online(2, "fell", ONE, 3, 8, ONE)
    + online(3, "repeated", ONE, 2, 3, ONE)
    + online(4, "repeated", ONE, 2, 4, ONE)
    + online(5, "torn", ONE, 6, 9, ONE)
    + online(6, "torn", TWO, 6, 9, TWO)
    + online(7, "outside", THREE, 1, 1, ONE)
    + at(8, ControllerLines(ONE, ControllerEpoch(4)).sending_update_metadata_batch((ONE,), 1))
)
PRETENDER = at(9, ControllerLines(TWO, ControllerEpoch(5)).sending_update_metadata_batch((ONE,), 1))
OBEDIENT = at(10, RequestLines(THREE, ONE, ControllerEpoch(5), 3).updated_metadata(1, 0)) + at(
    12, RequestLines(THREE, TWO, ControllerEpoch(3), 1).updated_metadata(1, 0)
)
TRUNCATING = (
    "[2026-11-21 10:00:16,000] WARN [ReplicaFetcher replicaId=3, leaderId=2, fetcherId=0] "
    "Truncating dropped-0 to offset 40 below high watermark 42 (kafka.server.ReplicaFetcherThread)\n"
)
REFUSING = at(14, RequestLines(THREE, TWO, ControllerEpoch(2), 1).stale_update_metadata(ControllerEpoch(5)))


def test_a_sound_cluster_passes(story: Mapping[str, DataFrame]) -> None:
    needed = (story[name] for name in ("events", "lives", "states", "requests"))
    assert audit.safety_audit(*needed).collect() == []


def test_each_broken_rule_is_found_with_its_evidence(read: Callable[..., DataFrame]) -> None:
    events = read(BROKEN, PRETENDER, OBEDIENT + REFUSING + TRUNCATING)
    asked = settled(requests(events, settled(controllers(events))))
    born = settled(lives(events))
    rows = audit.safety_audit(events, born, settled(states(events, born)), asked).collect()
    found = {(row["check"], row["topic"] or row["broker"]): row for row in rows}
    assert set(found) == {
        (audit.LEADER_EPOCH_FELL, "fell"),
        (audit.LEADER_EPOCH_REPEATED, "repeated"),
        (audit.TWO_LEADERS, "torn"),
        (audit.LEADER_OUTSIDE_ISR, "outside"),
        (audit.TWO_CONTROLLERS, None),
        (audit.CONTROLLER_EPOCH_FELL, 1),
        (audit.STALE_OBEYED, 3),
        (audit.COMMITTED_DROPPED, "dropped"),
    }
    assert {check for check, _ in found} == set(audit.CHECKS)
    fell = found[audit.LEADER_EPOCH_FELL, "fell"]
    assert fell["detail"] == "leader epoch 3 at zkVersion 8, after 4 at zkVersion 7"
    assert [raw[12:20] for raw in fell["evidence"]] == ["10:00:01", "10:00:02"]
    assert found[audit.TWO_LEADERS, "torn"]["detail"] == "leaders 1 and 2 in leader epoch 6"
    assert found[audit.TWO_CONTROLLERS, None]["detail"] == "controllers 1 and 2 in epoch 5"
    dropped = found[audit.COMMITTED_DROPPED, "dropped"]
    assert (dropped["broker"], dropped["partition"], dropped["time"].second) == (3, 0, 16)
    assert dropped["detail"] == "on broker 3 was truncated to offset 40, below its high watermark 42"
    assert [raw[12:20] for raw in dropped["evidence"]] == ["10:00:16"]
    stale = found[audit.STALE_OBEYED, 3]
    assert "epoch 3, after one of epoch 5" in stale["detail"]
    assert [raw[12:20] for raw in stale["evidence"]] == ["10:00:10", "10:00:12"]


def test_a_clock_that_is_set_back_accuses_nobody(read: Callable[..., DataFrame]) -> None:
    # At the end of summer: what comes later in each file was logged in the hour that came again.
    obeying = at(50, RequestLines(THREE, ONE, ControllerEpoch(5), 7).updated_metadata(1, 0)) + at(
        10, RequestLines(THREE, TWO, ControllerEpoch(6), 1).updated_metadata(1, 0)
    )
    controlling = "".join(
        at(second, ControllerLines(ONE, ControllerEpoch(epoch)).sending_update_metadata_batch((TWO,), 1))
        for second, epoch in ((50, 5), (10, 7))
    )
    events = read(obeying, controlling)
    asked = settled(requests(events, settled(controllers(events))))
    born = settled(lives(events))
    assert audit.safety_audit(events, born, settled(states(events, born)), asked).collect() == []
