"""The functions of ``pyspark.sql.functions`` that the analysis calls, under their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from barnabas.analysis.local.columns import Column, Order, literal, named, text
from barnabas.analysis.local.windows import Aggregate, Placed

F = TypeVar("F")

_depth = ContextVar("_depth", default=0)
"""The number of conditions on elements around the one that is made."""

_PLACEHOLDER = re.compile(r"%[ds]")


def col(name: str) -> Column:
    """Return the column of this name."""
    return named(name)


def lit(col: Any) -> Column:
    """Return a column that has this value in each row."""
    return literal(col)


def desc(name: str | Column) -> Order:
    """Return the descending order by the column of this name, nulls last."""
    return Order(named(name), is_descending=True)


def broadcast(frame: F) -> F:
    """Return the frame itself, because its rows are in this process."""
    return frame


class _When(Column):
    """A chain of conditions, each with its value; null if none holds."""

    def __init__(self, cases: list[tuple[str, Column]]) -> None:
        super().__init__(
            _case([(condition, value.sql) for condition, value in cases]),
            order=_case([(condition, value.order) for condition, value in cases]),
        )
        self._cases = cases

    def when(self, condition: Column, value: Any) -> Column:
        return _When([*self._cases, (condition.sql, literal(value))])

    def otherwise(self, value: Any) -> Column:
        return _When([*self._cases, ("TRUE", literal(value))])


def _case(cases: list[tuple[str, str]]) -> str:
    return f"CASE {' '.join(f'WHEN {condition} THEN {value}' for condition, value in cases)} END"


def when(condition: Column, value: Any) -> Column:
    """Return a column with a value for the rows in which a condition holds."""
    return _When([(condition.sql, literal(value))])


def coalesce(*names: Any) -> Column:
    """Return the first value that is not null."""
    return _call("coalesce", *names)


def struct(*names: Any) -> Column:
    """Return a struct of the values of columns."""
    parts = [named(name) for name in names]
    fields = ", ".join(f"{text(part.name)}: {part.sql}" for part in parts)
    # A flag before each value brings nulls first.
    flagged = (
        f"'f{place}': {part.sql} IS NOT NULL, 'v{place}': {part.order}" for place, part in enumerate(parts)
    )
    return Column(f"{{{fields}}}", order=f"{{{', '.join(flagged)}}}")


def array(*names: Any) -> Column:
    """Return an array of the values of columns."""
    parts = [named(name) for name in names]
    flagged = (f"{{'f': {part.sql} IS NOT NULL, 'v': {part.order}}}" for part in parts)
    return Column(f"[{', '.join(part.sql for part in parts)}]", order=f"[{', '.join(flagged)}]")


def explode(name: Any) -> Column:
    """Return a column of which a frame makes one row for each element."""
    return Column(f"unnest({named(name).sql})", "col")


def size(name: Any) -> Column:
    """Return the number of elements of an array."""
    return _call("len", name).cast("int")


def array_sort(name: Any) -> Column:
    """Sort an array whose elements hold no nulls."""
    return _call("list_sort", name)


def array_distinct(name: Any) -> Column:
    """Remove the repetitions from an array without nulls; the order of the rest is not defined."""
    return _call("list_distinct", name)


def array_except(one: Any, other: Any) -> Column:
    """Return the elements of an array that another one lacks, each once; both are short."""
    left, right = named(one).sql, named(other).sql
    with _element() as element:
        kept = f"NOT list_contains({right}, {element}) AND list_position({left}, {element}) = {element}i"
    filtered = f"list_filter({left}, lambda {element}, {element}i: {kept})"
    return Column(f"CASE WHEN {right} IS NOT NULL THEN {filtered} END")


def array_contains(name: Any, value: Any) -> Column:
    """Return whether an array contains a value."""
    return _call("list_contains", name, literal(value))


def array_join(name: Any, delimiter: str) -> Column:
    """Join an array of texts."""
    return _call("array_to_string", name, literal(delimiter))


def flatten(name: Any) -> Column:
    """Join the arrays of an array, none of which is null."""
    return _call("flatten", name)


def element_at(name: Any, place: int) -> Column:
    """Return an element of an array, counted from 1; null beyond its end."""
    return Column(f"({named(name).sql})[{place}]")


def get(name: Any, place: Any) -> Column:
    """Return an element of an array, counted from 0; null beyond its end."""
    at = named(place).sql
    return Column(f"CASE WHEN {at} >= 0 THEN ({named(name).sql})[{at} + 1] END")


def slice(name: Any, start: int, length: int) -> Column:  # noqa: A001  (as in PySpark)
    """Return ``length`` elements of an array from ``start`` on, counted from 1."""
    return Column(f"({named(name).sql})[{start}:{start + length - 1}]")


def filter(name: Any, condition: Callable[[Column], Column]) -> Column:  # noqa: A001  (as in PySpark)
    """Return the elements for which a condition holds."""
    with _element() as element:
        kept = condition(Column(element)).sql
    return Column(f"list_filter({named(name).sql}, lambda {element}: {kept})")


def exists(name: Any, condition: Callable[[Column], Column]) -> Column:
    """Return whether a condition holds for an element of an array without nulls."""
    return size(filter(name, condition)) > 0


def greatest(*names: Any) -> Column:
    """Return the greatest of several values."""
    return _call("greatest", *names)


def least(*names: Any) -> Column:
    """Return the least of several values."""
    return _call("least", *names)


def floor(name: Any) -> Column:
    """Round down to a whole number."""
    return _call("floor", name).cast("bigint")


def round(name: Any, scale: int) -> Column:  # noqa: A001  (as in PySpark)
    """Round a double, as it is written, to a number of decimals."""
    return Column(
        f"CAST(round(CAST({named(name).sql} AS DECIMAL(38, 12)), {scale}) AS DOUBLE)", is_double=True
    )


def concat(*names: Any) -> Column:
    """Join texts, or numbers as texts."""
    return Column(f"({' || '.join(named(name).cast('string').sql for name in names)})")


def printf(form: Column, *names: Any) -> Column:
    """Format values by ``%d`` and ``%s`` in a literal."""
    words = (f"' || coalesce({named(name).cast('string').sql}, 'null') || '" for name in names)
    return Column(f"({_PLACEHOLDER.sub(lambda _: next(words), form.sql)})")


def substring(name: Any, start: int, length: int) -> Column:
    """Return ``length`` characters of a text from ``start`` on, counted from 1."""
    return _call("substring", name, literal(start), literal(length))


def substring_index(name: Any, delimiter: str, count: int) -> Column:
    """Return the first parts of a text, up to a number of separators."""
    parts = f"string_split({named(name).sql}, {text(delimiter)})[1:{count}]"
    return Column(f"array_to_string({parts}, {text(delimiter)})")


def regexp_replace(name: Any, pattern: str, replacement: str) -> Column:
    """Replace the matches of a pattern that means the same in Java and RE2."""
    return _call("regexp_replace", name, *map(literal, (pattern, replacement, "g")))


def startswith(name: Any, prefix: Column) -> Column:
    """Return whether a text starts with another one."""
    return _call("starts_with", name, prefix)


def contains(name: Any, part: Column) -> Column:
    """Return whether a text contains another one."""
    return _call("contains", name, part)


def endswith(name: Any, suffix: Column) -> Column:
    """Return whether a text ends with another one."""
    return _call("ends_with", name, suffix)


def date_trunc(unit: str, name: Any) -> Column:
    """Cut a time to its ``second`` or ``minute``."""
    return _call("date_trunc", literal(unit), name)


def unix_millis(name: Any) -> Column:
    """Return the milliseconds from 1970 to a time."""
    return Column(f"CAST(floor(epoch_us({named(name).sql}) / 1000) AS BIGINT)")


def unix_seconds(name: Any) -> Column:
    """Return the seconds from 1970 to a time."""
    return Column(f"CAST(floor(epoch_us({named(name).sql}) / 1000000) AS BIGINT)")


def min(name: Any) -> Column:  # noqa: A001  (as in PySpark)
    """Return the least value of a group; a struct or array that the rows already have holds no nulls."""
    return _extreme("min", named(name))


def max(name: Any) -> Column:  # noqa: A001  (as in PySpark)
    """Return the greatest value of a group; a struct or array that the rows already have holds no nulls."""
    return _extreme("max", named(name))


def sum(name: Any) -> Column:  # noqa: A001  (as in PySpark)
    """Return the sum of a group's whole numbers."""
    return Aggregate(f"sum({named(name).sql})", lambda call: f"CAST({call} AS BIGINT)")


