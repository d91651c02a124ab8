"""What stands below the lines: stack traces and other text that belongs to the entry above it."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np
import pyarrow as pa

from analysis.bytewise import Places, Text
from analysis.entries import Heads, Lines

# What `docker compose logs -t` puts between the service's name and the line.
_STAMP = re.compile(r" (?:\d{4}-\d\d-\d\dT\S+Z )?")


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
        below = _sorted_out(text, lines, heads, first, last)
        raw = text.strings(start, end).to_pylist()
        traces = [_joined(below[row]) for row in range(len(first))]
        whole = [f"{line}\n{trace}" if trace else line for line, trace in zip(raw, traces, strict=True)]
        return pa.array(whole, pa.string()), pa.array(traces, pa.string())
    traces = [None] * len(first)
    for row in long.tolist():
        begin = int(lines.start[first[row] + 1])
        found = text.slice(begin, int(lines.end[last[row]]))
        kept = found.rstrip(b"\r\n\t ")
        traces[row] = _joined(kept.decode().split("\n"))
        if kept:
            end[row] = begin + len(kept)
    return text.strings(start, end), pa.array(traces, pa.string())


def _joined(lines: list[str]) -> str | None:
    return "\n".join(line.rstrip("\r") for line in lines).rstrip() or None


def _in_front(lines: Lines, heads: Heads, first: Places) -> bool:
    """Whether somebody else wrote something in front of these lines."""
    return bool((heads.start[first] > lines.start[first])[heads.found[first]].any())


def _sorted_out(
    text: Text, lines: Lines, heads: Heads, first: Places, last: Places
) -> defaultdict[int, list[str]]:
    """The lines below each entry, where lines of several brokers may alternate, each behind its name."""
    latest: dict[str, int] = {}
    below: defaultdict[int, list[str]] = defaultdict(list)
    for row, (head, end) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        name = _name(text.slice(int(lines.start[head]), int(heads.start[head])).decode())
        latest[name] = row
        for line in range(head + 1, end + 1):
            spelled = text.slice(int(lines.start[line]), int(lines.end[line])).decode()
            owner = max((each for each in latest if spelled.startswith(each)), key=len, default=name)
            rest = spelled.removeprefix(owner)
            below[latest[owner]].append(_STAMP.sub("", rest, count=1) if owner else rest)
    return below


def _name(front: str) -> str:
    """What of the text in front of a line is the same for all lines of its writer."""
    name, bar, _ = front.partition("|")
    return name + bar if bar else front
