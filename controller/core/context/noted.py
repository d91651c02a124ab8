"""A dictionary that tracks which of its keys have changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Never, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class NotedDict(dict[K, V]):
    """As a ``dict``: reading costs nothing more, writing a key costs the noting of it."""

    __slots__ = ("_changed",)

    def __init__(self) -> None:
        super().__init__()
        self._changed: set[K] = set()

    def take_changed(self) -> set[K]:
        """The keys that were written, deleted or noted since this was last asked."""
        changed, self._changed = self._changed, set()
        return changed

    def note(self, key: K) -> None:
        """Take ``key`` for changed, because something that belongs to its value has."""
        self._changed.add(key)

    def __setitem__(self, key: K, value: V) -> None:
        self._changed.add(key)
        super().__setitem__(key, value)

    def __delitem__(self, key: K) -> None:
        self._changed.add(key)
        super().__delitem__(key)

    def pop(self, key: K, *default: Any) -> Any:
        """As ``dict.pop``."""
        self._changed.add(key)
        return super().pop(key, *default)

    def update(self, items: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:  # type: ignore[override]
        """As ``dict.update``, from a mapping or from pairs."""
        new = dict(items)
        self._changed.update(new)
        super().update(new)

    def clear(self) -> None:
        """As ``dict.clear``."""
        self._changed.update(self)
        super().clear()

    def _unnoted(self, *_: object) -> Never:
        raise TypeError("this dictionary is changed by item, by update, pop and clear, expected one of these")

    setdefault = popitem = __ior__ = _unnoted
