"""The time of day, which tests set back."""

from __future__ import annotations

import time

from barnabas.cluster.runtime.failpoints import CLOCK_BACK

BACK_MS = 3_600_000
"""The milliseconds by which the armed failpoint ``clock.back`` sets the clock back."""


def wall_ms() -> int:
    """Return the milliseconds since 1970; less than before if somebody has set the clock back."""
    return time.time_ns() // 1_000_000 - (BACK_MS if CLOCK_BACK.armed else 0)
