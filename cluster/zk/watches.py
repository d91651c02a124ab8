"""Which paths a session watches: the book that outlives a connection, as ZooKeeper's watches do not. Pure."""

from __future__ import annotations

from typing import NamedTuple

from cluster.zk.operations import Change


class Watch(NamedTuple):
    """One armed watch: on a node's own data and existence, or on its children."""

    path: str
    children: bool


class Watches:
    """The watches that were asked for and have not fired.

    A watch is entered before its request is sent, and taken out when it fires: an event that overtakes the
    answer of the read that armed it is then still known, and the read's answer never enters it again.
    """

    def __init__(self) -> None:
        self._armed: set[Watch] = set()

    def add(self, path: str, *, children: bool) -> None:
        """Enter a watch."""
        self._armed.add(Watch(path, children))

    def forget(self, *paths: str) -> None:
        """Take out all watches of these paths."""
        self._armed.difference_update(Watch(path, children) for path in paths for children in (False, True))

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
        fired = self._armed & {Watch(path, children) for children in kinds}
        self._armed -= fired
        return bool(fired)

    def armed(self) -> list[Watch]:
        """All watches, sorted by path."""
        return sorted(self._armed)

    def paths(self) -> list[str]:
        """Each watched path once, sorted."""
        return sorted({watch.path for watch in self._armed})
