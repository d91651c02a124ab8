from __future__ import annotations

from barnabas.controller.core.protocol import broker_znodes


def test_every_write_carries_the_fence(unfenced):
    assert unfenced(broker_znodes) == {"ReadBrokers", "ReadIsrChanges", "ReadLogDirEvents"}
