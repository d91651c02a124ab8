"""Windows, and the functions that are evaluated over their frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from barnabas.analysis.local.columns import Column, Group, Order, named, ordered, sort
from barnabas.analysis.local.values import Row, frozen, order_key


class Window:
    """A specification of a window, as PySpark's ``Window`` and ``WindowSpec``."""

    unboundedPreceding = -(2**63)  # noqa: N815  (as in PySpark)
    unboundedFollowing = 2**63 - 1  # noqa: N815  (as in PySpark)

    def __init__(
        self,
        keys: Sequence[Column] = (),
        orders: Sequence[Order] = (),
        rows: tuple[int, int] | None = None,
    ) -> None:
        self.keys = keys
        self.orders = orders
        self.rows = rows

    @staticmethod
    def partitionBy(*names: Any) -> Window:  # noqa: N802  (as in PySpark)
        """Return a window over the rows that are equal in these columns."""
        return Window([named(name) for name in names])

    # PySpark's Window.orderBy is called on the class, WindowSpec.orderBy on an object.
    class _OrderBy:
        def __get__(self, window: Window | None, owner: type[Window]) -> Callable[..., Window]:
            keys = () if window is None else window.keys
            return lambda *names: owner(keys, ordered(names))

    orderBy = _OrderBy()  # noqa: N815  (as in PySpark)

    def rowsBetween(self, start: int, end: int) -> Window:  # noqa: N802  (as in PySpark)
        """Return the window with frames between two places, relative to the row."""
        return Window(self.keys, self.orders, (start, end))

    def partitions(self, rows: Iterable[Row]) -> Iterator[list[Row]]:
        """Iterate over the rows of each partition in their order."""
        found: dict[Any, list[Row]] = {}
        for row in rows:
            found.setdefault(tuple(frozen(key.at(row)) for key in self.keys), []).append(row)
        for members in found.values():
            yield sort(members, self.orders)

    def frames(self, members: list[Row]) -> Iterator[tuple[Row, int, int]]:
        """Iterate over the rows of a partition, each with the begin and the end of its frame."""
        count = len(members)
        if self.rows is not None:
            start, end = self.rows
            for place, row in enumerate(members):
                yield row, max(0, place + start), max(0, min(count, place + end + 1))
            return
        # The default frame ends with the last row that is equal in order.
        at = 0
        keys = [tuple(order_key(order.column.at(row)) for order in self.orders) for row in members]
        for _, peers in groupby(keys):
            begin, at = at, at + len(list(peers))
            for place in range(begin, at):
                yield members[place], 0, at


class Aggregate(Column):
    """A function of a group of rows, or of a window's frame.

    Args:
        fold: The function from the values of the first part to the value; with more parts it gets tuples.
        parts: The columns that are evaluated for each row.
    """

    def __init__(self, fold: Callable[[list[Any]], Any], parts: Iterable[Column]) -> None:
        super().__init__(fold, parts)

    def at(self, row: Row, group: Group = ()) -> Any:  # noqa: ARG002  (as in Column)
        """Return the value over a group, as ``Column.at`` does."""
        return self.compute(self.values(group))

    def values(self, rows: Iterable[Row]) -> list[Any]:
        """Return the values that are folded."""
        if len(self.parts) == 1:
            return [self.parts[0].at(row) for row in rows]
        return [tuple(part.at(row) for part in self.parts) for row in rows]

    def over(self, window: Any) -> Column:
        """Return the aggregate over the frames of a window."""
        return Windowed(self, window)

    def fill(self, column: Column, window: Window, rows: Iterable[Row]) -> None:
        """Write the value over each row's frame to ``row[column]``."""
        for members in window.partitions(rows):
            values = self.values(members)
            known: dict[tuple[int, int], Any] = {}
            for row, start, end in window.frames(members):
                if (start, end) not in known:
                    known = {(start, end): self.compute(values[start:end])}
                row[column] = known[start, end]


class Placed(Column):
    """A function of a row's place in its partition.

    Args:
        compute: The function from the values of ``part`` in the partition and the place to the value.
        part: The column that is evaluated for each row.
    """

    def __init__(self, compute: Callable[[list[Any], int], Any], part: Column) -> None:
        super().__init__(compute, [part])

    def over(self, window: Any) -> Column:
        """Return the function over the partitions of a window."""
        return Windowed(self, window)

    def fill(self, column: Column, window: Window, rows: Iterable[Row]) -> None:
        """Write the value at each row's place to ``row[column]``."""
        for members in window.partitions(rows):
            values = [self.parts[0].at(row) for row in members]
            for place, row in enumerate(members):
                row[column] = self.compute(values, place)


class Windowed(Column):
    """A function over a window. ``fill`` computes it for all rows of a frame, before any row is evaluated."""

    def __init__(self, function: Aggregate | Placed, window: Window) -> None:
        # There are no parts: the function of a window is not evaluated for a row.
        super().__init__(lambda: None)
        self.function = function
        self.window = window
        self.key: Column = self

    def all(self) -> Iterator[Column]:
        """Iterate over this column and all that it needs, after the windows that these need."""
        for column in (self.function, *self.window.keys, *(order.column for order in self.window.orders)):
            yield from column.all()
        yield self

    def fill(self, rows: Iterable[Row]) -> None:
        """Compute the value for each row."""
        self.function.fill(self.key, self.window, rows)

    def at(self, row: Row, group: Group = ()) -> Any:  # noqa: ARG002  (as in Column)
        """Return the value that ``fill`` has computed for a row."""
        return row[self.key]
