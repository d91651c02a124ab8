"""The guard that walks a request before kio decodes it.

kio's native reader allocates room for every announced array element before it reads one, so fifteen hostile
bytes abort the process; and it raises on unknown tagged fields, which the protocol says to skip (KIP-482).
The guard walks the bytes once by the request class's own field descriptions, building nothing. It refuses a
frame whose arrays or lengths do not fit into the bytes that are there, and gives back bytes without the
tagged fields that the class does not know. Bytes left over behind the entity are left alone, as Kafka does:
librdkafka's "all topics" in Metadata 9 and later is three bytes too long (librdkafka issue 5049).

The walk of a class is compiled into closures once; it costs a few microseconds for a small request, and a
records field is hopped over whatever its size.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import Field, dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, NamedTuple, cast, get_args, get_origin

from broker.wire.fields import SIZES, not_none
from cluster.rpc.framing import varint

MAX_ELEMENTS = 1_000_000
"""The most array elements one frame may hold, all arrays together: decoding them holds up the whole broker.
"""

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_MAX_VARINT_SHIFT = 28


class HostileFrameError(ValueError):
    """A frame that must not be decoded: what it announces does not fit into its bytes."""


class Edit(NamedTuple):
    """A stretch of the frame to replace before decoding."""

    start: int
    end: int
    replacement: bytes = b""

    @property
    def shrinks_by(self) -> int:
        """How many bytes shorter the frame becomes."""
        return self.end - self.start - len(self.replacement)


class _Walk:
    """What one walk has gathered so far."""

    __slots__ = ("edits", "elements")

    def __init__(self) -> None:
        self.edits: list[Edit] = []
        self.elements = 0


_Step = Callable[[memoryview, int, int, _Walk], int]
"""Takes the bytes, a position, the end of the entity's bytes and the walk; gives the position behind the
field.
"""


@dataclass(frozen=True, slots=True)
class _Shape:
    """How to walk one type.

    Attributes:
        step: Its walk.
        min_size: The fewest bytes it can take.
        is_fixed: Whether it always takes that many.
    """

    step: _Step
    min_size: int
    is_fixed: bool = False


def guard(entity: type[Any], frame: memoryview, start: int) -> tuple[memoryview, int]:
    """Walk ``frame`` from ``start`` as an entity of that class.

    Args:
        entity: A request or request header class of kio.
        frame: The whole frame, read-only.
        start: Where the entity begins.

    Returns:
        Bytes that kio may decode and where the entity begins in them: the frame itself, or a copy of the
        entity's bytes without its unknown tagged fields.

    Raises:
        HostileFrameError: A length, a count or a varint goes beyond what is there.
    """
    walk = _Walk()
    size = len(frame)
    try:
        end = _compiled(entity).step(frame, start, size, walk)
    except (IndexError, struct.error):
        raise HostileFrameError(f"{entity.__name__} runs past its frame of {size} bytes") from None
    if end > size:
        raise HostileFrameError(f"{entity.__name__} runs to byte {end} of a frame of {size} bytes")
    if not walk.edits:
        return frame, start
    return _edited(frame, start, walk.edits), 0


def _edited(frame: memoryview, start: int, edits: list[Edit]) -> memoryview:
    pieces: list[bytes | memoryview] = []
    for edit in sorted(edits):
        pieces += (frame[start : edit.start], edit.replacement)
        start = edit.end
    pieces.append(frame[start:])
    return memoryview(b"".join(pieces))


_COMPILED: dict[type[Any], _Shape] = {}


def _compiled(entity: type[Any]) -> _Shape:
    """The walk of a class, compiled when it is first asked for."""
    shape = _COMPILED.get(entity)
    if shape is None:
        shape = _COMPILED[entity] = _compile(entity)
    return shape


def _compile(entity: type[Any]) -> _Shape:
    """The walk of a whole entity: its fields in order, then, in a flexible version, its tagged fields."""
    steps: list[_Step] = []
    tagged: dict[int, _Step] = {}
    min_size = fixed = 0
    for field in fields(entity):
        tag = field.metadata.get("tag")
        if tag is not None:
            tagged[tag] = _field(entity, field, nullable=False).step
            continue
        size = _fixed_size(field)
        if size:
            fixed += size
            min_size += size
            continue
        if fixed:
            steps.append(_skip(fixed))
            fixed = 0
        shape = _field(entity, field, nullable=_is_nullable(field.type))
        steps.append(shape.step)
        min_size += shape.min_size
    if fixed:
        steps.append(_skip(fixed))
    if entity.__flexible__:
        steps.append(_tags(entity.__name__, tagged))
        min_size += 1
    is_fixed = min_size > 0 and fixed == min_size
    return _Shape(steps[0] if len(steps) == 1 else _sequence(tuple(steps)), min_size, is_fixed)


def _fixed_size(field: Field[Any]) -> int:
    """The bytes of a field that always takes the same number of them, else 0."""
    if get_origin(not_none(field.type)) is tuple:
        return 0
    return SIZES.get(field.metadata.get("kafka_type", ""), 0)


def _field(entity: type[Any], field: Field[Any], *, nullable: bool) -> _Shape:
    """The walk of one field that is not tagged, or of a tagged field's value."""
    # A request header keeps the old form of the client id in every version (RequestHeader.json says why).
    flexible = entity.__flexible__ and not (entity.__name__ == "RequestHeader" and field.name == "client_id")
    kind = not_none(field.type)
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        shape = (
            _compiled(cast("type[Any]", item)) if is_dataclass(item) else _primitive(field, flexible=flexible)
        )
        least = -1 if _is_nullable(field.type) else 0
        step = _array(f"{entity.__name__}.{field.name}", shape, least, flexible=flexible)
        return _Shape(step, 1 if flexible else 4)
    if is_dataclass(kind):
        shape = _compiled(cast("type[Any]", kind))
        return _Shape(_nullable(shape.step), 1) if nullable else shape
    return _primitive(field, flexible=flexible)


