"""The functions of ``pyspark.sql.functions`` that the analysis calls, under their names."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from statistics import median as middle
from typing import Any, TypeVar

from barnabas.analysis.local.columns import Column, Group, Named, Order, literal, named
from barnabas.analysis.local.values import Row, frozen, order_key
from barnabas.analysis.local.windows import Aggregate, Placed

F = TypeVar("F")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
_PLACEHOLDER = re.compile(r"%[ds]")


def col(name: str) -> Column:
    """Return the column of this name."""
    return Named(name)


def lit(col: Any) -> Column:
    """Return a column that has this value in each row."""
    return literal(col)


def desc(name: str | Column) -> Order:
    """Return the descending order by the column of this name."""
    return Order(named(name), is_descending=True)


desc_nulls_last = desc


def broadcast(frame: F) -> F:
    """Return the frame itself, because its rows are in this process."""
    return frame


class _When(Column):
    """A chain of conditions, each with its value; null if none holds."""

    def __init__(self, cases: list[tuple[Column, Column]]) -> None:
        super().__init__(lambda: None, [part for case in cases for part in case])
        self.cases = cases

    def at(self, row: Row, group: Group = ()) -> Any:
        for condition, value in self.cases:
            if condition.at(row, group):
                return value.at(row, group)
        return None

    def when(self, condition: Column, value: Any) -> Column:
        return _When([*self.cases, (condition, literal(value))])

    def otherwise(self, value: Any) -> Column:
        return self.when(Column(lambda: True), value)


def when(condition: Column, value: Any) -> Column:
    """Return a column with a value for the rows in which a condition holds."""
    return _When([(condition, literal(value))])


class _Coalesced(Column):
    def at(self, row: Row, group: Group = ()) -> Any:
        return next((value for part in self.parts if (value := part.at(row, group)) is not None), None)


def coalesce(*names: Any) -> Column:
    """Return the first value that is not null."""
    return _Coalesced(lambda: None, [named(name) for name in names])


def struct(*names: Any) -> Column:
    """Return a struct of the values of columns."""
    parts = [named(name) for name in names]
    return Column(
        lambda *values: {part.name: value for part, value in zip(parts, values, strict=True)}, parts
    )


def array(*names: Any) -> Column:
    """Return an array of the values of columns."""
    return Column(lambda *values: list(values), [named(name) for name in names])


def explode(name: Any) -> Column:
    """Return a column of which a frame makes one row for each element."""
    column = Column(lambda value: value, [named(name)], "col")
    column.is_exploded = True
    return column


def _of(compute: Callable[..., Any], *names: Any) -> Column:
    """Return a column that is null if any of its parts is."""
    return Column(
        lambda *values: None if any(value is None for value in values) else compute(*values),
        [named(name) for name in names],
    )


def size(name: Any) -> Column:
    """Return the number of elements of an array."""
    return _of(len, name)


def array_sort(name: Any) -> Column:
    """Sort an array without nulls."""
    return _of(lambda values: sorted(values, key=order_key), name)


def array_distinct(name: Any) -> Column:
    """Remove the repetitions from an array."""
    return _of(_distinct, name)


def array_except(one: Any, other: Any) -> Column:
    """Return the elements of an array that another one lacks, each once."""
    return _of(lambda left, right: [each for each in _distinct(left) if each not in right], one, other)


def array_contains(name: Any, value: Any) -> Column:
    """Return whether an array contains a value."""
    return _of(lambda values, one: one in values, name, literal(value))


def array_join(name: Any, delimiter: str) -> Column:
    """Join an array of texts."""
    return _of(lambda values: delimiter.join(each for each in values if each is not None), name)


def flatten(name: Any) -> Column:
    """Join the arrays of an array, none of which is null."""
    return _of(lambda values: [each for inner in values for each in inner], name)


def element_at(name: Any, place: int) -> Column:
    """Return an element of an array, counted from 1; null beyond its end."""
    return _of(lambda values: values[place - 1] if len(values) >= place else None, name)


def get(name: Any, place: Any) -> Column:
    """Return an element of an array, counted from 0; null beyond its end."""
    return _of(lambda values, at: values[at] if 0 <= at < len(values) else None, name, place)


def slice(name: Any, start: int, length: int) -> Column:  # noqa: A001  (as in PySpark)
    """Return ``length`` elements of an array from ``start`` on, counted from 1."""
    return _of(lambda values: values[start - 1 : start - 1 + length], name)


class _OfElements(Column):
    """A function of an array's elements for which a condition holds."""

    def __init__(
        self, name: Any, condition: Callable[[Column], Column], fold: Callable[[Iterable[Any]], Any]
    ) -> None:
        self.element = Column(lambda: None)
        self.element.at = lambda row, group=(): row[self.element]  # type: ignore[method-assign]  # noqa: ARG005
        super().__init__(lambda: None, [named(name), condition(self.element)])
        self.fold = fold

    def at(self, row: Row, group: Group = ()) -> Any:
        values, condition = self.parts[0].at(row, group), self.parts[1]
        if values is None:
            return None
        return self.fold(each for each in values if condition.at({**row, self.element: each}, group))


