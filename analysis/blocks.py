"""From a block of a log, the text of whole entries, to rows of the table ``events``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.bytewise import Places, Text
from analysis.columns import Columns
from analysis.companions import companion_columns
from analysis.entries import LEVELS, NO_TIME, Heads, Lines, find_blanks, find_heads, find_lines, no_heads
from analysis.messages import Reader, messages_of
from analysis.stencils import Stencils
from analysis.tables import EVENTS_CODED
from analysis.times import Clock
from analysis.traces import join
from cluster.model.statechange import LOGGER

# After a crash NUL bytes stand where a line was to be written; the next one follows on the same line.
_NULS = re.compile(rb"(?<=[^\n\0])\0+(?=\[?\d{4}-\d\d-\d\d)")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a block comes from.

    Attributes:
        source: The file.
        block: The first byte of the split.
        line: The number of the block's first line in the split, from 1.
        broker: The broker whose file it is, as far as that is known without reading it.
    """

    source: str
    block: int
    line: int
    broker: int | None = None


@dataclass(frozen=True, slots=True)
class Typed:
    """A block as rows.

    Attributes:
        rows: Of the table ``events``; texts of which many are alike as dictionaries.
        lines: How many line feeds the block has.
        replaced: How many bytes were no UTF-8 and became U+FFFD.
    """

    rows: pa.RecordBatch
    lines: int
    replaced: int


def clean(data: bytes) -> tuple[bytes, int]:
    """A block as UTF-8, ending with a line feed, and how many bytes had to be replaced for that."""
    if b"\0" in data:
        data = _NULS.sub(b"\n", data).replace(b"\0", b"")
    if not data.endswith(b"\n"):
        data += b"\n"
    if data.isascii():
        return data, 0
    try:
        data.decode()
    except UnicodeDecodeError:
        text = data.decode(errors="replace")
        return text.encode(), text.count("\ufffd") - data.count("\ufffd".encode())
    return data, 0


class BlockReader:
    """Reads one block after the other; what it has learned from one serves the next.

    Args:
        clock: Knows the brokers' time zone.
        broker_of: The broker that a text in front of lines (``broker-1  | ``) names.
    """

    def __init__(self, clock: Clock, broker_of: Callable[[str], int | None]) -> None:
        self._clock = clock
        self._broker_of = broker_of
        self._reader = Reader()
        self._stencils = Stencils()

    def read(self, data: bytes, origin: Origin) -> Typed:
        """The rows of a block in the order of its entries."""
        whole, replaced = clean(data)
        text = Text(whole)
        lines = find_lines(text, len(whole))
        line_feeds = len(lines.start) if whole is data else data.count(b"\n")
        heads = no_heads(lines)
        found = self._stencils.find(text, lines)
        self._stencils.read(text, lines, self._clock, found, heads)
        others = found.others()
        blanks = find_blanks(text, lines, others)
        find_heads(text, lines, blanks, others, clock=self._clock, heads=heads)
        first, last = _entries(lines, heads)
        columns = Columns(len(first))
        row_of = np.full(len(lines.start), -1)
        row_of[first] = np.arange(len(first))
        self._stencils.fill(text, lines, found, row_of, columns)
        ours = others[heads.found[others] & heads.is_ours[others]]
        self._reader.read(text, blanks.places, messages_of(heads, ours, row_of[ours]), columns)
        _read_others(text, heads, first, columns)
        unnamed = columns.without("broker")
        if origin.broker is not None:
            columns.put_same(unnamed, {"broker": origin.broker})
        for row in unnamed.tolist():
            # What stands in front of a line tells better than the path.
            broker = self._broker_of(_front(text, lines, heads, int(first[row])))
            if broker is not None:
                columns.put_row(row, {"broker": broker})
        below = join(text, lines, heads, first, last)
        return Typed(_table(heads, first, columns, origin, below), line_feeds, replaced)


def _read_others(text: Text, heads: Heads, first: Places, columns: Columns) -> None:
    """What lines of other loggers tell; those that tell nothing of ours keep a null in ``understood``."""
    rows = []
    for line, head in heads.others.items():
        if head.logger is None or head.logger == LOGGER:
            continue
        row = int(np.searchsorted(first, line))
        rows.append(row)
        start, end = int(heads.message_start[line]), int(heads.message_end[line])
        told = companion_columns(text.slice(start, end).decode())
        if told is not None:
            columns.put_row(row, told)
    ours = np.ones(len(first), dtype=np.bool_)
    ours[rows] = False
    ours[ours] = np.isin(np.flatnonzero(ours), columns.without("understood"))
    columns.put_same(np.flatnonzero(ours), {"understood": False})


def _front(text: Text, lines: Lines, heads: Heads, line: int) -> str:
    return text.slice(int(lines.start[line]), int(heads.start[line])).decode()


def _entries(lines: Lines, heads: Heads) -> tuple[Places, Places]:
    """The first and the last line of each entry; what stands before the first header is an entry too."""
    first = np.flatnonzero(heads.found)
    headless = lines.end[: first[0] if len(first) else None] - lines.start[: first[0] if len(first) else None]
    first = np.concatenate([np.flatnonzero(headless)[:1], first])
    return first, np.append(first[1:], len(lines.start)) - 1


def _table(
    heads: Heads, first: Places, columns: Columns, origin: Origin, below: tuple[pa.Array, pa.Array]
) -> pa.RecordBatch:
    raw, trace = below
    time, found = heads.time[first], heads.found[first]
    known = {
        "time": pa.array(time, mask=time == NO_TIME).cast(pa.timestamp("us")),
        "level": _coded(np.where(found, heads.level[first], -1), LEVELS),
        "logger": _loggers(heads, first),
        "trace": trace,
        "raw": raw,
        "source": _coded(np.zeros(len(first), dtype=np.int8), (origin.source,)),
        "block": pa.array(np.full(len(first), origin.block)),
        "line": pa.array(first + origin.line),
    }
    arrays = [known[name] if name in known else columns.finish(name) for name in EVENTS_CODED.names]
    return pa.RecordBatch.from_arrays(arrays, schema=EVENTS_CODED)


def _loggers(heads: Heads, first: Places) -> pa.Array:
    names = [LOGGER]
    codes = np.where(heads.is_ours[first], 0, -1)
    for row in np.flatnonzero(codes < 0).tolist():
        head = heads.others.get(int(first[row]))
        if head is not None and head.logger is not None:
            if head.logger not in names:
                names.append(head.logger)
            codes[row] = names.index(head.logger)
    return _coded(codes, names)


def _coded(codes: NDArray[Any], values: Sequence[str]) -> pa.Array:
    indexes = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indexes, pa.array(values, pa.string()))
