"""Frames: rows in this process with the methods of PySpark's ``DataFrame`` that the analysis calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from barnabas.analysis.local.columns import Column, named, ordered, sort
from barnabas.analysis.local.conditions import condition
from barnabas.analysis.local.values import Row, frozen
from barnabas.analysis.local.windows import Windowed


class Result(dict[str, Any]):
    """A collected row."""

    def asDict(self, recursive: bool = False) -> dict[str, Any]:  # noqa: N802  (as in PySpark)
        """Return the row as a dictionary."""
        return deepcopy(dict(self)) if recursive else dict(self)


class Frame:
    """Rows with columns; no method changes one.

    Args:
        columns: The names of the columns.
        rows: The rows; each has all columns, and may have others.
    """

    def __init__(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        self.columns = list(columns)
        self._rows = rows

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        return [{name: row[name] for name in self.columns} for row in self._rows]

    def collect(self) -> list[Result]:
        """Return the rows."""
        return [Result(row) for row in self.rows()]

    def count(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def limit(self, count: int) -> Frame:
        """Return the first rows."""
        return Frame(self.columns, self._rows[:count])

    def where(self, test: Column | str) -> Frame:
        """Return the rows for which a condition holds."""
        column = condition(test) if isinstance(test, str) else test
        return Frame(self.columns, [row for row in self._filled([column]) if column.at(row)])

    def select(self, *names: Any) -> Frame:
        """Return the rows with these columns, of which at most one may be an ``explode``."""
        chosen: list[Column] = []
        for name in names:
            if isinstance(name, str) and name == "*":
                chosen.extend(named(each) for each in self.columns)
            else:
                chosen.append(named(name))
        columns = [column.name for column in chosen]
        return Frame(columns, _exploded(chosen, self._filled(chosen)))

    def withColumn(self, name: str, column: Column) -> Frame:  # noqa: N802  (as in PySpark)
        """Add or replace a column."""
        return self.withColumns({name: column})

    def withColumns(self, columns: Mapping[str, Column]) -> Frame:  # noqa: N802  (as in PySpark)
        """Add or replace columns."""
        kept = [columns[name].alias(name) if name in columns else named(name) for name in self.columns]
        new = [column.alias(name) for name, column in columns.items() if name not in self.columns]
        return self.select(*kept, *new)

    def withColumnRenamed(self, former: str, name: str) -> Frame:  # noqa: N802  (as in PySpark)
        """Rename a column."""
        return self.select(*(named(each).alias(name if each == former else each) for each in self.columns))

    def drop(self, *names: str) -> Frame:
        """Remove columns."""
        return Frame([name for name in self.columns if name not in names], self._rows)

    def distinct(self) -> Frame:
        """Return the distinct rows."""
        return self.dropDuplicates(self.columns)

    def dropDuplicates(self, names: Sequence[str]) -> Frame:  # noqa: N802  (as in PySpark)
        """Return the first of the rows that are equal in some columns."""
        found: dict[Any, Row] = {}
        for row in self._rows:
            found.setdefault(_key(row, names), row)
        return Frame(self.columns, list(found.values()))

    def orderBy(self, *names: Any) -> Frame:  # noqa: N802  (as in PySpark)
        """Return the rows in order."""
        return Frame(self.columns, sort(self._rows, ordered(names)))

    def union(self, other: Frame) -> Frame:
        """Append the rows of another frame, whose columns are matched by their places."""
        pairs = list(zip(self.columns, other.columns, strict=True))
        return Frame(
            self.columns, [*self._rows, *({to: row[by] for to, by in pairs} for row in other.rows())]
        )

    def unionByName(self, other: Frame, *, allowMissingColumns: bool = False) -> Frame:  # noqa: N802, N803  (as in PySpark)
        """Append the rows of another frame, whose columns are matched by their names."""
        if not allowMissingColumns and set(self.columns) != set(other.columns):
            raise ValueError(f"expected the columns {self.columns}, not {other.columns}")
        columns = [*self.columns, *(name for name in other.columns if name not in self.columns)]
        rows = [
            {name: row[name] if name in frame.columns else None for name in columns}
            for frame in (self, other)
            for row in frame.rows()
        ]
        return Frame(columns, rows)

    def groupBy(self, *names: Any) -> Grouped:  # noqa: N802  (as in PySpark)
        """Group the rows by the values of columns."""
        return Grouped(self._rows, [named(name) for name in names])

    def join(self, other: Frame, on: str | Sequence[str] | Column, how: str = "inner") -> Frame:
        """Join another frame: by a condition (inner), or by the names of columns."""
        if isinstance(on, Column):
            merged = [left | right for left in self.rows() for right in other.rows()]
            return Frame([*self.columns, *other.columns], merged).where(on)
        names = [on] if isinstance(on, str) else list(on)
        found: dict[Any, list[Row]] = {}
        for row in other.rows():
            if all(row[name] is not None for name in names):
                found.setdefault(_key(row, names), []).append(row)
        if how in ("left_semi", "left_anti"):
            is_kept = how == "left_semi"
            return Frame(self.columns, [row for row in self._rows if (_key(row, names) in found) == is_kept])
        return self._joined(other, names, found, how)

    def _joined(self, other: Frame, names: list[str], found: Mapping[Any, list[Row]], how: str) -> Frame:
        left = [name for name in self.columns if name not in names]
        right = [name for name in other.columns if name not in names]
        rows: list[Row] = []
        met: set[Any] = set()
        for row in self.rows():
            key = _key(row, names)
            matches = found.get(key, [])
            met.add(key)
            rows.extend({**match, **row} for match in matches)
            if not matches and how in ("left", "full"):
                rows.append({**dict.fromkeys(right), **row})
        if how == "full":
            alone = (row for row in other.rows() if _key(row, names) not in met or _has_null(row, names))
            rows.extend({**dict.fromkeys(left), **row} for row in alone)
        return Frame([*names, *left, *right], rows)

    def _filled(self, columns: Iterable[Column]) -> Sequence[Row]:
        """Return the rows with the values of the windows that columns need."""
        windows = {
            part.key: part for column in columns for part in column.all() if isinstance(part, Windowed)
        }
        if not windows:
            return self._rows
        rows = [dict(row) for row in self._rows]
        for window in windows.values():
            window.fill(rows)
        return rows


class Grouped:
    """Rows by key, as PySpark's ``GroupedData``."""

    def __init__(self, rows: Iterable[Row], keys: Sequence[Column]) -> None:
        self._rows = rows
        self._keys = keys

    def agg(self, *columns: Column) -> Frame:
        """Return one row for each group, with the values of aggregates."""
        groups: dict[Any, list[Row]] = {}
        for row in self._rows:
            groups.setdefault(tuple(frozen(key.at(row)) for key in self._keys), []).append(row)
        names = [column.name for column in (*self._keys, *columns)]
        rows = [
            {key.name: key.at(group[0]) for key in self._keys}
            | {column.name: column.at(group[0], group) for column in columns}
            for group in groups.values()
        ]
        return Frame(names, rows)


def _exploded(chosen: Sequence[Column], rows: Iterable[Row]) -> list[Row]:
    made: list[Row] = []
    lists = [column.name for column in chosen if column.is_exploded]
    for row in rows:
        new = {column.name: column.at(row) for column in chosen}
        if not lists:
            made.append(new)
        else:
            made.extend({**new, lists[0]: each} for each in new[lists[0]] or ())
    return made


def _key(row: Row, names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(frozen(row[name]) for name in names)


def _has_null(row: Row, names: Iterable[str]) -> bool:
    return any(row[name] is None for name in names)
