"""The columns that an entry of the logs gives, and entries that do not come from lines of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
"""The columns (``reading.events.tables``) that an entry gives; other columns are absent."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A record as an entry of the logs.

    Attributes:
        time_us: Its time, in microseconds since 1970.
        line: Its offset plus one.
        raw: The record as JSON.
        row: The columns that it gives.
    """

    time_us: int
    line: int
    raw: str
    row: Row
