"""Entries that do not come from lines of text, as readers of binary logs give them."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.analysis.reading.fields import Row


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
