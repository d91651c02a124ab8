"""The changes of a cluster since the page began, in order, limited in number. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from barnabas.page.model import Change, Json

MOST_CHANGES = 20_000
"""The most changes that are kept; older ones are folded into the first snapshot."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A change in the history.

    Attributes:
        number: Its number, from 1.
        at_ms: When it was seen, in milliseconds since 1970.
        change: The change.
    """

    number: int
    at_ms: int
    change: Change

    def json(self) -> Json:
        """Return the entry as the page gets it."""
        change = self.change
        return {
            "n": self.number, "at": self.at_ms, "kind": change.kind, "text": change.text,
            "bad": change.is_bad, **change.data,
        }  # fmt: skip


class History:
    """The history: a first snapshot, and all changes since.

    Args:
        most: The most changes to keep.
    """

    def __init__(self, most: int = MOST_CHANGES) -> None:
        self._most = most
        self._entries: deque[Entry] = deque()
        self._numbers = 0
        self._base = empty()
        self._base_at_ms = 0

    def add(self, at_ms: int, changes: Iterable[Change]) -> list[Entry]:
        """Append changes, and return them as entries."""
        added = []
        for change in changes:
            self._numbers += 1
            added.append(Entry(self._numbers, at_ms, change))
        self._entries.extend(added)
        while len(self._entries) > self._most:
            oldest = self._entries.popleft()
            apply(self._base, oldest.change)
            self._base_at_ms = oldest.at_ms
        return added

    def after(self, number: int) -> list[Entry] | None:
        """Return the entries behind ``number``; None if some of them are no longer kept."""
        first = self._numbers - len(self._entries)
        if number < first or number > self._numbers:
            return None
        return list(islice(self._entries, number - first, None))

    def entries(self) -> list[Entry]:
        """Return all entries that are kept."""
        return list(self._entries)

    def json(self) -> Json:
        """Return the snapshot before the oldest entry, and all entries."""
        return {
            "base": self._base,
            "base_at": self._base_at_ms,
            "changes": [entry.json() for entry in self._entries],
        }


def empty() -> dict[str, Any]:
    """Return the snapshot before anything is known."""
    return {"brokers": {}, "processes": {}, "cut": {}, "controller": None, "epoch": 0, "partitions": {}}


def apply(state: dict[str, Any], change: Change) -> None:
    """Apply a change to a snapshot, as the page's script does."""
    data = change.data
    match change.kind:
        case "broker":
            _set(state, "brokers", str(data["id"]), data["registered"])
        case "process":
            _set(state, "processes", str(data["id"]), data["state"])
        case "action" if data["action"] in ("cut", "heal"):
            _set(state, "cut", str(data["id"]), True if data["action"] == "cut" else None)
        case "controller":
            state["controller"], state["epoch"] = data["controller"], data["epoch"]
        case "partition":
            topics, name = state["partitions"], str(data["topic"])
            topic = topics.setdefault(name, {})
            if data["state"] is None:
                topic.pop(str(data["partition"]), None)
                if not topic:
                    del topics[name]
            else:
                topic[str(data["partition"])] = data["state"]


def _set(state: dict[str, Any], name: str, key: str, value: object) -> None:
    if value is None:
        state[name].pop(key, None)
    else:
        state[name][key] = value
