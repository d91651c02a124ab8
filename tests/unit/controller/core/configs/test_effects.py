from __future__ import annotations

from barnabas.controller.core.configs import effects


def test_every_write_carries_the_fence(unfenced):
    assert unfenced(effects) == {"ReadConfigs"}
