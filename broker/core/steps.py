"""Long work as a generator, so that whoever carries it out decides where it runs and when others go on.

It yields calls, whose results it is sent, and None where others can be let go on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar, cast

T = TypeVar("T")

Work = Callable[[], Any]
"""A call of a codec, which needs none of the broker's state and may run on any thread."""

Steps = Generator[Work | None, Any, T]
"""Work that comes to a ``T``."""


def at_once(steps: Steps[T]) -> T:
    """Carry out all of it, here and now."""
    result = None
    while True:
        try:
            work = steps.send(result)
        except StopIteration as end:
            return cast("T", end.value)
        result = None if work is None else work()
