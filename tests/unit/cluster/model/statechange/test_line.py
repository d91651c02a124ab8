"""A line is data until it is written."""

from __future__ import annotations

import pytest

from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.levels import Level
from barnabas.cluster.model.statechange.line import StateChange

DOWN = StateChange(
    Kind.PARTITION_DOWN,
    {"tp": TopicPartition("t", 0), "from": "OnlinePartition", "to": "OfflinePartition"},
    speaker_id=1,
    speaker_epoch=3,
)


def test_a_line_knows_its_level_and_its_text() -> None:
    assert DOWN.level is Level.TRACE
    assert DOWN.message == (
        "[Controller id=1 epoch=3] Changed partition t-0 state from OnlinePartition to OfflinePartition"
    )


def test_an_entry_has_log4j_s_layout_and_its_cause_below() -> None:
    failed = StateChange(
        Kind.BECOME_LEADER_ZOOKEEPER_EXCEPTION,
        {"tp": TopicPartition("t", 0), "leader_epoch": 2},
        speaker_id=1,
        cause="org.apache.zookeeper.KeeperException: no",
    )
    assert failed.entry("2026-11-21 03:12:45,678") == (
        "[2026-11-21 03:12:45,678] ERROR [Broker id=1] A ZooKeeper client exception has occurred and "
        "makeLeader will be "
        "skipping the state change for the partition t-0 with leader epoch: 2. (state.change.logger)\n"
        "org.apache.zookeeper.KeeperException: no\n"
    )


def test_lines_are_compared_as_data() -> None:
    assert StateChange(DOWN.kind, dict(DOWN.values), 1, 3) == DOWN
    assert StateChange(DOWN.kind, dict(DOWN.values), 1, 4) != DOWN


def test_a_line_that_2_8_does_not_have_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"no line 'metadata-deleted' with the fields \['leader', 'tp'\]"):
        StateChange(Kind.METADATA_DELETED, {"tp": TopicPartition("t", 0), "leader": 1}, 1, 3)
