"""Entities of kio as bytes, the same that kio writes.

kio packs field by field, checks every length as a type of its own and opens a stream for the tagged fields of
each entity: of a small answer that was as much work as the append it answers. Here the writer of a class is
compiled once from the class's own field descriptions, as the guard's walk is: fields of fixed size that stand
in a row are packed at once. An entity that has tagged fields is left to kio itself.
"""

from __future__ import annotations

import datetime as dt
import io
import struct
from collections.abc import Callable, Sequence
from dataclasses import Field, fields, is_dataclass
from operator import attrgetter
from typing import Any, Protocol, cast, get_args, get_origin

from kio.serial import entity_writer

from barnabas.broker.wire.fields import FORMATS, MAX_STRING_BYTES, not_none
from barnabas.cluster.rpc.framing import varint


class TransferableRecords(Protocol):
    """Records that lie in a file and go from there to the socket (``TransferableRecords.java``)."""

    def __len__(self) -> int:
        """Their bytes, 1 or more."""
        ...

    def write_to(self, socket: int, position: int, size: int) -> int:
        """Send at most ``size`` of their bytes from ``position`` on to a socket that does not block.

        Returns:
            How many the socket took, 0 where it is full.

        Raises:
            OSError: The socket is gone, or they cannot be read any more.
        """
        ...

    def read(self, position: int, size: int) -> bytes:
        """Exactly ``size`` of their bytes from ``position`` on.

        Raises:
            OSError: They cannot be read any more.
        """
        ...


Piece = bytes | bytearray | memoryview | TransferableRecords

Write = Callable[[list[Piece], Any], None]
"""Adds the bytes of a value to those that are there."""

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")


def _milliseconds(time: dt.datetime | int | None) -> int:
    """A time as the wire has it; clients make up numbers that no datetime of Python can hold."""
    if time is None:
        return -1
    return time if isinstance(time, int) else round(time.timestamp() * 1000)


_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "timedelta_i32": lambda duration: round(duration.total_seconds() * 1000),
    "timedelta_i64": lambda duration: round(duration.total_seconds() * 1000),
    "datetime_i64": _milliseconds,
    "uuid": lambda uuid: bytes(16) if uuid is None else uuid.bytes,
}
"""What of a value is packed, where that is not the value itself."""

_WRITERS: dict[type[Any], Write] = {}


def writer(entity: type[Any]) -> Write:
    """How to write an entity of that class; compiled when it is first asked for."""
    write = _WRITERS.get(entity)
    if write is None:
        write = _WRITERS[entity] = _compile(entity)
    return write


def _compile(entity: type[Any]) -> Write:
    """The fields in their order, and in a flexible version that there are no tagged ones."""
    if any("tag" in field.metadata for field in fields(entity)):
        return _by_kio(entity)
    steps: list[Write] = []
    row: list[Field[Any]] = []
    for field in fields(entity):
        if _is_fixed(field):
            row.append(field)
            continue
        if row:
            steps.append(_packed(row))
            row = []
        steps.append(field_writer(field, flexible=entity.__flexible__))
    if row:
        steps.append(_packed(row))
    if entity.__flexible__:
        steps.append(_no_tagged_fields)
    return steps[0] if len(steps) == 1 else _sequence(tuple(steps))


def field_writer(field: Field[Any], *, flexible: bool) -> Write:
    """How to write one field, which is not tagged, of an entity."""
    if _is_fixed(field):
        return _packed([field])
    return _of_field(attrgetter(field.name), _variable(field, flexible=flexible))


def _is_fixed(field: Field[Any]) -> bool:
    return field.metadata.get("kafka_type") in FORMATS and get_origin(not_none(field.type)) is not tuple


def tags_writer(entity: type[Any]) -> Write:
    """How to end an entity that has no tagged fields."""
    return _no_tagged_fields if entity.__flexible__ else _sequence(())


def array_size(*, flexible: bool) -> Callable[[int], bytes]:
    """The bytes in front of an array of so many elements; -1 is null."""
    return _compact_size if flexible else _INT32.pack


class _Stream:
    """What kio takes for a stream, of which it uses ``write`` alone."""

    __slots__ = ("write",)

    def __init__(self, pieces: list[Piece]) -> None:
        self.write = pieces.append


def _by_kio(entity: type[Any]) -> Write:
    write_entity = entity_writer(entity)

    def write(pieces: list[Piece], value: Any) -> None:
        write_entity(cast("io.BytesIO", _Stream(pieces)), value)

    return write


