"""The changes of a cluster since the page began, in order, limited in number. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from typing import Any

from barnabas.page.model import Change, Json

MOST_CHANGES = 20_000
"""The most changes that are kept; older ones are folded into the first snapshot."""


_OF_ENTRIES = frozenset({"n", "at", "kind", "text", "bad"})
"""The fields of an entry's JSON besides the change's data."""


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

    @classmethod
    def of(cls, base: Json, base_at_ms: int, entries: Iterable[Entry], most: int = MOST_CHANGES) -> History:
        """Return a history that ``json`` returned before.

        Raises:
            ValueError: The entries are not numbered one after the other.
        """
        history = cls(most)
        history._base, history._base_at_ms = base, base_at_ms
        history._entries.extend(entries)
        numbers = [entry.number for entry in history._entries]
        if numbers:
            if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
                raise ValueError("the entries are not numbered one after the other")
            history._numbers = numbers[-1]
        history._fold()
        return history

    def add(self, at_ms: int, changes: Iterable[Change]) -> list[Entry]:
        """Append changes, and return them as entries."""
        added = []
        for change in changes:
            self._numbers += 1
            added.append(Entry(self._numbers, at_ms, change))
        self._entries.extend(added)
        self._fold()
        return added

    def _fold(self) -> None:
        while len(self._entries) > self._most:
            oldest = self._entries.popleft()
            apply(self._base, oldest.change)
            self._base_at_ms = oldest.at_ms

    def after(self, number: int) -> list[Entry] | None:
        """Return the entries behind ``number``; None if some of them are no longer kept."""
        first = self._numbers - len(self._entries)
        if number < first or number > self._numbers:
            return None
        return list(islice(self._entries, number - first, None))

    def entries(self) -> list[Entry]:
        """Return all entries that are kept."""
        return list(self._entries)

    def latest(self) -> dict[str, Any]:
        """Return the snapshot after the newest entry."""
        state = deepcopy(self._base)
        for entry in self._entries:
            apply(state, entry.change)
        return state

    def json(self) -> Json:
        """Return the snapshot before the oldest entry, and all entries."""
        return {
            "base": self._base,
            "base_at": self._base_at_ms,
            "changes": [entry.json() for entry in self._entries],
        }


def empty() -> Json:
    """Return the snapshot before anything is known."""
    return {"brokers": {}, "processes": {}, "cut": {}, "controller": None, "epoch": 0, "partitions": {}}


def entry_of(record: object) -> Entry:
    """Return the entry that ``Entry.json`` returned this of.

    Raises:
        KeyError: It is not one.
        TypeError: It is no JSON object.
    """
    record = _object(record)
    data = {name: value for name, value in record.items() if name not in _OF_ENTRIES}
    return Entry(record["n"], record["at"], Change(record["kind"], record["text"], data, record["bad"]))


def apply(state: Json, change: Change) -> None:
    """Apply a change to a snapshot, as the page's script does.

    Raises:
        KeyError: The change or the snapshot lacks a name, as in a damaged file.
        TypeError: A value is no JSON object where there must be one.
    """
    data = change.data
    match change.kind:
        case "broker":
            _set(state, "brokers", str(data["id"]), data["registered"])
        case "process":
            _set(state, "processes", str(data["id"]), data["state"])
        case "action" if data["action"] in ("cut", "heal"):
            _set(state, "cut", str(data["id"]), True if data["action"] == "cut" else None)
        case "start":
            state["cut"] = {}
        case "controller":
            state["controller"], state["epoch"] = data["controller"], data["epoch"]
        case "partition":
            topics, name = _object(state["partitions"]), str(data["topic"])
            topic = _object(topics.setdefault(name, {}))
            if data["state"] is None:
                topic.pop(str(data["partition"]), None)
                if not topic:
                    del topics[name]
            else:
                topic[str(data["partition"])] = data["state"]


def _set(state: Json, name: str, key: str, value: object) -> None:
    items = _object(state[name])
    if value is None:
        items.pop(key, None)
    else:
        items[key] = value


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"expected a JSON object, found {type(value).__name__}")
    return value
