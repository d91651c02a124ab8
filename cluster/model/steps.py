"""Long work as a generator, so that its caller decides where it runs and when other work may run.

The generator yields calls, whose results are sent back into it, and None where other work may run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar, cast

T = TypeVar("T")

Work = Callable[[], Any]
"""A call of a codec, which needs none of the broker's state and may run on any thread."""

Steps = Generator[Work | None, Any, T]
"""Work whose result is a ``T``."""


def at_once(steps: Steps[T]) -> T:
    """Run all steps here and now."""
    result = None
    while True:
        try:
            work = steps.send(result)
        except StopIteration as end:
            return cast("T", end.value)
        result = None if work is None else work()
