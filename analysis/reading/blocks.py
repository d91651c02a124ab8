"""The block reader: from the text of whole entries to rows of the table ``events``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from barnabas.analysis.reading.brokers.companions import companion_columns
from barnabas.analysis.reading.brokers.described import MARKS, topic_settings
from barnabas.analysis.reading.brokers.life import LIFE_RULES
from barnabas.analysis.reading.columns import Columns
from barnabas.analysis.reading.endings import find_endings
from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.reading.events.entries import Entry, Row
from barnabas.analysis.reading.events.tables import EVENTS_CODED
from barnabas.analysis.reading.forms import Forms, read_heads
from barnabas.analysis.reading.grammar import LEVELS, message_columns
from barnabas.analysis.reading.heads import NO_TIME, Heads, find_heads, no_heads
from barnabas.analysis.reading.layouts import unwrap
from barnabas.analysis.reading.passes import Passes
from barnabas.analysis.reading.text import Mask, Places, Text
from barnabas.analysis.reading.times import Clock, is_plausible
from barnabas.analysis.reading.traces import join
from barnabas.cluster.model.statechange import LOGGER

# After a machine crash a file holds NUL bytes where a line was to be written, and then the next line.
_NULS = re.compile(rb"(?<=[^\n\0])\0+(?=\[?\d{4}-\d\d-\d\d)")

_LINE_MAX = 1024 * 1024
"""The most bytes of a line that is read whole; real ones have at most some hundred thousand."""

_TEXT_MAX = 256 * 1024
"""The most bytes of ``raw`` and ``trace`` that are kept whole."""

# The logger of a message of several lines stands on its last one.
_LAST_LOGGER = re.compile(r"(?:(?:^|\n) ?|\S )\([A-Za-z_][\w.$]*\)\s*\Z")

_OWN_KINDS = {BrokerKind.ENDED_AT_ONCE.value, *(rule.kind.value for rule in LIFE_RULES)}
_SPEAKER = ("role", "broker", "controller", "controller_epoch")
"""The columns that are kept of a line with a value out of range, as of one that no rule matches."""

_OF_CONTROLLER = {BrokerKind.CONTROLLER_ACTIVE.value, BrokerKind.CONTROLLER_RESIGNED.value}


ReadSigns = Callable[[str, str, Callable[[], str]], Row | None]
"""A function of a message, its logger and the lines below it to columns; None if it shows no condition."""


def no_signs(_: str, __: str, ___: Callable[[], str]) -> None:
    """Show no condition."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The place of a block in the logs.

    Attributes:
        source: The file.
        block: The first byte of the split.
        line: The number of the block's first line in the split, from 1.
        broker: The id of the broker that wrote the file; None if only its lines can tell.
    """

    source: str
    block: int
    line: int
    broker: int | None = None


@dataclass(frozen=True, slots=True)
class Typed:
    """The rows of a block.

    Attributes:
        rows: Rows of the table ``events``; columns of repeating texts are dictionary-encoded.
        lines: The number of line feeds in the block.
        replaced: The number of bytes that were not UTF-8 and became U+FFFD.
    """

    rows: pa.RecordBatch
    lines: int
    replaced: int


def clean(data: bytes) -> tuple[bytes, int]:
    """Return the block as UTF-8 that ends with a line feed, and the number of bytes replaced for that."""
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


def _cut_long_lines(data: bytes) -> bytes:
    """Cut lines longer than ``_LINE_MAX``; such a line is damage, and would be held in memory many times."""
    if len(data) <= _LINE_MAX or all(len(line) <= _LINE_MAX for line in data.split(b"\n")):
        return data
    return b"\n".join(
        line if len(line) <= _LINE_MAX else _shortened(line.decode(), _LINE_MAX).encode()
        for line in data.split(b"\n")
    )


def _bounded(texts: pa.Array) -> pa.Array:
    """Cut texts longer than ``_TEXT_MAX``, so that a table or report never holds a text of many megabytes."""
    if not len(texts) or (pc.max(pc.binary_length(texts)).as_py() or 0) <= _TEXT_MAX:
        return texts
    return pa.array([text and _shortened(text, _TEXT_MAX) for text in texts.to_pylist()], pa.string())


def _shortened(text: str, length: int) -> str:
    rest = len(text) - length
    return f"{text[:length]}… ({rest:,} characters more)" if rest > 0 else text


class BlockReader:
    """A reader of blocks that keeps the forms learned from one block for the next.

    Args:
        clock: The clock of the brokers' time zone.
        broker_of: Returns the broker id that a text in front of a line (``broker-1 | ``) names.
        signs: Returns the columns of a line that shows a condition; by default no line does.
    """

    def __init__(
        self, clock: Clock, broker_of: Callable[[str], int | None], signs: ReadSigns = no_signs
    ) -> None:
        self._clock = clock
        self._broker_of = broker_of
        self._signs = signs
        self._forms = Forms()
        self._passes = Passes(clock)

    def read(self, data: bytes, origin: Origin) -> Typed:
        """Read the rows of a block in the order of its entries."""
        unwrapped = unwrap(data, is_utc=self._clock.is_utc)
        whole, replaced = clean(unwrapped.data)
        # Headers come first, because they say where entries begin: all lines of a known form at once, the
        # others one at a time. Messages are read in the same two ways. A file may hold thousands of lines of
        # one form, so the second way sees only a few lines.
        bounded = _cut_long_lines(whole)
        text = Text(bounded)
        heads = no_heads(text)
        found = self._forms.find(text)
        read_heads(text, found, self._clock, heads)
        find_heads(text, found.alone, self._clock, heads)
        self._passes.correct(heads, (origin.source, origin.block))
        endings = find_endings(bounded, text, heads)
        first, last = _entries(text, heads)
        columns = Columns(len(first))
        row_of = np.full(len(text), -1)
        row_of[first] = np.arange(len(first))
        self._forms.fill(text, found, row_of, columns)
        raw, trace = map(_bounded, join(text, heads, first, last))
        _read_alone(text, heads, row_of, columns, trace, signs=self._signs)
        for ending in endings:
            row = int(row_of[ending.line])
            columns.put_row(row, ending.row(trace[row].as_py() or ""))
        if any(mark.encode() in whole for mark in MARKS):
            _read_described(text, heads, first, last, columns)
        _forget_impossible(heads.found[first] & (heads.time[first] == NO_TIME), columns)
        unnamed = columns.without("broker")
        if origin.broker is not None:
            columns.put_same(unnamed, {"broker": origin.broker})
        for row in unnamed.tolist():
            # A name in front of the line is more reliable than the path.
            broker = self._broker_of(_front(text, heads, int(first[row])))
            if broker is not None:
                columns.put_row(row, {"broker": broker})
        _name_subjects(columns)
        line_feeds = len(text) if whole is data else data.count(b"\n")
        line_of = unwrapped.line_of
        # NUL bytes that became a line feed shift the lines; then the count in the text is the best one.
        is_same = line_of is None or len(line_of) != len(text)
        lines = (first if line_of is None or is_same else line_of[first]) + origin.line
        known = {"raw": raw, "trace": trace, "line": pa.array(lines)}
        return Typed(_table(heads, first, columns, origin, known), line_feeds, replaced)


def read_entries(entries: Sequence[Entry], origin: Origin) -> Typed:
    """Return the rows of entries that were read from a binary log; they name no writer."""
    columns = Columns(len(entries))
    for number, entry in enumerate(entries):
        columns.put_row(number, entry.row)
    times = [entry.time_us if is_plausible(entry.time_us) else None for entry in entries]
    _forget_impossible(np.array([time is None for time in times], dtype=np.bool_), columns)
    nothing = np.full(len(entries), -1)
    known = {
        "time": pa.array(times, pa.int64()).cast(pa.timestamp("us")),
        "level": _coded(nothing, ()),
        "logger": _coded(nothing, ()),
        "trace": pa.nulls(len(entries), pa.string()),
        "raw": pa.array([entry.raw for entry in entries], pa.string()),
        "line": pa.array([entry.line for entry in entries], pa.int64()),
    }
    return Typed(_batch(known, columns, origin), len(entries), 0)


def _read_alone(
    text: Text, heads: Heads, row_of: Places, columns: Columns, trace: pa.Array, *, signs: ReadSigns
) -> None:
    """Fill the columns of the lines read one at a time, and ``understood`` of lines that no rule matches."""
    foreign = []
    for line, head in heads.alone.items():
        row = int(row_of[line])
        message = text.line(line)[slice(*head.message)]
        if head.logger == LOGGER:
            columns.put_row(row, message_columns(message))
            continue

        def below(row: int = row) -> str:
            return trace[row].as_py() or ""

        if head.logger is not None or _LAST_LOGGER.search(below()):
            foreign.append(row)
            shown = signs(message, head.logger or "", below) or {}
            columns.put_row(row, shown | (companion_columns(message, head.logger or "", below) or {}))
    # ``understood`` stays null for a line of another logger that no rule concerns.
    columns.put_same(np.setdiff1d(columns.without("understood"), foreign), {"understood": False})


def _read_described(text: Text, heads: Heads, first: Places, last: Places, columns: Columns) -> None:
    """Fill the columns of a text before the first header that gives topics' settings."""
    if not len(first) or heads.found[first[0]]:
        return
    settings = topic_settings("\n".join(text.line(line) for line in range(first[0], last[0] + 1)))
    if settings:
        row = {"understood": True, "kind": BrokerKind.DESCRIBED.value, "settings": settings}
        columns.put_row(0, row)


