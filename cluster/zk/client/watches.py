"""The record of a session's watches, which survives the connection, unlike ZooKeeper's watches. Pure."""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

from barnabas.cluster.zk.client.operations import Change


class Watch(NamedTuple):
    """An armed watch on a node's data and existence, or on its children."""

    path: str
    children: bool


SHARED = 0
"""The claim of a read on a watch that another read recorded before."""


class Watches:
    """The watches that were requested and have not fired.

    A watch is recorded before its request is sent, and removed when it fires. So an event that arrives before
    the read's response is recognized, and the response does not record the watch again. A refused read armed
    no watch, so it withdraws the watch, unless another read has a claim on it.
    """

    def __init__(self) -> None:
        self._armed: dict[Watch, int] = {}
        self._claims = count(SHARED + 1)

    def add(self, path: str, *, children: bool) -> int:
        """Record a watch, and return the claim by which the read that arms it may withdraw it."""
        watch = Watch(path, children)
        claim = SHARED if watch in self._armed else next(self._claims)
        self._armed[watch] = claim
        return claim

    def withdraw(self, watch: Watch, claim: int) -> None:
        """Remove a watch whose read was refused, unless another read recorded it too."""
        if claim != SHARED and self._armed.get(watch) == claim:
            del self._armed[watch]

    def renew(self) -> list[tuple[Watch, int]]:
        """Return all watches, sorted by path, each with a new claim, after a disconnection disarmed them."""
        self._armed = {watch: next(self._claims) for watch in sorted(self._armed)}
        return list(self._armed.items())

    def forget(self, *paths: str) -> None:
        """Remove all watches of these paths."""
        for path in paths:
            for children in (False, True):
                self._armed.pop(Watch(path, children), None)

    def clear(self) -> None:
        """Remove all watches."""
        self._armed.clear()

    def fire(self, path: str, change: Change) -> bool:
        """Remove the watches that a change fires, and return whether to report the change.

        A deletion fires watches of both kinds and is reported once.
        """
        if change is Change.CHILDREN:
            kinds: tuple[bool, ...] = (True,)
        elif change is Change.DELETED:
            kinds = (False, True)
        else:
            kinds = (False,)
        fired = [self._armed.pop(Watch(path, children), None) for children in kinds]
        return any(claim is not None for claim in fired)

    def armed(self) -> list[Watch]:
        """Return all watches, sorted by path."""
        return sorted(self._armed)

    def paths(self) -> list[str]:
        """Return each watched path once, sorted."""
        return sorted({watch.path for watch in self._armed})
