"""Lines that several files of one broker have."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_SAME = ("broker", "time", "raw", "kind", "subject", "topic", "partition")
"""The columns in which copies of a line are equal."""


def without_copies(rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Leave out the rows of lines that another file of the same broker has, too.

    What a console shows repeats a server.log, and may be at hand beside it. A line that one file has twice
    stays twice.

    Args:
        rows: Rows with the columns of ``broker_events``.
    """
    returned: Counter[tuple[object, ...]] = Counter()
    by_file: defaultdict[tuple[object, ...], Counter[str]] = defaultdict(Counter)
    for row in rows:
        line = tuple(row.get(name) for name in _SAME)
        by_file[line][row["source"]] += 1
        if row["broker"] is None or by_file[line][row["source"]] > returned[line]:
            returned[line] += 1
            yield row
