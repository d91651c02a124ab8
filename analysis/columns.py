"""Columns that are filled row by row or thousands at once, in any order, and become Arrow's in the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.bytewise import Places
from analysis.grammar import Row
from analysis.tables import COLUMNS, EVENTS_CODED

_NOTHING = np.iinfo(np.int64).min
_NO_CODE = -1
_INT_MAX = np.iinfo(np.int32).max


class Numbers:
    """A column of integers or flags, null where nothing was put."""

    nothing = _NOTHING
    """What ``put`` takes for null."""

    def __init__(self, arrow: pa.DataType, rows: int) -> None:
        self._arrow = arrow
        self._is_flag = pa.types.is_boolean(arrow)
        limits = np.iinfo(np.int32 if pa.types.is_int32(arrow) else np.int64)
        self._least, self._most = int(limits.min), int(limits.max)
        self._values = np.full(rows, _NOTHING)

    def fits(self, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the numbers the column can hold."""
        fits: NDArray[np.bool_] = (values >= self._least) & (values <= self._most)
        return fits

    def put(self, rows: Places, values: NDArray[np.int64]) -> None:
        """Set numbers that fit."""
        self._values[rows] = values

    def empty(self) -> Places:
        """The rows in which nothing was put."""
        return np.flatnonzero(self._values == _NOTHING)

    def encode(self, value: int) -> int:
        """What ``put`` takes for a value: itself; nothing where it does not fit."""
        return int(value) if self._least <= value <= self._most else _NOTHING

    def finish(self) -> pa.Array:
        """The column."""
        nothing = self._values == _NOTHING
        if nothing.all():
            return pa.nulls(len(self._values), self._arrow)
        if self._is_flag:
            return pa.array(self._values == 1, mask=nothing)
        if pa.types.is_int32(self._arrow):
            return pa.array(self._values.astype(np.int32), mask=nothing)
        return pa.array(self._values, mask=nothing)


class Labels:
    """A column of texts or lists, of which many are alike: each is kept once, the rows hold its code."""

    nothing = _NO_CODE
    """What ``put`` takes for null."""

    def __init__(self, arrow: pa.DataType, rows: int) -> None:
        self._arrow = arrow
        self._holds_numbers = pa.types.is_list(arrow) and pa.types.is_int32(arrow.value_type)
        self._codes = np.full(rows, _NO_CODE, dtype=np.int64)
        self._known: dict[Any, int] = {}

    def encode(self, value: Any) -> int:
        """The code of a value; of a list as a tuple, none where one of its numbers is too large."""
        if self._holds_numbers and any(abs(number) > _INT_MAX for number in value):
            return _NO_CODE
        return self._known.setdefault(value, len(self._known))

    def put(self, rows: Places, codes: NDArray[np.int64]) -> None:
        """Set the values that have these codes."""
        self._codes[rows] = codes

    def finish(self) -> pa.Array:
        """The column; a text column as a dictionary."""
        codes = pa.array(self._codes.astype(np.int32), mask=self._codes == _NO_CODE)
        values = pa.array(list(self._known), type=self._arrow)
        if pa.types.is_string(self._arrow):
            return pa.DictionaryArray.from_arrays(codes, values)
        return values.take(codes)


class Columns:
    """The columns that the messages of a block give.

    Args:
        rows: How many entries the block has.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._columns: dict[str, Numbers | Labels] = {}

    def numbers(self, name: str) -> Numbers:
        """A column of numbers."""
        column = self._column(name)
        if not isinstance(column, Numbers):
            raise TypeError(f"the column {name!r} holds no numbers")
        return column

    def without(self, name: str) -> Places:
        """The rows in which a column of numbers has none."""
        return self.numbers(name).empty()

    def put_row(self, row: int, values: Row) -> None:
        """Set what one line gives."""
        for name, value in values.items():
            column = self._column(name)
            column.put(np.array([row]), np.array([column.encode(value)]))

    def put_same(self, rows: Places, values: Row) -> None:
        """Set what many lines give alike."""
        for name, value in values.items():
            column = self._column(name)
            column.put(rows, np.full(len(rows), column.encode(value)))

    def put_each(self, rows: Places, codes: Places, known: list[Row]) -> None:
        """Set for each row what the row of ``known`` that its code names gives."""
        for name in dict.fromkeys(name for row in known for name in row):
            column = self._column(name)
            has = np.array([name in row for row in known])
            values = np.array([column.encode(row[name]) if name in row else 0 for row in known])
            if has.all():
                column.put(rows, values[codes])
            else:
                chosen = has[codes]
                column.put(rows[chosen], values[codes[chosen]])

    def put_some(self, name: str, rows: Places, codes: Places, chosen: Places, known: Sequence[Any]) -> None:
        """Set for each row the value that its code chooses, or nothing.

        Args:
            name: The column.
            rows: Rows in which nothing was put yet.
            codes: A code of each row.
            chosen: Which of ``known`` each code chooses; -1 for none.
            known: Values.
        """
        column = self._column(name)
        values = np.array([column.encode(value) for value in known] + [column.nothing])
        column.put(rows, values[chosen][codes])

    def finish(self, name: str) -> pa.Array:
        """A column as Arrow has it: nulls where nobody put anything."""
        column = self._columns.get(name)
        return pa.nulls(self.rows, EVENTS_CODED.field(name).type) if column is None else column.finish()

    def _column(self, name: str) -> Numbers | Labels:
        column = self._columns.get(name)
        if column is None:
            arrow = _ARROW[name]
            is_number = pa.types.is_integer(arrow) or pa.types.is_boolean(arrow)
            column = Numbers(arrow, self.rows) if is_number else Labels(arrow, self.rows)
            self._columns[name] = column
        return column


_ARROW: dict[str, pa.DataType] = {column.name: column.arrow for column in COLUMNS}
