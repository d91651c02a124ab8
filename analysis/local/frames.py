"""Frames: queries with the methods of PySpark's ``DataFrame`` that the analysis calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from barnabas.analysis.local.columns import Column, named, ordered, quoted
from barnabas.analysis.local.conditions import condition
from barnabas.analysis.local.database import fetched, first, is_here, kept
from barnabas.analysis.local.queries import Given, Query, Stored

_LIMIT = " LIMIT "


class Result(dict[str, Any]):
    """A collected row."""

    def asDict(self, recursive: bool = False) -> dict[str, Any]:  # noqa: N802  (as in PySpark)
        """Return the row as a dictionary."""
        return deepcopy(dict(self)) if recursive else dict(self)


class Frame:
    """Rows with columns; no method changes one.

    Args:
        columns: The names of the columns.
        query: The query for the rows; it has all columns, and others if ``is_wider``.
        ending: The end of the query that selects the columns: the order and the number of rows.
        is_wider: Whether the query has other columns too, which the order may need.
        test: A condition in SQL for the rows; empty for all. It becomes part of the query that is made from
            the frame: a query for each condition would be one more to plan.
    """

    def __init__(
        self,
        columns: Sequence[str],
        query: Query,
        ending: str = "",
        *,
        is_wider: bool = False,
        test: str = "",
    ) -> None:
        self.columns = list(columns)
        self._query = query
        self._ending = ending
        self._is_wider = is_wider
        self._test = test

    @staticmethod
    def of(rows: pa.Table) -> Frame:
        """Return a frame with the rows of a table."""
        return Frame(rows.column_names, Query("FROM ", Given(rows)))

    @staticmethod
    def stored(folder: Path, schema: pa.Schema) -> Frame:
        """Return a frame with the rows of a table in a folder."""
        if is_here():
            # A query that reads files cannot be prepared.
            return Frame.of(pq.read_table(folder, schema=schema))
        return Frame(schema.names, Stored(folder))

    def kept(self, folder: Path, schema: pa.Schema) -> Frame:
        """Write the rows into a folder, and return a frame with the rows there."""
        kept(self._selected(), folder, schema)
        return Frame.stored(folder, schema)

    def parts(self, names: Iterable[str], count: int) -> list[Frame]:
        """Split the rows into so many frames; rows that are equal in some columns are in the same one."""
        if count == 1:
            return [self]
        number = f"hash({_list(names)}) % {count}"
        return [self.where(Column(f"({number} = {part})")) for part in range(count)]

    def first(self, rows: int) -> tuple[pa.Table, int]:
        """Return the first rows, and the number of all."""
        return first(self._selected(), rows)

    def toArrow(self) -> pa.Table:  # noqa: N802  (as in PySpark)
        """Return the rows."""
        return fetched(self._selected())

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        rows: list[dict[str, Any]] = self.toArrow().to_pylist()
        return rows

    def collect(self) -> list[Result]:
        """Return the rows."""
        return [Result(row) for row in self.rows()]

    def count(self) -> int:
        """Return the number of rows."""
        return int(fetched(Query("SELECT count(*) AS rows FROM ", self._selected()))["rows"][0].as_py())

    def limit(self, count: int) -> Frame:
        """Return the first rows."""
        if _LIMIT in self._ending:
            return Frame(self.columns, self._selected(), f"{_LIMIT}{count}")
        ending = f"{self._ending}{_LIMIT}{count}"
        return Frame(self.columns, self._query, ending, test=self._test)

    def where(self, test: Column | str) -> Frame:
        """Return the rows for which a condition holds."""
        column = condition(test) if isinstance(test, str) else test
        if self._ending:
            return Frame(self.columns, self._selected(), test=column.sql)
        tests = f"{self._test} AND {column.sql}" if self._test else column.sql
        return Frame(self.columns, self._query, is_wider=self._is_wider, test=tests)

    def select(self, *names: Any) -> Frame:
        """Return the rows with these columns, of which at most one may be an ``explode``."""
        chosen: list[Column] = []
        for name in names:
            if isinstance(name, str) and name == "*":
                chosen.extend(named(each) for each in self.columns)
            else:
                chosen.append(named(name))
        return self._made(chosen)

    def withColumn(self, name: str, column: Column) -> Frame:  # noqa: N802  (as in PySpark)
        """Add or replace a column."""
        return self.withColumns({name: column})

    def withColumns(self, columns: Mapping[str, Column]) -> Frame:  # noqa: N802  (as in PySpark)
        """Add or replace columns."""
        kept = [columns[name].alias(name) if name in columns else named(name) for name in self.columns]
        new = [column.alias(name) for name, column in columns.items() if name not in self.columns]
        return self._made([*kept, *new])

    def withColumnRenamed(self, former: str, name: str) -> Frame:  # noqa: N802  (as in PySpark)
        """Rename a column."""
        return self._made([named(each).alias(name if each == former else each) for each in self.columns])

    def drop(self, *names: str) -> Frame:
        """Remove columns."""
        kept = [name for name in self.columns if name not in names]
        return Frame(kept, self._query, self._ending, is_wider=True, test=self._test)

    def distinct(self) -> Frame:
        """Return the distinct rows."""
        return Frame(self.columns, Query(f"SELECT DISTINCT {_list(self.columns)} FROM ", self._selected()))

    def dropDuplicates(self, names: Sequence[str]) -> Frame:  # noqa: N802  (as in PySpark)
        """Return one of the rows that are equal in some columns."""
        return Frame(self.columns, Query(f"SELECT DISTINCT ON ({_list(names)}) * FROM ", self._selected()))

    def orderBy(self, *names: Any) -> Frame:  # noqa: N802  (as in PySpark)
        """Return the rows in order; only ``drop`` and ``limit`` keep it."""
        orders = ", ".join(order.sql for order in ordered(names))
        return Frame(self.columns, self._selected(), f" ORDER BY {orders}")

    def union(self, other: Frame) -> Frame:
        """Append the rows of another frame, whose columns are matched by their places.

        Raises:
            ValueError: The frames have different numbers of columns.
        """
        if len(self.columns) != len(other.columns):
            raise ValueError(f"expected as many columns as {self.columns}, not {other.columns}")
        return Frame(self.columns, Query("FROM ", self._selected(), " UNION ALL FROM ", other._selected()))

    def unionByName(self, other: Frame, *, allowMissingColumns: bool = False) -> Frame:  # noqa: N802, N803  (as in PySpark)
        """Append the rows of another frame, whose columns are matched by their names.

        Raises:
            ValueError: A frame lacks a column of the other, which is not allowed.
        """
        if not allowMissingColumns and set(self.columns) != set(other.columns):
            raise ValueError(f"expected the columns {self.columns}, not {other.columns}")
        columns = [*self.columns, *(name for name in other.columns if name not in self.columns)]
        return Frame(columns, Query("FROM ", self._selected(), " UNION ALL BY NAME FROM ", other._selected()))

    def groupBy(self, *names: Any) -> Grouped:  # noqa: N802  (as in PySpark)
        """Group the rows by the values of columns."""
        return Grouped(self._source(), [named(name) for name in names])

    def join(self, other: Frame, on: str | Sequence[str] | Column, how: str = "inner") -> Frame:
        """Join another frame: by a condition (inner), or by the names of columns.

        Raises:
            ValueError: Both frames have a column by which they are not joined.
        """
        left, right = self._selected(), other._selected()
        names = [] if isinstance(on, Column) else [on] if isinstance(on, str) else list(on)
        kind = how.removeprefix("left_").upper()
        using = f" AS r USING ({_list(names)})"
        if how in ("left_semi", "left_anti"):
            return Frame(self.columns, Query("SELECT * FROM ", left, f" AS l {kind} JOIN ", right, using))
        if twice := {*self.columns} & {*other.columns} - {*names}:
            raise ValueError(f"expected no columns of both frames but {names}, not {sorted(twice)}")
        if isinstance(on, Column):
            both = Query("SELECT * FROM ", left, " AS l JOIN ", right, f" AS r ON {on.sql}")
            return Frame([*self.columns, *other.columns], both)
        rest = [
            f"{side}.{quoted(name)}"
            for side, frame in (("l", self), ("r", other))
            for name in frame.columns
            if name not in names
        ]
        columns = ", ".join([*map(quoted, names), *rest])
        made = Query(f"SELECT {columns} FROM ", left, f" AS l {kind} JOIN ", right, using)
        return Frame(
            [*names, *(name for each in (self, other) for name in each.columns if name not in names)], made
        )

    def _selected(self) -> Query:
        if not (self._ending or self._is_wider or self._test):
            return self._query
        columns = _list(self.columns) if self._is_wider else "*"
        return Query(f"SELECT {columns} FROM ", self._query, self._where(), self._ending)

    def _where(self) -> str:
        return f" WHERE {self._test}" if self._test else ""

    def _source(self) -> tuple[Query, str]:
        """Return what another query selects from, and the condition for its rows."""
        return (self._selected(), "") if self._ending else (self._query, self._where())

    def _made(self, chosen: Sequence[Column]) -> Frame:
        columns = [column.name or f"column{place}" for place, column in enumerate(chosen)]
        return Frame(columns, Query(f"SELECT {_aliased(chosen, columns)} FROM ", *self._source()))


class Grouped:
    """Rows by key, as PySpark's ``GroupedData``.

    Args:
        source: The query for the rows, and the condition for them.
        keys: The keys.
    """

    def __init__(self, source: tuple[Query, str], keys: Sequence[Column]) -> None:
        self._source = source
        self._keys = keys

    def agg(self, *columns: Column) -> Frame:
        """Return one row for each group, with the values of aggregates; without keys all rows are one."""
        chosen = [*self._keys, *columns]
        names = [column.name for column in chosen]
        places = ", ".join(str(place) for place in range(1, len(self._keys) + 1))
        ending = f" GROUP BY {places}" if places else ""
        return Frame(names, Query(f"SELECT {_aliased(chosen, names)} FROM ", *self._source, ending))


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(quoted, names))


def _aliased(columns: Iterable[Column], names: Iterable[str]) -> str:
    return ", ".join(f"{column.sql} AS {quoted(name)}" for column, name in zip(columns, names, strict=True))
