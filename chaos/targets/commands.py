"""A runner of system commands such as ip and mount."""

from __future__ import annotations

import subprocess

TIMEOUT_S = 60.0
"""The longest time for a command in seconds; commands take milliseconds."""


def run(failure: type[Exception], *command: str, may_fail: bool = False, timeout_s: float = TIMEOUT_S) -> str:
    """Run a command and return its standard output.

    Args:
        failure: The exception to raise if the command cannot be run or fails; its message holds the command,
            its status and all that it printed. (Kafka's tools print some errors on standard output.)
        command: The program and its arguments.
        may_fail: Whether a status other than 0 is ignored.
        timeout_s: The longest time for the command in seconds.
    """
    try:
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, text=True, check=False, timeout=timeout_s
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise failure(f"{' '.join(command)}: {error}") from error
    if done.returncode != 0 and not may_fail:
        printed = f"{done.stderr.strip()} {done.stdout.strip()}".strip()
        raise failure(f"{' '.join(command)}: status {done.returncode} {printed}".rstrip())
    return done.stdout