def filter(name: Any, condition: Callable[[Column], Column]) -> Column:  # noqa: A001  (as in PySpark)
    """Return the elements for which a condition holds."""
    return _OfElements(name, condition, list)


def exists(name: Any, condition: Callable[[Column], Column]) -> Column:
    """Return whether a condition holds for an element of an array without nulls."""
    return _OfElements(name, condition, lambda found: next((True for _ in found), False))


def greatest(*names: Any) -> Column:
    """Return the greatest of several values."""
    return Column(lambda *values: _extreme(values, builtins.max), [named(name) for name in names])


def least(*names: Any) -> Column:
    """Return the least of several values."""
    return Column(lambda *values: _extreme(values, builtins.min), [named(name) for name in names])


def floor(name: Any) -> Column:
    """Round down to a whole number."""
    return _of(lambda value: int(value // 1), name)


def round(name: Any, scale: int) -> Column:  # noqa: A001  (as in PySpark)
    """Round a double to a number of decimals."""
    return _of(
        lambda value: float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)), name
    )


def concat(*names: Any) -> Column:
    """Join texts, or numbers as texts."""
    return _of(lambda *values: "".join(map(str, values)), *names)


def concat_ws(delimiter: str, *names: Any) -> Column:
    """Join the texts that are not null, with a separator."""
    return Column(
        lambda *values: delimiter.join(str(value) for value in values if value is not None),
        [named(name) for name in names],
    )


def printf(form: Column, *names: Any) -> Column:
    """Format values by ``%d`` and ``%s``."""

    def formatted(text: str, *values: Any) -> str:
        words = iter(values)
        return _PLACEHOLDER.sub(lambda _: "null" if (word := next(words)) is None else str(word), text)

    return Column(formatted, [form, *(named(name) for name in names)])


def substring(name: Any, start: int, length: int) -> Column:
    """Return ``length`` characters of a text from ``start`` on, counted from 1."""
    return _of(lambda text: text[start - 1 : start - 1 + length], name)


def substring_index(name: Any, delimiter: str, count: int) -> Column:
    """Return the first parts of a text, up to a number of separators."""
    return _of(lambda text: delimiter.join(text.split(delimiter)[:count]), name)


def regexp_replace(name: Any, pattern: str, replacement: str) -> Column:
    """Replace the matches of a pattern that means the same in Java and Python."""
    found = re.compile(pattern, re.ASCII)
    return _of(lambda text: found.sub(replacement, text), name)


def startswith(name: Any, prefix: Column) -> Column:
    """Return whether a text starts with another one."""
    return _of(str.startswith, name, prefix)


def endswith(name: Any, suffix: Column) -> Column:
    """Return whether a text ends with another one."""
    return _of(str.endswith, name, suffix)


def date_trunc(unit: str, name: Any) -> Column:
    """Cut a time to its ``second`` or ``minute``."""
    zeros = {"second": {"microsecond": 0}, "minute": {"second": 0, "microsecond": 0}}[unit]
    return _of(lambda time: time.replace(**zeros), name)