def _packed(row: Sequence[Field[Any]]) -> Write:
    """Fields of fixed size that follow each other."""
    kinds = [field.metadata["kafka_type"] for field in row]
    pack = struct.Struct(">" + "".join(FORMATS[kind] for kind in kinds)).pack
    get = attrgetter(*(field.name for field in row))
    numbers = [(at, _NUMBERS[kind]) for at, kind in enumerate(kinds) if kind in _NUMBERS]
    if len(row) == 1:
        number = numbers[0][1] if numbers else None

        def write_one(pieces: list[Piece], entity: Any) -> None:
            value = get(entity)
            pieces.append(pack(value if number is None else number(value)))

        return write_one

    def write_row(pieces: list[Piece], entity: Any) -> None:
        values: Sequence[Any] = get(entity)
        if numbers:
            packable = list(values)
            for at, number in numbers:
                packable[at] = number(packable[at])
            values = packable
        pieces.append(pack(*values))

    return write_row


def _of_field(get: Callable[[Any], Any], write_value: Write) -> Write:
    def write(pieces: list[Piece], entity: Any) -> None:
        write_value(pieces, get(entity))

    return write


def _sequence(steps: tuple[Write, ...]) -> Write:
    def write(pieces: list[Piece], entity: Any) -> None:
        for step in steps:
            step(pieces, entity)

    return write


def _no_tagged_fields(pieces: list[Piece], _entity: Any) -> None:
    pieces.append(b"\0")


def _variable(field: Field[Any], *, flexible: bool) -> Write:
    """The writer of a field whose size is not fixed."""
    kind = not_none(field.type)
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        write_item = (
            writer(cast("type[Any]", item)) if is_dataclass(item) else _item(field, flexible=flexible)
        )
        return _array(_compact_size if flexible else _INT32.pack, write_item)
    if is_dataclass(kind):
        write_entity = writer(cast("type[Any]", kind))
        return _nullable(write_entity) if kind is not field.type else write_entity
    return _item(field, flexible=flexible)


def _item(field: Field[Any], *, flexible: bool) -> Write:
    """The writer of a primitive value, such as the items of an array are."""
    kind = field.metadata["kafka_type"]
    if kind in FORMATS:
        pack, number = struct.Struct(">" + FORMATS[kind]).pack, _NUMBERS.get(kind)

        def write(pieces: list[Piece], value: Any) -> None:
            pieces.append(pack(value if number is None else number(value)))

        return write
    if kind not in {"string", "bytes", "records"}:
        raise TypeError(f"field {field.name} has the kafka_type {kind!r}, of which no writer is known")
    size = _compact_size if flexible else _INT16.pack if kind == "string" else _INT32.pack
    bare = not_none(field.type)
    is_nullable = bare is not field.type and get_origin(bare) is not tuple
    return _bytes(field.name, size, is_nullable=is_nullable)


def _cut(message: bytes) -> bytes:
    """As much of an error message as a string may hold: it may repeat what it refuses."""
    left = f"... ({len(message)} bytes)".encode()
    kept = message[: MAX_STRING_BYTES - len(left)].decode(errors="ignore").encode()
    return kept + left


def _bytes(name: str, size: Callable[[int], bytes], *, is_nullable: bool) -> Write:
    is_message = name == "error_message"

    def write(pieces: list[Piece], value: Any) -> None:
        if value is None:
            if not is_nullable:
                raise TypeError(f"{name} is None; expected a string or bytes")
            pieces.append(size(-1))
            return
        encoded = value.encode() if isinstance(value, str) else value
        if is_message and len(encoded) > MAX_STRING_BYTES:
            encoded = _cut(encoded)
        pieces += (size(len(encoded)), encoded)

    return write


def _array(size: Callable[[int], bytes], write_item: Write) -> Write:
    def write(pieces: list[Piece], items: Any) -> None:
        if items is None:
            pieces.append(size(-1))
            return
        pieces.append(size(len(items)))
        for item in items:
            write_item(pieces, item)

    return write


def _nullable(write_entity: Write) -> Write:
    """A struct behind a marker byte: -1 for null (KIP-893)."""

    def write(pieces: list[Piece], entity: Any) -> None:
        if entity is None:
            pieces.append(b"\xff")
            return
        pieces.append(b"\x01")
        write_entity(pieces, entity)

    return write


def _compact_size(size: int) -> bytes:
    """An unsigned varint that is one larger than the size, so that 0 stands for null (KIP-482)."""
    return varint(size + 1)
