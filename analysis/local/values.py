"""The comparison, grouping and order of values; a struct is a dictionary, null is None."""

from __future__ import annotations

from typing import Any

Row = dict[Any, Any]


def order_key(value: Any) -> tuple[Any, ...]:
    """Return a key that orders values as Spark does: null before all others, structs by their fields."""
    if value is None:
        return (0,)
    if isinstance(value, dict):
        return (1, *(order_key(each) for each in value.values()))
    if isinstance(value, list):
        return (1, *((1, order_key(each)) for each in value))
    return (1, value)


def frozen(value: Any) -> Any:
    """Return a hashable value that is equal for equal values."""
    if isinstance(value, dict):
        return tuple(frozen(each) for each in value.values())
    if isinstance(value, list):
        return tuple(frozen(each) for each in value)
    return value
