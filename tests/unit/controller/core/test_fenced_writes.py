"""Each effect that writes to ZooKeeper carries the fence; the others only read, or write ``/controller``."""

from __future__ import annotations

import pytest

from barnabas.controller.core.configs import effects as configs
from barnabas.controller.core.election import effects as election
from barnabas.controller.core.leader_elections import effects as leader_elections
from barnabas.controller.core.partitions import effects as partitions
from barnabas.controller.core.protocol import broker_znodes
from barnabas.controller.core.topics import effects as topics


@pytest.mark.parametrize(
    ("module", "without_fence"),
    [
        (broker_znodes, {"ReadBrokers", "ReadIsrChanges", "ReadLogDirEvents"}),
        (configs, {"ReadConfigs"}),
        # These write /controller itself, in transactions of their own.
        (election, {"ContestController", "GiveUpController", "ReadController"}),
        (leader_elections, {"ReadPreferredReplicaElection"}),
        (partitions, {"ReadPartitionStates", "ReadTopicConfigs", "WatchPartitionStates"}),
        (topics, {"ReadAssignments", "ReadReassignments", "ReadTopicDeletions", "ReadTopics"}),
    ],
    ids=lambda each: each.__name__ if hasattr(each, "__name__") else "",
)
def test_every_write_carries_the_fence(unfenced, module, without_fence):
    assert unfenced(module) == without_fence
