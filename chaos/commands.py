"""The system's own commands (ip, mount), run to their end."""

from __future__ import annotations

import subprocess

TIMEOUT_S = 60.0
"""They take milliseconds; one that takes longer hangs."""


def run(failure: type[Exception], *command: str, may_fail: bool = False, timeout_s: float = TIMEOUT_S) -> str:
    """Run a command; what it printed.

    Args:
        failure: What is raised where it cannot be run or ends with another status than 0; its message names
            the command and what it said.
        command: The program and its arguments.
        may_fail: Whether another status is no failure.
        timeout_s: How long it may take.
    """
    try:
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, text=True, check=False, timeout=timeout_s
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise failure(f"{' '.join(command)}: {error}") from error
    if done.returncode != 0 and not may_fail:
        raise failure(f"{' '.join(command)}: {done.stderr.strip() or f'status {done.returncode}'}")
    return done.stdout
