"""Windows, and the functions that are evaluated over their frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from barnabas.analysis.local.columns import Column, Order, named, ordered

_UNBOUNDED = 2**63
"""The distance from which a frame has no bound, as PySpark's constants."""


class Window:
    """A specification of a window, as PySpark's ``Window`` and ``WindowSpec``."""

    unboundedPreceding = -_UNBOUNDED  # noqa: N815  (as in PySpark)
    unboundedFollowing = _UNBOUNDED - 1  # noqa: N815  (as in PySpark)
    currentRow = 0  # noqa: N815  (as in PySpark)

    def __init__(self, keys: Sequence[Column] = (), orders: Sequence[Order] = (), frame: str = "") -> None:
        self.keys = keys
        self.orders = orders
        self.frame = frame

    @property
    def sql(self) -> str:
        """The window in SQL; without a frame it ends with the last row that is equal in order."""
        keys = f"PARTITION BY {', '.join(key.sql for key in self.keys)}" if self.keys else ""
        orders = f"ORDER BY {', '.join(order.sql for order in self.orders)}" if self.orders else ""
        return " ".join(part for part in (keys, orders, self.frame) if part)

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
        return Window(self.keys, self.orders, f"ROWS BETWEEN {_edge(start)} AND {_edge(end)}")

    def rangeBetween(self, start: int, end: int) -> Window:  # noqa: N802  (as in PySpark)
        """Return the window with frames that begin and end with equals of the row, or have no bound.

        Raises:
            ValueError: An edge is another one.
        """
        for place in (start, end):
            if place and abs(place) < _UNBOUNDED - 1:
                raise ValueError(f"expected frames of equals or without a bound, not by the distance {place}")
        return Window(self.keys, self.orders, f"RANGE BETWEEN {_edge(start)} AND {_edge(end)}")


class Aggregate(Column):
    """A function of a group of rows, or of a window's frame.

    Args:
        call: The call of the function.
        finish: Makes the value of the result of the call, with its window.
        is_double: As in ``Column``.
    """

    def __init__(self, call: str, finish: Callable[[str], str] = str, *, is_double: bool = False) -> None:
        super().__init__(finish(call), is_double=is_double)
        self._call = call
        self._finish = finish

    def over(self, window: Window) -> Column:
        """Return the aggregate over the frames of a window."""
        return Column(self._finish(f"{self._call} OVER ({window.sql})"), is_double=self.is_double)


class Placed(Column):
    """A function of a row's place in its partition.

    Args:
        call: The call of the function.
    """

    def over(self, window: Window) -> Column:
        """Return the function over the partitions of a window."""
        return Column(f"{self.sql} OVER ({window.sql})")


def _edge(place: int) -> str:
    if abs(place) >= _UNBOUNDED - 1:
        return f"UNBOUNDED {'PRECEDING' if place < 0 else 'FOLLOWING'}"
    if place == 0:
        return "CURRENT ROW"
    return f"{abs(place)} {'PRECEDING' if place < 0 else 'FOLLOWING'}"
