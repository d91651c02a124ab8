"""The owner of a process's tasks: every task has a name, and somebody hears when it dies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

OnDeath = Callable[[str, BaseException], None]
"""Told the name of a task that ended with an exception, and the exception."""


class Supervisor:
    """Spawns tasks, and hears of their death.

    Args:
        on_death: What happens when a task dies and its spawner gave no answer of its own; a broker's policy
            is to log and stop, because a server with a dead part serves nobody.
    """

    def __init__(self, on_death: OnDeath) -> None:
        self._on_death = on_death
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def names(self) -> list[str]:
        """The names of the tasks that live, sorted."""
        return sorted(task.get_name() for task in self._tasks)

    def spawn(
        self, name: str, coroutine: Coroutine[Any, Any, Any], on_death: OnDeath | None = None
    ) -> asyncio.Task[Any]:
        """Run ``coroutine`` as a task.

        A task that returns or is cancelled is not dead but done.

        Args:
            name: What it is called in logs and stacks.
            coroutine: What it does.
            on_death: Told of its death in place of the supervisor's own policy.
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
        """Cancel all tasks and wait until they have ended, at most ``deadline_s`` seconds.

        Returns:
            The names of those that have not.
        """
        current = asyncio.current_task()
        tasks = [task for task in self._tasks if task is not current]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=deadline_s)
        return [task.get_name() for task in tasks if not task.done()]
