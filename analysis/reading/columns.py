"""The columns of a block, which are filled in any order and then converted to Arrow arrays."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from barnabas.analysis.reading.events.entries import Row
from barnabas.analysis.reading.events.tables import COLUMNS, EVENTS_CODED
from barnabas.analysis.reading.text import Mask, Places

_NOTHING = np.iinfo(np.int64).min
_NO_CODE = -1
_INT_MAX = np.iinfo(np.int32).max

_DURATION_MAX_MS = 10**12
"""The longest duration in milliseconds, some 31 years; a longer one is damage."""


class Numbers:
    """A column of integers or flags, null where nothing was put."""

    nothing = _NOTHING
    """The value or code that ``put`` takes for null."""

    def __init__(self, arrow: pa.DataType, rows: int, most: int | None = None) -> None:
        self._arrow = arrow
        self._is_flag = pa.types.is_boolean(arrow)
        limits = np.iinfo(np.int32 if pa.types.is_int32(arrow) else np.int64)
        self._least, self._most = int(limits.min), int(limits.max) if most is None else most
        self._values = np.full(rows, _NOTHING)

    def put(self, rows: Places, values: NDArray[np.int64]) -> None:
        """Store the values, which ``encode`` returned, in the rows."""
        self._values[rows] = values

    def empty(self) -> Places:
        """Return the rows in which nothing was put."""
        return np.flatnonzero(self._values == _NOTHING)

    def encode(self, value: int) -> int:
        """Return the value, or ``nothing`` if it is out of the column's range."""
        return int(value) if self._least <= value <= self._most else _NOTHING

    def value(self, row: int) -> int | None:
        """Return the value of a row."""
        return None if self._values[row] == _NOTHING else int(self._values[row])

    def finish(self) -> pa.Array:
        """Return the column as an Arrow array."""
        nothing = self._values == _NOTHING
        if nothing.all():
            return pa.nulls(len(self._values), self._arrow)
        if self._is_flag:
            return pa.array(self._values == 1, mask=nothing)
        if pa.types.is_int32(self._arrow):
            return pa.array(self._values.astype(np.int32), mask=nothing)
        return pa.array(self._values, mask=nothing)


class Labels:
    """A column of texts or lists that keeps each distinct value once; its rows hold the values' codes."""

    nothing = _NO_CODE
    """The value or code that ``put`` takes for null."""

    def __init__(self, arrow: pa.DataType, rows: int) -> None:
        self._arrow = arrow
        self._holds_numbers = pa.types.is_list(arrow) and pa.types.is_int32(arrow.value_type)
        self._codes = np.full(rows, _NO_CODE, dtype=np.int64)
        self._known: dict[Any, int] = {}

    def encode(self, value: Any) -> int:
        """Return the code of a value, a list as a tuple; ``nothing`` if one of its numbers is too large."""
        if self._holds_numbers and any(abs(number) > _INT_MAX for number in value):
            return _NO_CODE
        return self._known.setdefault(value, len(self._known))

    def put(self, rows: Places, codes: NDArray[np.int64]) -> None:
        """Store the values with these codes in the rows."""
        self._codes[rows] = codes

    def rows_with(self, values: Collection[Any]) -> Places:
        """Return the rows that hold one of the values."""
        codes = [code for value, code in self._known.items() if value in values]
        return np.flatnonzero(np.isin(self._codes, codes))

    def finish(self) -> pa.Array:
        """Return the column as an Arrow array; a text column as a dictionary."""
        codes = pa.array(self._codes.astype(np.int32), mask=self._codes == _NO_CODE)
        values = pa.array(list(self._known), type=self._arrow)
        if pa.types.is_string(self._arrow):
            return pa.DictionaryArray.from_arrays(codes, values)
        return values.take(codes)


class Columns:
    """The columns of a block that come from messages.

    Args:
        rows: The number of entries in the block.

    Attributes:
        unfit: Whether a value that was put in the row is out of its column's range.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.unfit: Mask = np.zeros(rows, dtype=np.bool_)
        self._columns: dict[str, Numbers | Labels] = {}

    def without(self, name: str) -> Places:
        """Return the rows in which a column of numbers is null."""
        column = self._column(name)
        if not isinstance(column, Numbers):
            raise TypeError(f"the column {name!r} holds no numbers")
        return column.empty()

    def value(self, name: str, row: int) -> int | None:
        """Return the value of a row in a column of numbers."""
        column = self._column(name)
        return column.value(row) if isinstance(column, Numbers) else None

    def rows_with(self, name: str, values: Collection[Any]) -> list[int]:
        """Return the rows whose text in a column is one of ``values``."""
        column = self._column(name)
        return column.rows_with(values).tolist() if isinstance(column, Labels) else []

    def put_row(self, row: int, values: Row) -> None:
        """Store the columns of one row."""
        for name, value in values.items():
            column = self._column(name)
            code = column.encode(value)
            column.put(np.array([row]), np.array([code]))
            self.unfit[row] |= code == column.nothing

    def put_same(self, rows: Places, values: Row) -> None:
        """Store the same values in the same columns of many rows."""
        for name, value in values.items():
            column = self._column(name)
            column.put(rows, np.full(len(rows), column.encode(value)))

    def put_each(self, rows: Places, codes: Places, known: list[Row]) -> None:
        """Store the columns at the row's code in ``known`` in each row."""
        for name in dict.fromkeys(name for row in known for name in row):
            column = self._column(name)
            has = np.array([name in row for row in known])
            values = np.array([column.encode(row[name]) if name in row else 0 for row in known])
            if has.all():
                column.put(rows, values[codes])
            else:
                chosen = has[codes]
                column.put(rows[chosen], values[codes[chosen]])
            unfit = has & (values == column.nothing)
            if unfit.any():
                self.unfit[rows[unfit[codes]]] = True

    def put_known(self, name: str, rows: Places, codes: Places, known: Sequence[Any]) -> None:
        """Store the value at the row's code in ``known`` in one column of each row; None is null.

        The rows must still be empty in that column.
        """
        column = self._column(name)
        values = [column.nothing if value is None else column.encode(value) for value in known]
        column.put(rows, np.array(values)[codes])

    def empty_all_but(self, names: Collection[str], rows: Places) -> None:
        """Make rows null in all columns but some."""
        for name, column in self._columns.items():
            if name not in names:
                column.put(rows, np.full(len(rows), column.nothing))

    def finish(self, name: str) -> pa.Array:
        """Return a column as an Arrow array, null in rows that were not set."""
        column = self._columns.get(name)
        return pa.nulls(self.rows, EVENTS_CODED.field(name).type) if column is None else column.finish()

    def _column(self, name: str) -> Numbers | Labels:
        column = self._columns.get(name)
        if column is None:
            arrow = _ARROW[name]
            is_number = pa.types.is_integer(arrow) or pa.types.is_boolean(arrow)
            most = _DURATION_MAX_MS if name == "duration_ms" else None
            column = Numbers(arrow, self.rows, most) if is_number else Labels(arrow, self.rows)
            self._columns[name] = column
        return column


_ARROW: dict[str, pa.DataType] = {column.name: column.arrow for column in COLUMNS}
