"""The lines that Kafka's tools log to standard error.

Source: ``config/tools-log4j.properties`` of Kafka 2.8, with the pattern ``[%d] %p %m (%c)%n``.
"""

from __future__ import annotations

import sys
from datetime import datetime


def log_line(when: datetime, level: str, message: str, logger: str) -> str:
    """Return a line of the tools' log, without its newline; ``when`` is local time."""
    return f"[{when:%Y-%m-%d %H:%M:%S},{when.microsecond // 1000:03}] {level} {message} ({logger})"


def log(level: str, message: str, logger: str, cause: str | None = None) -> None:
    """Write a line to the tools' log now, and ``cause`` below it: the exception's class and message."""
    line = log_line(datetime.now().astimezone(), level, message, logger)
    sys.stderr.write(f"{line}\n" if cause is None else f"{line}\n{cause}\n")
    sys.stderr.flush()