def unix_millis(name: Any) -> Column:
    """Return the milliseconds from 1970 to a time."""
    return _of(lambda time: (time - _EPOCH) // timedelta(milliseconds=1), name)


def unix_seconds(name: Any) -> Column:
    """Return the seconds from 1970 to a time."""
    return _of(lambda time: (time - _EPOCH) // timedelta(seconds=1), name)


def _some(fold: Callable[[list[Any]], Any], name: Any) -> Column:
    """Return an aggregate over the values that are not null; null if there is none."""

    def folded(values: list[Any]) -> Any:
        known = [value for value in values if value is not None]
        return fold(known) if known else None

    return Aggregate(folded, [named(name)])


def min(name: Any) -> Column:  # noqa: A001  (as in PySpark)
    """Return the least value of a group."""
    return _some(lambda values: builtins.min(values, key=order_key), name)


def max(name: Any) -> Column:  # noqa: A001  (as in PySpark)
    """Return the greatest value of a group."""
    return _some(lambda values: builtins.max(values, key=order_key), name)


def sum(name: Any) -> Column:  # noqa: A001  (as in PySpark)
    """Return the sum of a group's values."""
    return _some(builtins.sum, name)


def median(name: Any) -> Column:
    """Return the median of a group's values."""
    return _some(lambda values: float(middle(values)), name)


def count(name: str) -> Column:
    """Count the values that are not null, or the rows."""
    part = Column(lambda: True) if name == "*" else named(name)
    return Aggregate(lambda values: len([value for value in values if value is not None]), [part])


def count_if(name: Any) -> Column:
    """Count the rows for which a condition holds."""
    return Aggregate(lambda values: len([value for value in values if value]), [named(name)])


def count_distinct(name: Any) -> Column:
    """Count the distinct values that are not null."""
    return Aggregate(lambda values: len({frozen(each) for each in values if each is not None}), [named(name)])


def collect_list(name: Any) -> Column:
    """Collect the values that are not null."""
    return Aggregate(lambda values: [value for value in values if value is not None], [named(name)])


def collect_set(name: Any) -> Column:
    """Collect the distinct values that are not null."""
    return Aggregate(lambda values: _distinct(each for each in values if each is not None), [named(name)])


def min_by(name: Any, order: Any) -> Column:
    """Return the value at the least order; of equal ones, the last."""

    def folded(pairs: list[Any]) -> Any:
        known = [pair for pair in reversed(pairs) if pair[1] is not None]
        return builtins.min(known, key=lambda pair: order_key(pair[1]))[0] if known else None

    return Aggregate(folded, [named(name), named(order)])


def max_by(name: Any, order: Any) -> Column:
    """Return the value at the greatest order; of equal ones, the last."""

    def folded(pairs: list[Any]) -> Any:
        known = [pair for pair in reversed(pairs) if pair[1] is not None]
        return builtins.max(known, key=lambda pair: order_key(pair[1]))[0] if known else None

    return Aggregate(folded, [named(name), named(order)])


def first(name: Any, *, ignorenulls: bool) -> Column:
    """Return the first value that is not null."""
    return _edge(name, 0, ignorenulls=ignorenulls)


def last(name: Any, *, ignorenulls: bool) -> Column:
    """Return the last value that is not null."""
    return _edge(name, -1, ignorenulls=ignorenulls)


def lag(name: Any, offset: int = 1) -> Column:
    """Return the value of an earlier row in the partition."""
    return Placed(lambda values, at: values[at - offset] if at >= offset else None, named(name))


def lead(name: Any, offset: int = 1) -> Column:
    """Return the value of a later row in the partition."""
    return Placed(lambda values, at: values[at + offset] if at + offset < len(values) else None, named(name))


def row_number() -> Column:
    """Return the place in the partition, counted from 1."""
    return Placed(lambda _, at: at + 1, Column(lambda: None))


def _edge(name: Any, place: int, *, ignorenulls: bool) -> Column:
    if not ignorenulls:
        raise ValueError("expected ignorenulls=True: without it the analysis does not call this function")
    return _some(lambda values: values[place], name)


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list({frozen(value): value for value in values}.values())


def _extreme(values: Iterable[Any], choose: Callable[..., Any]) -> Any:
    known = [value for value in values if value is not None]
    return choose(known) if known else None
