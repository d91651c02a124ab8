"""Which paths a session watches: the book that outlives a connection, as ZooKeeper's watches do not. Pure."""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

from barnabas.cluster.zk.operations import Change


class Watch(NamedTuple):
    """One armed watch: on a node's own data and existence, or on its children."""

    path: str
    children: bool


SHARED = 0
"""The claim of a read on a watch that another read had entered before."""


class Watches:
    """The watches that were asked for and have not fired.

    A watch is entered before its request is sent, and taken out when it fires: an event that overtakes the
    answer of the read that armed it is then still known, and the read's answer never enters it again. A read
    that is refused armed nothing: it withdraws the watch, unless another read has a claim on it.
    """

    def __init__(self) -> None:
        self._armed: dict[Watch, int] = {}
        self._claims = count(SHARED + 1)

    def add(self, path: str, *, children: bool) -> int:
        """Enter a watch; the claim by which the read that arms it may withdraw it."""
        watch = Watch(path, children)
        claim = SHARED if watch in self._armed else next(self._claims)
        self._armed[watch] = claim
        return claim

    def withdraw(self, watch: Watch, claim: int) -> None:
        """Take out a watch whose read was refused, if no one else has entered it."""
        if claim != SHARED and self._armed.get(watch) == claim:
            del self._armed[watch]

    def renew(self) -> list[tuple[Watch, int]]:
        """All watches, sorted by path, each with a new claim: nothing is armed, and whoever asks arms it."""
        self._armed = {watch: next(self._claims) for watch in sorted(self._armed)}
        return list(self._armed.items())

    def forget(self, *paths: str) -> None:
        """Take out all watches of these paths."""
        for path in paths:
            for children in (False, True):
                self._armed.pop(Watch(path, children), None)

    def clear(self) -> None:
        """Take out all watches."""
        self._armed.clear()

    def fire(self, path: str, change: Change) -> bool:
        """Take out the watches that this change fires; whether there were any and somebody is to be told.

        A deletion fires both kinds and is to be told once.
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
        """All watches, sorted by path."""
        return sorted(self._armed)

    def paths(self) -> list[str]:
        """Each watched path once, sorted."""
        return sorted({watch.path for watch in self._armed})
