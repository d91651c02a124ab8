"""What the handlers' tests share."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest


class Hashed:
    """Makes names, and counts how many of them are hashed in each turn of the event loop."""

    def __init__(self):
        self._turn = 0
        self._loop = asyncio.get_running_loop()
        self._by_turn = Counter()
        self._count()

    def _count(self):
        self._turn += 1
        self._loop.call_soon(self._count)

    def names(self, count):
        hashed = self

        class Name(str):
            __slots__ = ()

            def __hash__(self):
                hashed._by_turn[hashed._turn] += 1
                return super().__hash__()

        return tuple(Name(f"name-{number}") for number in range(count))

    def most_in_a_turn(self):
        assert self._by_turn, "none was hashed"
        return max(self._by_turn.values())


@pytest.fixture
async def hashed():
    """A source of names that are expensive to hash."""
    return Hashed()
