from __future__ import annotations

from barnabas.controller.core.election import effects


def test_every_write_carries_the_fence(unfenced):
    # These write ``/controller`` itself, in transactions of their own.
    assert unfenced(effects) == {"ContestController", "GiveUpController", "ReadController"}
