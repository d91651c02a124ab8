"""The answer to ListOffsets 0: the start offsets of segments that were last written before a time.

Source: ``Log.legacyFetchOffsetsBefore`` and ``Partition.legacyFetchOffsetsForTimestamp`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile
from typing import NamedTuple

from barnabas.cluster.model.ids import Offset

LATEST, EARLIEST = -1, -2

MAX_TIMESTAMP = -3
"""The timestamp with which ListOffsets, from version 7 on, asks for the largest one (KIP-734)."""


class OffsetAndTime(NamedTuple):
    """An offset, and the time (ms since 1970) of the last write before the next offset in the list."""

    offset: Offset
    modified_ms: int


def offsets_before(
    rows: Sequence[OffsetAndTime], timestamp: int, most: int, high_watermark: Offset | None
) -> list[Offset]:
    """Return at most ``most`` offsets that existed at ``timestamp``, the latest first.

    Args:
        rows: The start of each segment, oldest first, then the log end, if the last segment is not empty.
        timestamp: Milliseconds since 1970; -1 asks for the latest offset, -2 for the earliest.
        most: The most offsets.
        high_watermark: The end of what a consumer may see; None for the whole log.
    """
    if timestamp == LATEST:
        known = len(rows)
    elif timestamp == EARLIEST:
        known = 1
    else:
        known = next((n for n in range(len(rows), 0, -1) if rows[n - 1].modified_ms <= timestamp), 0)
    count = min(max(most, 0), known)
    found = sorted((row.offset for row in rows[known - count : known]), reverse=True)
    if high_watermark is None or not any(offset > high_watermark for offset in found):
        return found
    return [high_watermark, *dropwhile(lambda offset: offset > high_watermark, found)]
