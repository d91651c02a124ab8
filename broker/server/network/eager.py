"""The start of a coroutine without a task: most requests are answered without a wait, and tasks are not free.

``asyncio.eager_task_factory`` does the same from Python 3.12 on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any


def start(work: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
    """Run ``work`` until it waits or ends; return the task that continues it, or None if it has ended.

    Until its first wait there is no current task, so ``asyncio.timeout`` raises; ``asyncio.wait`` works.
    """
    try:
        waited_for = work.send(None)
    except StopIteration:
        return None
    return asyncio.get_running_loop().create_task(_Rest(work, waited_for))


class _Rest(Coroutine[Any, Any, None]):
    """The rest of a coroutine that waits for ``waited_for``; a task takes it for a coroutine of its own."""

    __slots__ = ("_waited_for", "_work")

    def __init__(self, work: Coroutine[Any, Any, None], waited_for: Any) -> None:
        self._work = work
        self._waited_for = waited_for

    def send(self, value: Any) -> Any:
        """Pass on what the coroutine waits for: first what it has named already."""
        waited_for, self._waited_for = self._waited_for, None
        return self._work.send(value) if waited_for is None else waited_for

    def throw(self, *error: Any) -> Any:
        """Raise an error where the coroutine waits; the task may be cancelled before its first step."""
        if self._waited_for is not None:
            self._waited_for.cancel()
            self._waited_for = None
        try:
            return self._work.throw(*error)
        finally:
            del error  # it has this frame in its traceback: a cycle, which only a garbage collection frees

    def close(self) -> None:
        """End the coroutine where it waits."""
        self._work.close()

    def __await__(self) -> Generator[Any, Any, None]:
        """Refuse: only a task continues it."""
        raise TypeError("the rest of a coroutine belongs to its task")
