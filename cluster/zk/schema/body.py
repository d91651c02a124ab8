"""The reader of a znode's JSON, whose errors name the path, the content and what was expected."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, NoReturn

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
_INT32_DIGITS = 10


_SENSITIVE = ("/config/users/", "/config/brokers/")
"""The znodes that may hold credentials (``ZkData.SensitiveRootPaths``)."""


class ZnodeDecodeError(ValueError):
    """An error for a znode with unexpected content.

    Attributes:
        path: The znode, without the chroot.
        content: The actual content.
        expected: A description of the expected content.
    """

    def __init__(self, path: str, content: bytes, expected: str) -> None:
        shown = "content that is not shown" if path.startswith(_SENSITIVE) else repr(content[:200])
        super().__init__(f"{path} holds {shown}, expected {expected}")
        self.path = path
        self.content = content
        self.expected = expected


def encode_json(fields: Mapping[str, Any]) -> bytes:
    """Encode a body as Kafka writes it: JSON without spaces, in UTF-8."""
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()


class Body:
    """A JSON object in a znode, whose fields are read by name and type.

    Anybody may write a znode. For any content, every method raises ``ZnodeDecodeError`` and nothing else if
    the field is missing, of another type, or outside the range of Kafka's type.

    Attributes:
        path: The path of the znode, for errors.
        content: The bytes, for errors.
        version: The field ``version``, 1 or more (a string in ``/cluster/id``).
    """

    def __init__(self, path: str, content: bytes) -> None:
        self.path = path
        self.content = content
        try:
            fields = _DECODER.decode(content.decode())
        except (ValueError, RecursionError):
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
        """Return the error for a body that should have contained ``expected``."""
        return ZnodeDecodeError(self.path, self.content, expected)

    def has(self, key: str) -> bool:
        """Return whether the field exists and is not null."""
        return self._fields.get(key) is not None

    def integer(self, key: str) -> int:
        """Read a number of 64 bits, or a string of its digits (Kafka's timestamps and producer ids)."""
        return self._number(key, -INT64_MAX - 1, INT64_MAX, "an integer")

    def int32(self, key: str, least: int = 0, most: int = INT32_MAX) -> int:
        """Read an id, epoch or port: a number from ``least`` to ``most``, or a string of its digits."""
        return self._number(key, least, most, f"an integer from {least} to {most}")

    def text(self, key: str) -> str:
        """Read a string."""
        return str(self._checked(key, self._fields.get(key), is_text, "a string"))

    def broker_ids(self, key: str) -> tuple[int, ...]:
        """Read a list of broker ids."""
        return tuple(self._checked(key, self._fields.get(key), are_broker_ids, "a list of broker ids"))

    def texts(self, key: str) -> tuple[str, ...]:
        """Read a list of strings."""
        return tuple(self._checked(key, self._fields.get(key), are_texts, "a list of strings"))

    def objects(self, key: str) -> list[dict[str, Any]]:
        """Read a list of JSON objects."""
        return list(self._checked(key, self._fields.get(key), are_objects, "a list of objects"))

    def text_map(self, key: str) -> dict[str, str]:
        """Read an object whose values are strings."""
        return dict(self._checked(key, self._fields.get(key), is_text_map, "an object of strings"))

    def int64s_by_id(self, key: str) -> dict[int, int]:
        """Read an object from broker ids to numbers of 64 bits that are not negative."""
        value = self._checked(
            key, self._fields.get(key), is_int64_map, "an object from broker ids to numbers"
        )
        return {int(broker): number for broker, number in value.items()}

    def replicas_by_partition(self, key: str) -> dict[int, tuple[int, ...]]:
        """Read an object from partition numbers to lists of broker ids."""
        value = self._checked(
            key, self._fields.get(key), is_replica_map, "an object from partitions to broker ids"
        )
        return {int(partition): tuple(replicas) for partition, replicas in value.items()}

    def _number(self, key: str, least: int, most: int, expected: str) -> int:
        value = self._fields.get(key)
        if isinstance(value, str):
            try:
                value = int(value)
            except ValueError:
                value = None
        # In Python ``True`` is an int; in Kafka it is not.
        if type(value) is int and least <= value <= most:
            return value
        raise self.error(f"{expected} in field {key!r}")

    def _checked(self, key: str, value: Any, valid: Callable[[Any], bool], expected: str) -> Any:
        if not valid(value):
            raise self.error(f"{expected} in field {key!r}")
        return value


def int32_of(digits: str) -> int | None:
    """Parse a znode's name as a number of 32 bits that is not negative; return None for any other name."""
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _INT32_DIGITS):
        return None
    number = int(digits)
    return number if number <= INT32_MAX else None


def is_id(value: Any) -> bool:
    """Return whether a JSON value is the id of a partition or broker: 32 bits, not negative."""
    return type(value) is int and 0 <= value <= INT32_MAX


def is_text(value: Any) -> bool:
    """Return whether a JSON value is a string that UTF-8 can encode, without half a surrogate pair."""
    return isinstance(value, str) and (value.isascii() or _is_unicode(value))


def are_broker_ids(value: Any) -> bool:
    """Return whether a JSON value is a list of broker ids."""
    return isinstance(value, list) and all(map(is_id, value))


def are_texts(value: Any) -> bool:
    """Return whether a JSON value is a list of strings."""
    return isinstance(value, list) and all(map(is_text, value))


def are_objects(value: Any) -> bool:
    """Return whether a JSON value is a list of objects."""
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def is_text_map(value: Any) -> bool:
    """Return whether a JSON value is an object whose values are strings."""
    return isinstance(value, dict) and all(map(is_text, value)) and all(map(is_text, value.values()))


def is_int64_map(value: Any) -> bool:
    """Return whether a JSON value is an object from broker ids to numbers of 64 bits, not negative."""
    return (
        isinstance(value, dict)
        and all(int32_of(broker) is not None for broker in value)
        and all(type(number) is int and 0 <= number <= INT64_MAX for number in value.values())
    )


def is_replica_map(value: Any) -> bool:
    """Return whether a JSON value is an object from partition numbers to lists of broker ids."""
    if not (
        isinstance(value, dict)
        and all(map(str.isascii, value))
        and all(map(str.isdigit, value))
        and max(map(len, value), default=0) <= _INT32_DIGITS
        and max(map(int, value), default=0) <= INT32_MAX
        and set(map(type, value.values())) <= {list}
    ):
        return False
    # Check types before values, because a set cannot hold lists, and treats ``True`` as 1.
    return set(map(type, chain.from_iterable(value.values()))) <= {int} and all(
        # Many partitions name the same broker, so check each distinct id once.
        map(is_id, set(chain.from_iterable(value.values())))
    )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _finite(literal: str) -> float:
    number = float(literal)
    if math.isfinite(number):
        return number
    raise ValueError(f"{literal} is more than a number can be")


def _no_constant(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is no JSON")


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant)
"""A strict JSON decoder; Python's default accepts ``Infinity``, ``NaN`` and ``1e999`` as numbers."""