def median(name: Any) -> Column:
    """Return the median of a group's values."""
    return Aggregate(f"median({named(name).sql})", is_double=True)


def count(name: str) -> Column:
    """Count the values that are not null, or the rows."""
    return Aggregate(f"count({'*' if name == '*' else named(name).sql})")


def count_if(name: Any) -> Column:
    """Count the rows for which a condition holds."""
    return Aggregate(f"count(*) FILTER (WHERE {named(name).sql})")


def count_distinct(name: Any) -> Column:
    """Count the distinct values that are not null."""
    return Aggregate(f"count(DISTINCT {named(name).sql})")


def collect_list(name: Any) -> Column:
    """Collect the values that are not null."""
    return _collected(f"list({named(name).sql})", name)


def collect_set(name: Any) -> Column:
    """Collect the distinct values that are not null; their order is not defined."""
    return _collected(f"list(DISTINCT {named(name).sql})", name)


def min_by(name: Any, order: Any) -> Column:
    """Return the value at the least order."""
    return Aggregate(f"arg_min_null({named(name).sql}, {named(order).order})")


def max_by(name: Any, order: Any) -> Column:
    """Return the value at the greatest order."""
    return Aggregate(f"arg_max_null({named(name).sql}, {named(order).order})")


def first(name: Any, *, ignorenulls: bool) -> Column:
    """Return the first value that is not null."""
    return _edge("first_value", name, ignorenulls=ignorenulls)