def _forget_impossible(timeless: Mask, columns: Columns) -> None:
    """Make lines with an impossible time, or with another value out of range, lines that no rule matches.

    Damage wrote them. What else they say may be damaged, too.

    Args:
        timeless: The rows with an impossible time.
        columns: The columns of all rows.
    """
    rows = np.flatnonzero(timeless | columns.unfit)
    if len(rows):
        columns.empty_all_but(_SPEAKER, rows)
        columns.put_same(rows, {"understood": False})


def _name_subjects(columns: Columns) -> None:
    """Name the writer as the subject of lines about their own process whose prefix names nobody."""
    for row in columns.rows_with("kind", _OWN_KINDS):
        if columns.value("subject", row) is None and (broker := columns.value("broker", row)) is not None:
            columns.put_row(row, {"subject": broker})
    for row in columns.rows_with("kind", _OF_CONTROLLER):
        if columns.value("controller", row) is None and (broker := columns.value("broker", row)) is not None:
            columns.put_row(row, {"subject": broker, "controller": broker})


def _front(text: Text, heads: Heads, line: int) -> str:
    return text.slice(int(text.start[line]), int(heads.start[line]))


def _entries(text: Text, heads: Heads) -> tuple[Places, Places]:
    """Find the first and the last line of each entry; lines before the first header count as an entry."""
    first = np.flatnonzero(heads.found)
    headless = (text.end - text.start)[: first[0] if len(first) else None]
    first = np.concatenate([np.flatnonzero(headless)[:1], first])
    return first, np.append(first[1:], len(text)) - 1


