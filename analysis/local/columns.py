"""Columns: expressions in SQL, with the names and operators of PySpark's ``Column``."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from datetime import datetime, timedelta
from typing import Any, Self

_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1
"""The numbers between which a literal is an ``int``, as in Spark; others are a ``bigint``."""

_MICROSECOND = timedelta(microseconds=1)


class Column:
    """An expression over the columns of a frame.

    Args:
        sql: The expression.
        name: The name in a frame; empty if the expression has none.
        order: An expression that orders and compares as Spark does, if ``sql`` itself does not: DuckDB takes
            a null in a struct or an array for the greatest value.
        is_double: Whether the value may have decimals, which a cast to a whole number cuts off.
    """

    def __init__(self, sql: str, name: str = "", order: str = "", *, is_double: bool = False) -> None:
        self.sql = sql
        self.name = name
        self.order = order or sql
        self.is_double = is_double

    @property
    def is_ordered(self) -> bool:
        """True if ``sql`` itself orders as Spark does."""
        return self.order == self.sql

    def alias(self, name: str) -> Self:
        """Return the column under another name."""
        named = copy(self)
        named.name = name
        return named

    def cast(self, kind: str) -> Column:
        """Return the value converted to one of the types that the analysis casts to.

        A double that becomes a whole number must be what an expression gives, not a column of the rows.
        """
        to = _TYPES[kind]
        cut = self.is_double and to in ("INTEGER", "BIGINT")
        return Column(f"CAST({f'trunc({self.sql})' if cut else self.sql} AS {to})", self.name)

    def over(self, window: Any) -> Column:
        """Raise an error: the function is neither an aggregate nor one of windows."""
        raise TypeError(f"expected an aggregate or a function of windows over {window}")

    def when(self, condition: Column, value: Any) -> Column:
        """Add a case to a column that ``functions.when`` made."""
        raise TypeError(f"when({condition}, {value}) must follow functions.when")

    def isNull(self) -> Column:  # noqa: N802  (as in PySpark)
        """Return whether the value is null."""
        return Column(f"({self.sql} IS NULL)")

    def isNotNull(self) -> Column:  # noqa: N802  (as in PySpark)
        """Return whether the value is not null."""
        return Column(f"({self.sql} IS NOT NULL)")

    def isin(self, *values: Any) -> Column:
        """Return whether the value is one of these literals, of which there is at least one."""
        return Column(f"({self.sql} IN ({', '.join(literal(value).sql for value in values)}))")

    def between(self, low: Any, high: Any) -> Column:
        """Return whether the value lies between two others, both included."""
        return (self >= literal(low)) & (self <= literal(high))

    def desc(self) -> Order:
        """Return the descending order by this column, nulls last."""
        return Order(self, is_descending=True)

    def asc_nulls_first(self) -> Order:
        """Return the ascending order by this column, nulls first."""
        return Order(self)

    def __getitem__(self, name: str) -> Column:
        return Column(f"struct_extract({self.sql}, {text(name)})", name)

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        return self._with("=", other)

    def __ne__(self, other: object) -> Column:  # type: ignore[override]
        return self._with("!=", other)

    __hash__ = object.__hash__

    def __lt__(self, other: Any) -> Column:
        return self._compared("<", other)

    def __le__(self, other: Any) -> Column:
        return self._compared("<=", other)

    def __gt__(self, other: Any) -> Column:
        return self._compared(">", other)

    def __ge__(self, other: Any) -> Column:
        return self._compared(">=", other)

    def __add__(self, other: Any) -> Column:
        return self._with("+", other)

    def __sub__(self, other: Any) -> Column:
        return self._with("-", other)

    def __rsub__(self, other: Any) -> Column:
        return literal(other) - self

    def __mul__(self, other: Any) -> Column:
        return self._with("*", other)

    def __truediv__(self, other: Any) -> Column:
        by = literal(other).sql
        refused = f"{by} = 0 AND {self.sql} IS NOT NULL"
        return Column(
            f"CASE WHEN {refused} THEN error('division by zero') ELSE {self.sql} / {by} END", is_double=True
        )

    def __neg__(self) -> Column:
        return Column(f"(-{self.sql})")

    def __invert__(self) -> Column:
        return Column(f"(NOT {self.sql})")

    def __and__(self, other: Any) -> Column:
        return self._with("AND", other)

    def __or__(self, other: Any) -> Column:
        return self._with("OR", other)

    def _with(self, sign: str, other: Any) -> Column:
        return Column(f"({self.sql} {sign} {literal(other).sql})")

    def _compared(self, sign: str, other: Any) -> Column:
        return Column(f"({self.order} {sign} {literal(other).order})")


class Order:
    """A column to order by; nulls are the least values.

    Attributes:
        sql: The order in SQL.
    """

    def __init__(self, column: Column, *, is_descending: bool = False) -> None:
        self.sql = f"{column.order} {'DESC NULLS LAST' if is_descending else 'ASC NULLS FIRST'}"


def literal(value: Any) -> Column:
    """Return a column as it is, and any other value as a column that has it in each row.

    Raises:
        TypeError: The value is of a type that the analysis does not use.
    """
    if isinstance(value, Column):
        return value
    if value is None:
        return Column("NULL")
    if isinstance(value, bool):
        return Column("TRUE" if value else "FALSE")
    if isinstance(value, int):
        return Column(f"CAST({value} AS {'INTEGER' if _INT_MIN <= value <= _INT_MAX else 'BIGINT'})")
    if isinstance(value, str):
        return Column(text(value))
    if isinstance(value, timedelta):
        return Column(f"to_microseconds({value // _MICROSECOND})")
    if isinstance(value, datetime):
        return Column(f"TIMESTAMP '{value.isoformat(' ')}'")
    raise TypeError(f"no literal {value!r}: expected null, a flag, a whole number, a text or a time")


def named(value: Any) -> Column:
    """Return a column as it is, and a text as the column of that name, or the field of a struct (``a.b``)."""
    if isinstance(value, Column):
        return value
    name, *fields = str(value).split(".")
    column = Column(quoted(name), name)
    for field in fields:
        column = column[field]
    return column


def ordered(values: Iterable[Any]) -> list[Order]:
    """Return columns, names and orders as orders."""
    return [value if isinstance(value, Order) else Order(named(value)) for value in values]


def quoted(name: str) -> str:
    """Return the name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """Return a text in SQL."""
    return "'" + value.replace("'", "''") + "'"


_TYPES = {
    "int": "INTEGER",
    "bigint": "BIGINT",
    "string": "VARCHAR",
    "timestamp": "TIMESTAMP",
    "timestamp_ntz": "TIMESTAMP",
    "array<int>": "INTEGER[]",
    "array<string>": "VARCHAR[]",
}
