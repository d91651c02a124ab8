"""Columns: expressions that are evaluated for one row, or for one group of rows."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from typing import Any

from barnabas.analysis.local.values import Row, order_key

Group = Sequence[Row]


class Column:
    """An expression over a row.

    Args:
        compute: The function from the values of ``parts`` to the value.
        parts: The columns that it needs.
        name: The name in a frame.
    """

    def __init__(self, compute: Callable[..., Any], parts: Iterable[Column] = (), name: str = "") -> None:
        self.compute = compute
        self.parts = tuple(parts)
        self.name = name
        self.is_exploded = False

    def at(self, row: Row, group: Group = ()) -> Any:
        """Return the value for a row, in which an aggregate stands for its value over ``group``."""
        return self.compute(*(part.at(row, group) for part in self.parts))

    def all(self) -> Iterator[Column]:
        """Iterate over this column and all that it needs."""
        yield self
        for part in self.parts:
            yield from part.all()

    def alias(self, name: str) -> Column:
        """Return the column under another name."""
        named = copy(self)
        named.name = name
        return named

    def cast(self, kind: str) -> Column:
        """Return the value converted to one of the types that the analysis casts to."""
        to: Callable[[Any], Any] = _CASTS[kind]
        return Column(lambda value: None if value is None else to(value), [self], self.name)

    def over(self, window: Any) -> Column:
        """Raise an error: the function is neither an aggregate nor one of windows."""
        raise TypeError(f"expected an aggregate or a function of windows over {window}")

    def when(self, condition: Column, value: Any) -> Column:
        """Add a case to a column that ``functions.when`` made."""
        raise TypeError(f"when({condition}, {value}) must follow functions.when")

    def isNull(self) -> Column:  # noqa: N802  (as in PySpark)
        """Return whether the value is null."""
        return Column(lambda value: value is None, [self])

    def isNotNull(self) -> Column:  # noqa: N802  (as in PySpark)
        """Return whether the value is not null."""
        return Column(lambda value: value is not None, [self])

    def isin(self, *values: Any) -> Column:
        """Return whether the value is one of these literals, none of which is null."""
        known = frozenset(values)
        return Column(lambda value: None if value is None else value in known, [self])

    def between(self, low: Any, high: Any) -> Column:
        """Return whether the value lies between two others, both included."""
        return Column(_and, [self >= low, self <= high])

    def desc(self) -> Order:
        """Return the descending order by this column."""
        return Order(self, is_descending=True)

    def asc_nulls_first(self) -> Order:
        """Return the ascending order by this column, nulls first."""
        return Order(self)

    def __getitem__(self, name: str) -> Column:
        return Column(lambda value: None if value is None else value[name], [self], name)

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        return _strict(operator.eq, self, other)

    def __ne__(self, other: object) -> Column:  # type: ignore[override]
        return _strict(operator.ne, self, other)

    __hash__ = object.__hash__

    def __lt__(self, other: Any) -> Column:
        return _strict(lambda one, two: order_key(one) < order_key(two), self, other)

    def __le__(self, other: Any) -> Column:
        return _strict(lambda one, two: order_key(one) <= order_key(two), self, other)

    def __gt__(self, other: Any) -> Column:
        return _strict(lambda one, two: order_key(one) > order_key(two), self, other)

    def __ge__(self, other: Any) -> Column:
        return _strict(lambda one, two: order_key(one) >= order_key(two), self, other)

    def __add__(self, other: Any) -> Column:
        return _strict(operator.add, self, other)

    def __sub__(self, other: Any) -> Column:
        return _strict(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Column:
        return _strict(operator.sub, literal(other), self)

    def __mul__(self, other: Any) -> Column:
        return _strict(operator.mul, self, other)

    def __truediv__(self, other: Any) -> Column:
        return _strict(operator.truediv, self, other)

    def __neg__(self) -> Column:
        return Column(lambda value: None if value is None else -value, [self])

    def __invert__(self) -> Column:
        return Column(lambda value: None if value is None else not value, [self])

    def __and__(self, other: Any) -> Column:
        return Column(_and, [self, literal(other)])

    def __or__(self, other: Any) -> Column:
        return Column(_or, [self, literal(other)])


class Named(Column):
    """A column of the frame, or a field of a struct in it (``next_up.time``)."""

    def __init__(self, name: str) -> None:
        self.path = name.split(".")
        super().__init__(lambda: None, (), self.path[-1])

    def at(self, row: Row, group: Group = ()) -> Any:  # noqa: ARG002  (as in Column)
        """Return the value for a row, as ``Column.at`` does."""
        value = row[self.path[0]]
        for field in self.path[1:]:
            value = None if value is None else value[field]
        return value


class Order:
    """A column to order by; nulls are the least values.

    Attributes:
        column: The column.
        is_descending: Whether the greatest value comes first.
    """

    def __init__(self, column: Column, *, is_descending: bool = False) -> None:
        self.column = column
        self.is_descending = is_descending


def literal(value: Any) -> Column:
    """Return a column as it is, and any other value as a column that has it in each row."""
    return value if isinstance(value, Column) else Column(lambda: value)


def named(value: Any) -> Column:
    """Return a column as it is, and a text as the column of that name."""
    return value if isinstance(value, Column) else Named(str(value))


def ordered(values: Iterable[Any]) -> list[Order]:
    """Return columns, names and orders as orders."""
    return [value if isinstance(value, Order) else Order(named(value)) for value in values]


def sort(rows: Iterable[Row], orders: Sequence[Order]) -> list[Row]:
    """Return the rows in order."""
    result = list(rows)
    for order in reversed(orders):
        result.sort(key=lambda row: order_key(order.column.at(row)), reverse=order.is_descending)
    return result


def _strict(compute: Callable[[Any, Any], Any], one: Column, other: Any) -> Column:
    return Column(
        lambda left, right: None if left is None or right is None else compute(left, right),
        [one, literal(other)],
    )


def _and(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: bool | None, right: bool | None) -> bool | None:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def _same(value: Any) -> Any:
    return value


_CASTS: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "bigint": int,
    "string": str,
    "timestamp": _same,
    "timestamp_ntz": _same,
    "array<int>": _same,
    "array<string>": lambda value: [None if each is None else str(each) for each in value],
}
