"""How a znode's JSON is read, with errors that say where, what and what was expected."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any


class ZnodeDecodeError(ValueError):
    """A znode's content is not what its path promises.

    Attributes:
        path: The znode, without the chroot.
        content: What it holds.
        expected: What it should hold.
    """

    def __init__(self, path: str, content: bytes, expected: str) -> None:
        super().__init__(f"{path} holds {content[:200]!r}, expected {expected}")
        self.path = path
        self.content = content
        self.expected = expected


def encode_json(fields: Mapping[str, Any]) -> bytes:
    """The body as Kafka writes it: JSON without spaces, in UTF-8."""
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()


class Body:
    """A JSON object in a znode, whose fields are read by name and type.

    Every method raises ``ZnodeDecodeError`` where the field is missing or of another type.

    Attributes:
        path: The znode it came from, for errors.
        content: Its bytes, for errors.
        version: Its ``version``; 1 or more (``/cluster/id`` writes it as a string).
    """

    def __init__(self, path: str, content: bytes) -> None:
        self.path = path
        self.content = content
        try:
            fields = json.loads(content.decode())
        except ValueError:
            fields = None
        if not isinstance(fields, dict):
            raise self.error("a JSON object")
        self._fields: dict[str, Any] = fields
        try:
            self.version = int(fields["version"])
        except (KeyError, TypeError, ValueError):
            raise self.error("a numeric field 'version'") from None
        if self.version < 1:
            raise self.error("a 'version' of 1 or more")

    def error(self, expected: str) -> ZnodeDecodeError:
        """The error that says that this body should have held ``expected``."""
        return ZnodeDecodeError(self.path, self.content, expected)

    def has(self, key: str) -> bool:
        """Whether the field is there and not null."""
        return self._fields.get(key) is not None

    def integer(self, key: str) -> int:
        """A number, or a string of digits (Kafka writes timestamps and producer ids so)."""
        value = self._fields.get(key)
        if type(value) is int:  # far the most, and there are tens of thousands in a failover
            return value
        if isinstance(value, str):
            try:
                return int(value)
            except ValueError:
                value = None
        return int(self._checked(key, value, is_integer, "an integer"))

    def text(self, key: str) -> str:
        """A string."""
        return str(self._checked(key, self._fields.get(key), is_text, "a string"))

    def integers(self, key: str) -> tuple[int, ...]:
        """A list of numbers."""
        return tuple(self._checked(key, self._fields.get(key), are_integers, "a list of integers"))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        return tuple(self._checked(key, self._fields.get(key), are_texts, "a list of strings"))

    def objects(self, key: str) -> list[dict[str, Any]]:
        """A list of JSON objects."""
        return list(self._checked(key, self._fields.get(key), are_objects, "a list of objects"))

    def text_map(self, key: str) -> dict[str, str]:
        """An object whose values are strings."""
        return dict(self._checked(key, self._fields.get(key), is_text_map, "an object of strings"))

    def replicas_by_partition(self, key: str) -> dict[int, tuple[int, ...]]:
        """An object from partition numbers to lists of broker ids."""
        value = self._checked(
            key, self._fields.get(key), is_replica_map, "an object from partitions to broker ids"
        )
        return {int(partition): tuple(replicas) for partition, replicas in value.items()}

    def _checked(self, key: str, value: Any, valid: Callable[[Any], bool], expected: str) -> Any:
        if not valid(value):
            raise self.error(f"{expected} in field {key!r}")
        return value


def is_integer(value: Any) -> bool:
    """Whether this JSON value is a whole number (``true`` is none)."""
    return type(value) is int


def is_text(value: Any) -> bool:
    """Whether this JSON value is a string."""
    return isinstance(value, str)


def are_integers(value: Any) -> bool:
    """Whether this JSON value is a list of whole numbers."""
    return isinstance(value, list) and all(type(item) is int for item in value)


def are_texts(value: Any) -> bool:
    """Whether this JSON value is a list of strings."""
    return isinstance(value, list) and all(map(is_text, value))


def are_objects(value: Any) -> bool:
    """Whether this JSON value is a list of objects."""
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def is_text_map(value: Any) -> bool:
    """Whether this JSON value is an object whose values are strings."""
    return isinstance(value, dict) and all(map(is_text, value.values()))


def is_replica_map(value: Any) -> bool:
    """Whether this JSON value is an object from partition numbers to lists of whole numbers."""
    return (
        isinstance(value, dict)
        and all(map(str.isascii, value))
        and all(map(str.isdigit, value))
        and set(map(type, value.values())) <= {list}
        and set(map(type, chain.from_iterable(value.values()))) <= {int}
    )