def last(name: Any, *, ignorenulls: bool) -> Column:
    """Return the last value that is not null."""
    return _edge("last_value", name, ignorenulls=ignorenulls)


def lag(name: Any, offset: int = 1) -> Column:
    """Return the value of an earlier row in the partition."""
    return Placed(f"lag({named(name).sql}, {offset})")


def lead(name: Any, offset: int = 1) -> Column:
    """Return the value of a later row in the partition."""
    return Placed(f"lead({named(name).sql}, {offset})")


class _Numbered(Placed):
    def over(self, window: Any) -> Column:
        return super().over(window).cast("int")


def row_number() -> Column:
    """Return the place in the partition, counted from 1."""
    return _Numbered("row_number()")


@contextmanager
def _element() -> Iterator[str]:
    """Give a name for the elements of an array, which no condition around the block has for its own.

    The same condition has the same name each time, so that a query is the same too.
    """
    depth = _depth.set(_depth.get() + 1)
    try:
        yield f"_element{_depth.get()}"
    finally:
        _depth.reset(depth)


def _call(function: str, *names: Any) -> Column:
    return Column(f"{function}({', '.join(named(name).sql for name in names)})")


def _extreme(function: str, column: Column) -> Column:
    if column.is_ordered:
        return Aggregate(f"{function}({column.sql})")
    return Aggregate(f"arg_{function}_null({column.sql}, {column.order})")


def _collected(call: str, name: Any) -> Column:
    known = f"{call} FILTER (WHERE {named(name).sql} IS NOT NULL)"
    return Aggregate(known, lambda done: f"coalesce({done}, [])")


def _edge(function: str, name: Any, *, ignorenulls: bool) -> Column:
    if not ignorenulls:
        raise ValueError("expected ignorenulls=True: without it the analysis does not call this function")
    return Placed(f"{function}({named(name).sql} IGNORE NULLS)")
