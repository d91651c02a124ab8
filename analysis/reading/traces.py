"""The continuation lines of entries: stack traces and other lines without a header."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np
import pyarrow as pa

from barnabas.analysis.reading.heads import Heads
from barnabas.analysis.reading.text import Places, Text

# The timestamp that `docker compose logs -t` puts between the service's name and the line.
_STAMP = re.compile(r"^ (?:\d{4}-\d\d-\d\dT\S+Z )?")

# The timestamp that `docker logs -t` and `kubectl logs --timestamps` put before each line.
_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\S+(?:Z|[+-]\d\d:\d\d) ")

_NO_TEXT = "\r\n\t "
"""The characters that are removed at the end of an entry."""


def join(text: Text, heads: Heads, first: Places, last: Places) -> tuple[pa.Array, pa.Array]:
    """Return the text of each entry, and the part of it below its first line.

    Args:
        text: The block of lines.
        heads: The headers of the lines.
        first: The index of each entry's first line.
        last: The index of each entry's last line.

    Returns:
        The columns ``raw`` and ``trace``.
    """
    start = np.where(heads.found[first], heads.start[first], text.start[first])
    end = text.end[first].copy()
    long = np.flatnonzero(last > first)
    if not len(long):
        return text.strings(start, end), pa.nulls(len(first), pa.string())
    if _in_front(text, heads, first):
        return _joined_by_writer(text, heads, first, last)
    traces: list[str | None] = [None] * len(first)
    for row in long.tolist():
        begin = int(text.start[first[row] + 1])
        kept = text.slice(begin, int(text.end[last[row]])).rstrip(_NO_TEXT)
        traces[row] = _spelled(kept)
        if kept:
            end[row] = begin + len(kept.encode())
    return text.strings(start, end), pa.array(traces, pa.string())


def _spelled(below: str) -> str | None:
    return "\n".join(line.rstrip("\r") for line in below.split("\n")).rstrip() or None


def _in_front(text: Text, heads: Heads, first: Places) -> bool:
    """Return whether there is text in front of headers, as ``docker compose logs`` writes it."""
    return bool((heads.start[first] > text.start[first])[heads.found[first]].any())


def _joined_by_writer(text: Text, heads: Heads, first: Places, last: Places) -> tuple[pa.Array, pa.Array]:
    """Join entries as ``join`` does if a writer's name is in front of each line, and remove the name."""
    below = _sorted_out(text, heads, first, last)
    whole, traces = [], []
    for row, line in enumerate(first.tolist()):
        found = "\n".join(below[row]).rstrip(_NO_TEXT)
        begin = int(heads.start[line] if heads.found[line] else text.start[line])
        end = _line_feed(text, line) if found else int(text.end[line])
        head = text.slice(begin, end)
        whole.append(f"{head}\n{found}" if found else head)
        traces.append(_spelled(found))
    return pa.array(whole, pa.string()), pa.array(traces, pa.string())


def _sorted_out(text: Text, heads: Heads, first: Places, last: Places) -> defaultdict[int, list[str]]:
    """Assign continuation lines to entries where the lines of several brokers alternate."""
    latest: dict[str, int] = {}
    lengths: list[int] = []
    below: defaultdict[int, list[str]] = defaultdict(list)
    for row, (head, end) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        front = text.slice(int(text.start[head]), int(heads.start[head]))
        unstamped = _TIME.sub("", front)
        name = writer_of(front)
        if name:
            latest[name] = row
        if len(name) not in lengths:
            lengths = sorted([*lengths, len(name)], reverse=True)
        for line in range(head + 1, end + 1):
            spelled = text.slice(int(text.start[line]), _line_feed(text, line))
            if unstamped != front:
                spelled = _TIME.sub("", spelled)
            # If the text in front contains a time, every line has another name. Search by the lengths of
            # names, which are few.
            begins = (spelled[:length] for length in lengths)
            owner = next((begin for begin in begins if begin in latest), "")
            rest = spelled.removeprefix(owner)
            below[latest.get(owner, row)].append(_STAMP.sub("", rest) if owner else rest)
    return below


def _line_feed(text: Text, line: int) -> int:
    """Return the index of the line feed that ends a line."""
    is_last = line + 1 == len(text)
    return int(text.end[line] if is_last else text.start[line + 1] - 1)


def writer_of(front: str) -> str:
    """Return the writer's name: the text in front of a line without a time, up to a bar if there is one."""
    unstamped = _TIME.sub("", front)
    name, bar, _ = unstamped.partition("|")
    return name + bar if bar else unstamped
