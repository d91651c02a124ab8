"""The owner of a process's tasks, which names them and reports their failures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

OnDeath = Callable[[str, BaseException], None]
"""A function that is called with the name of a failed task and its exception."""


class Supervisor:
    """A supervisor of tasks.

    Args:
        on_death: The default policy for failed tasks. A broker logs and stops, because it cannot serve with a
            failed part.
    """

    def __init__(self, on_death: OnDeath) -> None:
        self._on_death = on_death
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def names(self) -> list[str]:
        """Return the names of the running tasks, sorted."""
        return sorted(task.get_name() for task in self._tasks)

    def spawn(
        self, name: str, coroutine: Coroutine[Any, Any, Any], on_death: OnDeath | None = None
    ) -> asyncio.Task[Any]:
        """Run ``coroutine`` as a task.

        A task that returns or is cancelled did not fail.

        Args:
            name: The name in logs and stack traces.
            coroutine: The coroutine to run.
            on_death: The policy for this task; None for the supervisor's.
        """
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._ended(done, on_death or self._on_death))
        return task

    def _ended(self, task: asyncio.Task[Any], on_death: OnDeath) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            on_death(task.get_name(), error)

    async def close(self, deadline_s: float) -> list[str]:
        """Cancel all tasks and wait at most ``deadline_s`` seconds for their end.

        Returns:
            The names of the tasks that did not end.
        """
        current = asyncio.current_task()
        tasks = [task for task in self._tasks if task is not current]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=deadline_s)
        return [task.get_name() for task in tasks if not task.done()]
