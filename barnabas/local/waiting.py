"""Polling for facts of other processes that send no notification."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PAUSE_S = 0.1
"""The pause between two polls in seconds."""


def wait_until(
    holds: Callable[[], T | None],
    what: str,
    timeout_s: float = 120.0,
    last: Callable[[], object] | None = None,
) -> T:
    """Poll until the result is truthy, and return it.

    The timeout only ends a wait that hangs; it is generous, and no test asserts durations with it.

    Args:
        holds: The function to poll, at least once.
        what: A description of the fact.
        timeout_s: The timeout in seconds.
        last: Returns what is there instead, for the error.

    Raises:
        TimeoutError: The result was never truthy; the message contains ``what``.
    """
    deadline = time.monotonic() + timeout_s
    while not (found := holds()):
        if time.monotonic() > deadline:
            instead = "" if last is None else f"; last: {last()}"
            raise TimeoutError(f"{what} was not seen within {timeout_s:g} s{instead}")
        time.sleep(PAUSE_S)
    return found
