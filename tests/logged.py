"""What a broker has logged: its log files are rolled each hour, and a test may run at the turn of one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any


def logged(file: Path) -> str:
    """Return the text of a log file, after that of the files it was rolled to.

    The current file is read first: if it is rolled meanwhile, its lines come twice rather than not at all.

    Raises:
        FileNotFoundError: There is neither the file nor a rolled one.
    """
    try:
        current = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        current = None
    rolled = sorted(file.parent.glob(f"{file.name}.*"))
    if current is None and not rolled:
        raise FileNotFoundError(f"no log file {file}, and none that it was rolled to")
    return "".join(each.read_text(encoding="utf-8") for each in rolled) + (current or "")


def log_lines(broker: Any, words: str) -> list[str]:
    """Return the lines of a broker's server.log in which ``words``, a regular expression, are found."""
    log = logged(broker.directory / "logs" / "server.log")
    return [line for line in log.splitlines() if re.search(words, line)]
