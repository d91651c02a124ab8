"""Lines that several files of one broker have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

_SAME = ("broker", "time", "raw", "kind", "subject", "topic", "partition")
"""The columns in which copies of a line are equal."""


def without_copies(rows: Iterable[Mapping[str, Any]], table: pa.Table) -> Iterator[Mapping[str, Any]]:
    """Leave out the rows of lines that another file of the same broker has, too.

    What a console shows repeats a server.log, and may be at hand beside it. A line that one file has twice
    stays twice.

    Args:
        rows: Rows of ``table``.
        table: The rows at hand, with the columns of ``broker_events``.
    """
    files = table.group_by(["broker", "source"]).aggregate([])["broker"].to_pylist()
    copied = {broker for broker, number in Counter(files).items() if number > 1 and broker is not None}
    by_file: dict[tuple[object, ...], int] = {}
    returned: dict[tuple[object, ...], int] = {}
    for row in rows:
        if row["broker"] not in copied:
            yield row
            continue
        line = tuple(row.get(name) for name in _SAME)
        own = (row["source"], line)
        by_file[own] = by_file.get(own, 0) + 1
        if by_file[own] > returned.get(line, 0):
            returned[line] = by_file[own]
            yield row
