"""What stands below the lines: stack traces and other text that belongs to the entry above it."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np
import pyarrow as pa

from analysis.bytewise import Places, Text
from analysis.entries import Heads, Lines

# What `docker compose logs -t` puts between the service's name and the line.
_STAMP = re.compile(r"^ (?:\d{4}-\d\d-\d\dT\S+Z )?")

_NO_TEXT = "\r\n\t "
"""What is left out at the end of an entry."""


def join(text: Text, lines: Lines, heads: Heads, first: Places, last: Places) -> tuple[pa.Array, pa.Array]:
    """Each entry as it stands in the file, and the part of it below its first line.

    Args:
        text: The block.
        lines: Its lines.
        heads: Their headers.
        first: The first line of each entry.
        last: The last line before the next entry.

    Returns:
        The columns ``raw`` and ``trace``.
    """
    start = np.where(heads.found[first], heads.start[first], lines.start[first])
    end = lines.end[first].copy()
    long = np.flatnonzero(last > first)
    if not len(long):
        return text.strings(start, end), pa.nulls(len(first), pa.string())
    if _in_front(lines, heads, first):
        return _joined_by_writer(text, lines, heads, first, last)
    traces: list[str | None] = [None] * len(first)
    for row in long.tolist():
        begin = int(lines.start[first[row] + 1])
        found = text.slice(begin, int(lines.end[last[row]]))
        kept = found.rstrip(_NO_TEXT.encode())
        traces[row] = _spelled(kept.decode())
        if kept:
            end[row] = begin + len(kept)
    return text.strings(start, end), pa.array(traces, pa.string())


def _spelled(below: str) -> str | None:
    return "\n".join(line.rstrip("\r") for line in below.split("\n")).rstrip() or None


def _in_front(lines: Lines, heads: Heads, first: Places) -> bool:
    """Whether somebody else wrote something in front of these lines."""
    return bool((heads.start[first] > lines.start[first])[heads.found[first]].any())


def _joined_by_writer(
    text: Text, lines: Lines, heads: Heads, first: Places, last: Places
) -> tuple[pa.Array, pa.Array]:
    """``join`` where something stands in front of lines: it is taken away from those below, too."""
    below = _sorted_out(text, lines, heads, first, last)
    whole, traces = [], []
    for row, line in enumerate(first.tolist()):
        found = "\n".join(below[row]).rstrip(_NO_TEXT)
        begin = int(heads.start[line] if heads.found[line] else lines.start[line])
        end = _line_feed(lines, line) if found else int(lines.end[line])
        head = text.slice(begin, end).decode()
        whole.append(f"{head}\n{found}" if found else head)
        traces.append(_spelled(found))
    return pa.array(whole, pa.string()), pa.array(traces, pa.string())


def _sorted_out(
    text: Text, lines: Lines, heads: Heads, first: Places, last: Places
) -> defaultdict[int, list[str]]:
    """The lines below each entry, where lines of several brokers may alternate, each behind its name."""
    latest: dict[str, int] = {}
    lengths: list[int] = []
    below: defaultdict[int, list[str]] = defaultdict(list)
    for row, (head, end) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        name = _name(text.slice(int(lines.start[head]), int(heads.start[head])).decode())
        if name:
            latest[name] = row
        if len(name) not in lengths:
            lengths = sorted([*lengths, len(name)], reverse=True)
        for line in range(head + 1, end + 1):
            spelled = text.slice(int(lines.start[line]), _line_feed(lines, line)).decode()
            # Names may be as many as lines, where each is a time; their lengths are few.
            begins = (spelled[:length] for length in lengths)
            owner = next((begin for begin in begins if begin in latest), "")
            rest = spelled.removeprefix(owner)
            below[latest.get(owner, row)].append(_STAMP.sub("", rest) if owner else rest)
    return below


def _line_feed(lines: Lines, line: int) -> int:
    """Where the line feed behind a line stands: a carriage return before it is no part of the line."""
    is_last = line + 1 == len(lines.start)
    return int(lines.end[line] if is_last else lines.start[line + 1] - 1)


def _name(front: str) -> str:
    """What of the text in front of a line is the same for all lines of its writer."""
    name, bar, _ = front.partition("|")
    return name + bar if bar else front
