"""Work counted by the turns of the event loop."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter


class Turns:
    """Counts in each turn of the event loop what is done in it."""

    def __init__(self):
        self._turn = 0
        self._loop = asyncio.get_running_loop()
        self._by_turn = Counter()
        self._next()

    def _next(self):
        self._turn += 1
        self._loop.call_soon(self._next)

    def add(self):
        self._by_turn[self._turn] += 1

    def names(self, count):
        """Names whose hashing counts."""
        turns = self

        class Name(str):
            __slots__ = ()

            def __hash__(self):
                turns.add()
                return super().__hash__()

        return tuple(Name(f"name-{number}") for number in range(count))

    def elements(self, items):
        """The same elements; taking each one counts."""
        turns = self

        class Elements(tuple):
            __slots__ = ()

            def __iter__(self):
                for each in super().__iter__():
                    turns.add()
                    yield each

        return Elements(items)

    def counting(self, body, *fields):
        """A body whose lists count their elements."""
        return dataclasses.replace(body, **{each: self.elements(getattr(body, each)) for each in fields})

    def count(self, monkeypatch, owner, method):
        """Count each call of a method."""
        original = getattr(owner, method)

        def counted(*args, **kwargs):
            self.add()
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, method, counted)

    @property
    def all(self):
        return self._by_turn.total()

    def most_in_a_turn(self):
        assert self._by_turn, "nothing was counted"
        return max(self._by_turn.values())
