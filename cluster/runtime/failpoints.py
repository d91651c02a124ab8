"""Failpoints: named places in the code where tests can inject failures.

The code at a failpoint checks ``armed``, which costs one attribute read. Failpoints are armed by the setting
``failpoints`` (``name=action,…``) or by ``POST /failpoints/<name>?action=<action>`` on the metrics address.

>>> if FOLLOWER_FETCH.armed:
...     await FOLLOWER_FETCH.hit()
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterable
from enum import Enum


class Action(Enum):
    """The actions of an armed failpoint on a task that reaches it."""

    OFF = "off"
    """The failpoint is not armed."""
    PAUSE = "pause"
    """The task waits until the failpoint gets another action."""
    ERROR = "error"
    """The task gets a `FailpointError`."""
    EXIT = "exit"
    """The process is killed at once, as by ``kill -9``."""


class FailpointError(Exception):
    """The error that an armed failpoint raises."""


class UnknownFailpointError(ValueError):
    """An error for a failpoint or action that does not exist."""


class Failpoint:
    """A failpoint.

    Attributes:
        name: The name for arming it.
        doc: A description of what it stops.
        armed: Whether it has an action.
    """

    __slots__ = ("_action", "_changed", "armed", "doc", "name")

    def __init__(self, name: str, doc: str) -> None:
        self.name = name
        self.doc = doc
        self.armed = False
        self._action = Action.OFF
        self._changed: asyncio.Event | None = None

    @property
    def action(self) -> Action:
        """Return the current action."""
        return self._action

    def arm(self, action: Action) -> None:
        """Set the action and wake waiting tasks; must be called on the loop."""
        self._action = action
        self.armed = action is not Action.OFF
        # Arming wakes the waiting tasks. An event belongs to one loop, so it is created only while a task
        # waits.
        changed, self._changed = self._changed, None
        if changed is not None:
            changed.set()

    async def hit(self) -> None:
        """Carry out the action.

        Raises:
            FailpointError: The action is ``error``.
        """
        while self._action is Action.PAUSE:
            self._changed = self._changed or asyncio.Event()
            await self._changed.wait()
        if self._action is Action.ERROR:
            raise FailpointError(f"the failpoint {self.name} is armed")
        if self._action is Action.EXIT:
            os.kill(os.getpid(), signal.SIGKILL)


FOLLOWER_FETCH = Failpoint("follower.fetch", "A follower sends no fetches and ignores responses.")

DISK_FULL = Failpoint(
    "disk.full", "Writes to the files of log directories fail with ENOSPC, whatever the action."
)

CLOCK_BACK = Failpoint("clock.back", "The broker's wall clock is an hour behind, whatever the action.")

FAILPOINTS = {point.name: point for point in (FOLLOWER_FETCH, DISK_FULL, CLOCK_BACK)}
"""All failpoints by name."""


def find(name: str, action: str) -> tuple[Failpoint, Action]:
    """Find a failpoint and an action by their names.

    Raises:
        UnknownFailpointError: One does not exist; the message lists those that do.
    """
    if name not in FAILPOINTS:
        raise UnknownFailpointError(
            f"no failpoint is called '{name}'; there are: {', '.join(sorted(FAILPOINTS))}"
        )
    actions = {each.value: each for each in Action}
    if action not in actions:
        raise UnknownFailpointError(
            f"'{action}' is not an action of a failpoint; there are: {', '.join(actions)}"
        )
    return FAILPOINTS[name], actions[action]


def arm_all(settings: Iterable[str]) -> None:
    """Arm failpoints by the setting ``failpoints``, with items ``name=action``.

    Raises:
        UnknownFailpointError: A name or action does not exist; nothing is armed then.
    """
    found = [find(*_pair(setting)) for setting in settings]
    for point, action in found:
        point.arm(action)


def _pair(setting: str) -> tuple[str, str]:
    name, _, action = setting.partition("=")
    return name.strip(), action.strip()
