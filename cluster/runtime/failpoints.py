"""Named places in the code where a test may make something go wrong.

A place looks at ``armed`` and goes on: one attribute read where nobody is testing. They are armed by the
setting ``failpoints`` (``name=action,…``) or by ``POST /failpoints/<name>?action=<action>`` on the metrics
address.

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
    """What happens to a task that comes to an armed failpoint."""

    OFF = "off"
    """Nothing: the failpoint is not armed."""
    PAUSE = "pause"
    """It waits until the failpoint is armed otherwise or turned off."""
    ERROR = "error"
    """It gets a `FailpointError`."""
    EXIT = "exit"
    """The process is killed on the spot, as by ``kill -9``."""


class FailpointError(Exception):
    """What an armed failpoint raises."""


class UnknownFailpointError(ValueError):
    """No such failpoint, or no such action."""


class Failpoint:
    """One such place.

    Attributes:
        name: How it is armed.
        doc: What stops there.
        armed: Whether anything would happen.
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
        """What would happen now."""
        return self._action

    def arm(self, action: Action) -> None:
        """Have ``action`` happen from now on; tasks that wait look again. To be called on the loop."""
        self._action = action
        self.armed = action is not Action.OFF
        # Each arming wakes those who waited for it; an event belongs to one loop, so none is kept.
        changed, self._changed = self._changed, None
        if changed is not None:
            changed.set()

    async def hit(self) -> None:
        """Do what it is armed to do.

        Raises:
            FailpointError: Where that is ``error``.
        """
        while self._action is Action.PAUSE:
            self._changed = self._changed or asyncio.Event()
            await self._changed.wait()
        if self._action is Action.ERROR:
            raise FailpointError(f"the failpoint {self.name} is armed")
        if self._action is Action.EXIT:
            os.kill(os.getpid(), signal.SIGKILL)


FOLLOWER_FETCH = Failpoint("follower.fetch", "A follower asks leaders for nothing and takes no answer in.")

FAILPOINTS = {point.name: point for point in (FOLLOWER_FETCH,)}
"""All of them, by name."""


def find(name: str, action: str) -> tuple[Failpoint, Action]:
    """The failpoint and the action of these names.

    Raises:
        UnknownFailpointError: There is none; the message says which there are.
    """
    if name not in FAILPOINTS:
        raise UnknownFailpointError(
            f"no failpoint is called '{name}'; there are: {', '.join(sorted(FAILPOINTS))}"
        )
    actions = {each.value: each for each in Action}
    if action not in actions:
        raise UnknownFailpointError(
            f"'{action}' is no action of a failpoint; there are: {', '.join(actions)}"
        )
    return FAILPOINTS[name], actions[action]


def arm_all(settings: Iterable[str]) -> None:
    """Arm what the setting ``failpoints`` says: items ``name=action``.

    Raises:
        UnknownFailpointError: For a name or action that does not exist; nothing is armed then.
    """
    found = [find(*_pair(setting)) for setting in settings]
    for point, action in found:
        point.arm(action)


def _pair(setting: str) -> tuple[str, str]:
    name, _, action = setting.partition("=")
    return name.strip(), action.strip()
