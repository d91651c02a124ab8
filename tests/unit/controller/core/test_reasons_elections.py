from __future__ import annotations

import pytest

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.reasons_elections import (
    LeaderImbalance,
    PreferredElectionEnded,
    ReplicaElectionSkipped,
    ReplicaElectionStarted,
    UncleanElectionEnabled,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (
            ReplicaElectionStarted("PREFERRED", "ZkTriggered", (T0, T1)),
            "leader election (PREFERRED) triggered by ZkTriggered for partitions t-0, t-1",
        ),
        (
            ReplicaElectionSkipped((T0,), "the topic is being deleted"),
            "no leader election for partitions t-0, because the topic is being deleted",
        ),
        (
            PreferredElectionEnded((T0,), ()),
            "preferred replicas lead partitions t-0; they could not be elected for partitions none",
        ),
        (
            LeaderImbalance(BrokerId(2), 3, 20, 10),
            "others lead 3 of the 20 partitions that broker 2 should lead, more than 10 %",
        ),
        (UncleanElectionEnabled("t"), "unclean leader election is enabled now for t"),
        (UncleanElectionEnabled(""), "unclean leader election is enabled now for all topics"),
    ],
)
def test_every_reason_is_a_sentence(reason, sentence):
    assert str(reason) == sentence
