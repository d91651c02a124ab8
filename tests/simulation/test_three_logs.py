"""The model's invariants once more, on the broker's own logs and replica code."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test


def test_nothing_acknowledged_is_lost_and_the_logs_agree(three_logs):
    run_state_machine_as_test(
        three_logs.ThreeLogs,
        settings=settings(
            max_examples=15,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
