"""A dictionary that tracks which of its keys have changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Never, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class ChangeTrackingDict(dict[K, V]):
    """A ``dict`` that also keeps the set of changed keys; reading it costs nothing extra."""

    __slots__ = ("_changed",)

    def __init__(self) -> None:
        super().__init__()
        self._changed: set[K] = set()

    def take_changed(self) -> set[K]:
        """Return the keys that were written, deleted or marked since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def mark_changed(self, key: K) -> None:
        """Mark ``key`` as changed, because something that belongs to its value has changed."""
        self._changed.add(key)

    def __setitem__(self, key: K, value: V) -> None:
        self._changed.add(key)
        super().__setitem__(key, value)

    def __delitem__(self, key: K) -> None:
        self._changed.add(key)
        super().__delitem__(key)

    def pop(self, key: K, *default: Any) -> Any:
        """Remove and return a value, as ``dict.pop`` does."""
        self._changed.add(key)
        return super().pop(key, *default)

    def update(self, items: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:  # type: ignore[override]
        """Add items from a mapping or pairs, as ``dict.update`` does."""
        new = dict(items)
        self._changed.update(new)
        super().update(new)

    def clear(self) -> None:
        """Remove all items, as ``dict.clear`` does."""
        self._changed.update(self)
        super().clear()

    def _untracked(self, *_: object) -> Never:
        raise TypeError("this dictionary is changed by item, by update, pop and clear, expected one of these")

    setdefault = popitem = __ior__ = _untracked
