"""The headers of a block's lines: time, level and logger of each entry."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from barnabas.analysis.reading.grammar import LEVELS, Head, find_head
from barnabas.analysis.reading.text import Mask, Places, Text
from barnabas.analysis.reading.times import Clock
from barnabas.cluster.model.statechange import LOGGER

NO_TIME = np.iinfo(np.int64).min
"""The value that stands for a missing time."""

_MINUTE = slice(1, 17)
_DIGITS = {18: 10_000_000, 19: 1_000_000, 21: 100_000, 22: 10_000, 23: 1_000}
"""The microseconds that one unit is worth at each digit after the minute of ``[2026-11-21 03:12:45,678]``."""


@dataclass(slots=True)
class Heads:
    """The headers of a block's lines; a line without a header belongs to the entry above it.

    Attributes:
        found: Whether the line has a header.
        start: The byte at which the header begins; text before it was added by docker or grep.
        time: The microseconds since 1970 in UTC, or ``NO_TIME``.
        level: An index of ``LEVELS``.
        is_ours: Whether the line names the logger of state changes.
        alone: The headers of the lines that were read one at a time.
    """

    found: Mask
    start: Places
    time: NDArray[np.int64]
    level: NDArray[np.int8]
    is_ours: Mask
    alone: dict[int, Head] = field(default_factory=dict)


def no_heads(text: Text) -> Heads:
    """Return headers to fill in, in which no line has one yet."""
    count = len(text)
    return Heads(
        found=np.zeros(count, dtype=np.bool_),
        start=text.start.copy(),
        time=np.full(count, NO_TIME),
        level=np.zeros(count, dtype=np.int8),
        is_ours=np.zeros(count, dtype=np.bool_),
    )


def find_heads(text: Text, lines: Places, clock: Clock, heads: Heads) -> None:
    """Find the headers of the given lines, one line at a time."""
    for line in lines.tolist():
        spelled = text.line(line)
        head = find_head(spelled)
        if head is not None:
            heads.alone[line] = head
            heads.found[line] = True
            heads.start[line] += len(spelled[: head.start].encode())
            time = clock.moment(head.time)
            heads.time[line] = NO_TIME if time is None else time
            heads.level[line] = LEVELS.index(head.level)
            heads.is_ours[line] = head.logger == LOGGER


def read_times(text: Text, start: Places, clock: Clock) -> NDArray[np.int64]:
    """Read the times of lines in the default layout; ``NO_TIME`` stands for an impossible time."""
    if not len(start):
        return np.zeros(0, dtype=np.int64)
    # Only distinct minutes go through the clock, which knows the time zone; seconds and milliseconds are
    # added digit by digit for all lines at once.
    spelled = text.strings(start + _MINUTE.start, start + _MINUTE.stop).dictionary_encode()
    known = [clock.minute(minute) for minute in spelled.dictionary.to_pylist()]
    minutes = np.array([NO_TIME if minute is None else minute for minute in known])
    times: NDArray[np.int64] = minutes[np.asarray(spelled.indices)]
    behind = sum(
        (text.bytes[start + place].astype(np.int64) - ord("0")) * worth for place, worth in _DIGITS.items()
    )
    return np.where(times == NO_TIME, NO_TIME, times + behind)
