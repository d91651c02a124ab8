"""Responses as bytes: kio writes each field, into a list of pieces, at once or in steps.

A long response is written in steps because 100,000 elements take a good part of a second, in which nobody
else would be served (docs/decisions/0008).
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from fractions import Fraction
from functools import cache
from operator import attrgetter
from typing import Any, Protocol, cast, get_args, get_origin

from kio.serial import entity_writer
from kio.serial._serialize import get_field_writer
from kio.serial.writers import (
    write_compact_array_length,
    write_empty_tagged_fields,
    write_legacy_array_length,
)
from kio.static.primitive import i32

from barnabas.broker.wire.fields import MAX_STRING_BYTES, not_none
from barnabas.broker.wire.pieces import ELEMENTS_PER_STEP, Steps


class TransferableRecords(Protocol):
    """Records that stay in their file until they are sent to the socket (``TransferableRecords.java``)."""

    def __len__(self) -> int:
        """Return the number of bytes, 1 or more."""
        ...

    def write_to(self, socket: int, position: int, size: int) -> int:
        """Send at most ``size`` of their bytes from ``position`` on to a non-blocking socket.

        Returns:
            The number of bytes that the socket took, 0 if it is full.

        Raises:
            OSError: The connection is closed, or the records cannot be read any more.
        """
        ...

    def read(self, position: int, size: int) -> bytes:
        """Read exactly ``size`` of their bytes from ``position`` on.

        Raises:
            OSError: The records cannot be read any more.
        """
        ...


Piece = bytes | bytearray | memoryview | TransferableRecords


class Timestamp(int):
    """A time in milliseconds since 1970 as a value of a response.

    kio expects a ``datetime``, of which it uses ``timestamp`` alone. Clients send times that no ``datetime``
    can hold, and the answer to a duplicate batch returns them.
    """

    def timestamp(self) -> Fraction:
        """Return the time in seconds, exactly."""
        return Fraction(self, 1000)


def cut_message(message: str) -> str:
    """Return the part of an error message that fits into a string; it may repeat what it refuses."""
    encoded = message.encode()
    if len(encoded) <= MAX_STRING_BYTES:
        return message
    left = f"... ({len(encoded)} bytes)"
    return encoded[: MAX_STRING_BYTES - len(left)].decode(errors="ignore") + left


class _Stream:
    """The part of a binary stream that kio uses. It keeps long values as they are, without a copy."""

    __slots__ = ("write",)

    def __init__(self, pieces: list[Piece]) -> None:
        self.write = pieces.append


_Write = Callable[[Any, Any], None]
"""The type of kio's writers: functions that take a stream and a value."""

_WriteInSteps = Callable[["_Stream", Any, "_Count"], Steps[None]]


class _Count:
    """Counts the elements that were written since the last step."""

    __slots__ = ("since",)

    def __init__(self) -> None:
        self.since = 0

    def is_step(self, elements: int = 1) -> bool:
        """Count elements; return whether they complete a step."""
        self.since += elements
        if self.since < ELEMENTS_PER_STEP:
            return False
        self.since = 0
        return True


def write(pieces: list[Piece], entity: Any) -> None:
    """Append the bytes of ``entity`` to ``pieces``."""
    entity_writer(type(entity))(cast("io.BytesIO", _Stream(pieces)), entity)


def write_in_steps(pieces: list[Piece], entity: Any) -> Steps[None]:
    """Append the bytes of ``entity`` to ``pieces``, which the caller may empty between two steps."""
    kind: Any = type(entity)
    if _can_be_cut(kind):
        yield from _in_steps(kind)(_Stream(pieces), entity, _Count())
    else:
        write(pieces, entity)


@cache
def _in_steps(entity: type[Any]) -> _WriteInSteps:
    """Make the writer of a class with arrays of structs. It writes these element by element."""
    is_flexible = entity.__flexible__
    parts = [
        (
            attrgetter(field.name),
            get_field_writer(field, is_flexible, is_request_header=False, is_tag=False),
            _array(field, is_flexible=is_flexible) if _is_array_of_structs(field) else None,
        )
        for field in fields(entity)
    ]

    def write_entity(stream: _Stream, value: Any, count: _Count) -> Steps[None]:
        for get, write_field, write_array in parts:
            if write_array is None:
                write_field(cast("io.BytesIO", stream), get(value))
            else:
                yield from write_array(stream, get(value), count)
        if is_flexible:
            write_empty_tagged_fields(cast("io.BytesIO", stream))

    return write_entity


def _array(field: Field[Any], *, is_flexible: bool) -> _WriteInSteps:
    item: Any = get_args(not_none(field.type))[0]
    write_length: _Write = write_compact_array_length if is_flexible else write_legacy_array_length
    write_item: _Write = entity_writer(item)
    in_steps = _in_steps(item) if _can_be_cut(item) else None
    # A value that is written in one go counts with all values in it.
    nested = [
        attrgetter(each.name) for each in fields(item) if in_steps is None and _is_array_of_structs(each)
    ]

    def write_array(stream: _Stream, items: Any, count: _Count) -> Steps[None]:
        write_length(stream, cast("i32", -1 if items is None else len(items)))
        for each in items or ():
            if in_steps is None:
                write_item(stream, each)
            else:
                yield from in_steps(stream, each, count)
            if count.is_step(1 + sum(len(get(each) or ()) for get in nested)):
                yield

    return write_array


def _is_array_of_structs(field: Field[Any]) -> bool:
    kind = not_none(field.type)
    return get_origin(kind) is tuple and is_dataclass(get_args(kind)[0])


@cache
def _can_be_cut(entity: type[Any]) -> bool:
    """Return whether an entity can be written in steps: it has an array of structs, and no tagged fields."""
    has_tags = any("tag" in field.metadata for field in fields(entity))
    return not has_tags and any(map(_is_array_of_structs, fields(entity)))
