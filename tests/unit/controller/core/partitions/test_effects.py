from __future__ import annotations

from barnabas.controller.core.partitions import effects


def test_every_write_carries_the_fence(unfenced):
    assert unfenced(effects) == {"ReadPartitionStates", "ReadTopicConfigs", "WatchPartitionStates"}