def _primitive(field: Field[Any], *, flexible: bool) -> _Shape:
    kind = field.metadata["kafka_type"]
    if kind in SIZES:
        return _Shape(_skip(SIZES[kind]), SIZES[kind], is_fixed=True)
    if kind not in {"string", "bytes", "records"}:
        raise TypeError(f"field {field.name} has the kafka_type {kind!r}; the guard knows no such type")
    if flexible:
        return _Shape(_compact_length, 1)
    return _Shape(_string, 2) if kind == "string" else _Shape(_bytes, 4)


def _is_nullable(kind: Any) -> bool:
    return get_origin(kind) is UnionType and NoneType in get_args(kind)


def _skip(size: int) -> _Step:
    def skip(_frame: memoryview, at: int, _end: int, _walk: _Walk) -> int:
        return at + size

    return skip


def _sequence(steps: tuple[_Step, ...]) -> _Step:
    def sequence(frame: memoryview, at: int, end: int, walk: _Walk) -> int:
        for step in steps:
            at = step(frame, at, end, walk)
        return at

    return sequence


def _string(frame: memoryview, at: int, _end: int, _walk: _Walk) -> int:
    length: int = _INT16.unpack_from(frame, at)[0]
    if length < -1:
        raise HostileFrameError(f"string length {length} at byte {at}; expected -1 or more")
    return at + 2 + max(length, 0)


def _bytes(frame: memoryview, at: int, _end: int, _walk: _Walk) -> int:
    length: int = _INT32.unpack_from(frame, at)[0]
    if length < -1:
        raise HostileFrameError(f"bytes length {length} at byte {at}; expected -1 or more")
    return at + 4 + max(length, 0)


def _compact_length(frame: memoryview, at: int, _end: int, _walk: _Walk) -> int:
    length, at = _varint(frame, at)
    return at + length - 1 if length else at


def _varint(frame: memoryview, at: int) -> tuple[int, int]:
    """An unsigned varint of at most five bytes, and the position behind it."""
    byte = frame[at]
    if byte < 0x80:
        return byte, at + 1
    value, shift, start = byte & 0x7F, 7, at
    while True:
        at += 1
        byte = frame[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7
        if shift > _MAX_VARINT_SHIFT:
            raise HostileFrameError(f"varint of more than 5 bytes at byte {start}")


def _array(name: str, item: _Shape, least: int, *, flexible: bool) -> _Step:
    """An array of at least ``least`` elements: -1, which means null, or 0 where kio's type has no None."""
    step, min_size, is_fixed = item.step, item.min_size, item.is_fixed

    def array(frame: memoryview, at: int, end: int, walk: _Walk) -> int:
        if flexible:
            count, at = _varint(frame, at)
            count -= 1
        else:
            (count,) = _INT32.unpack_from(frame, at)
            at += 4
        if count <= 0:
            if count < least:
                raise HostileFrameError(f"{name} announces {count} elements; expected {least} or more")
            return at
        if count * min_size > end - at:
            raise HostileFrameError(
                f"{name} announces {count} elements of {min_size} bytes or more, "
                f"but {max(0, end - at)} bytes are left"
            )
        walk.elements += count
        if walk.elements > MAX_ELEMENTS:
            raise HostileFrameError(
                f"{name} brings the frame to {walk.elements} elements; expected {MAX_ELEMENTS} at most"
            )
        if is_fixed:
            return at + count * min_size
        for _ in range(count):
            at = step(frame, at, end, walk)
        return at

    return array


def _nullable(step: _Step) -> _Step:
    """A struct behind a marker byte: -1 for null (KIP-893)."""

    def nullable(frame: memoryview, at: int, end: int, walk: _Walk) -> int:
        return at + 1 if frame[at] == 0xFF else step(frame, at + 1, end, walk)

    return nullable


def _tags(name: str, known: dict[int, _Step]) -> _Step:
    """The tagged fields: the known ones are walked, the unknown ones taken out and the count lowered."""

    def tags(frame: memoryview, at: int, end: int, walk: _Walk) -> int:
        count, behind_count = _varint(frame, at)
        if not count:
            return behind_count
        if 2 * count > end - behind_count:
            raise HostileFrameError(
                f"{name} announces {count} tagged fields; {end - behind_count} bytes are left"
            )
        counted_at, at, kept = at, behind_count, 0
        for _ in range(count):
            tag_at = at
            tag, size_at = _varint(frame, at)
            size, value_at = _varint(frame, size_at)
            at = value_at + size
            if at > end:
                raise HostileFrameError(
                    f"tagged field {tag} of {name} runs to byte {at}; {end} bytes are there"
                )
            step = known.get(tag)
            if step is None:
                walk.edits.append(Edit(tag_at, at))
                continue
            kept += 1
            edits_before = len(walk.edits)
            stopped_at = step(frame, value_at, at, walk)
            if stopped_at != at:
                raise HostileFrameError(
                    f"tagged field {tag} of {name} ends at byte {stopped_at}; its size says {at}"
                )
            shrunk_by = sum(edit.shrinks_by for edit in walk.edits[edits_before:])
            if shrunk_by:
                walk.edits.append(Edit(size_at, value_at, varint(size - shrunk_by)))
        if kept < count:
            walk.edits.append(Edit(counted_at, behind_count, varint(kept)))
        return at

    return tags