def _table(
    heads: Heads, first: Places, columns: Columns, origin: Origin, known: dict[str, pa.Array]
) -> pa.RecordBatch:
    time, found = heads.time[first], heads.found[first]
    known |= {
        "time": pa.array(time, mask=time == NO_TIME).cast(pa.timestamp("us")),
        "level": _coded(np.where(found, heads.level[first], -1), LEVELS),
        "logger": _loggers(heads, first),
    }
    return _batch(known, columns, origin)


def _batch(known: dict[str, pa.Array], columns: Columns, origin: Origin) -> pa.RecordBatch:
    known |= {
        "source": _coded(np.zeros(columns.rows, dtype=np.int8), (origin.source,)),
        "block": pa.array(np.full(columns.rows, origin.block)),
    }
    arrays = [known[name] if name in known else columns.finish(name) for name in EVENTS_CODED.names]
    return pa.RecordBatch.from_arrays(arrays, schema=EVENTS_CODED)


def _loggers(heads: Heads, first: Places) -> pa.Array:
    names = [LOGGER]
    codes = np.where(heads.is_ours[first], 0, -1)
    for row in np.flatnonzero(codes < 0).tolist():
        head = heads.alone.get(int(first[row]))
        if head is not None and head.logger is not None:
            if head.logger not in names:
                names.append(head.logger)
            codes[row] = names.index(head.logger)
    return _coded(codes, names)


def _coded(codes: NDArray[Any], values: Sequence[str]) -> pa.Array:
    indexes = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indexes, pa.array(values, pa.string()))
