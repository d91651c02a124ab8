import time

from barnabas.cluster.runtime.failpoints import CLOCK_BACK, Action
from barnabas.cluster.runtime.wall_clock import BACK_MS, wall_ms


def test_the_clock_steps_back_and_forth():
    before = wall_ms()
    assert abs(before - time.time() * 1000) < BACK_MS / 2
    CLOCK_BACK.arm(Action.ERROR)
    try:
        assert wall_ms() < before
    finally:
        CLOCK_BACK.arm(Action.OFF)
    assert wall_ms() >= before
