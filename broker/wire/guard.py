"""The guard that checks a request before kio decodes it.

kio's native reader allocates memory for every announced array element before it reads one, so fifteen hostile
bytes abort the process; and it raises on unknown tagged fields, which must be skipped (KIP-482). The guard
walks the bytes once by the field descriptions of the request class, building nothing. It refuses a frame
whose arrays or lengths do not fit into its bytes, and returns bytes without the tagged fields that the class
does not know. Bytes after the entity are ignored, as in Kafka: librdkafka's "all topics" in Metadata 9 and
later is three bytes too long (librdkafka issue 5049).

The walk of a class is compiled into closures once. It costs a few microseconds for a small request, and skips
a records field whatever its size.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from dataclasses import Field, dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, NamedTuple, cast, get_args, get_origin

from kio.serial.writers import write_unsigned_varint
from kio.static.primitive import uvarint

from barnabas.broker.wire.fields import MAX_STRING_BYTES, SIZES, not_none

MAX_ELEMENTS = 250_000
"""The most array elements and tagged fields of one frame, all together.

Decoding takes 1 to 2 microseconds for each and blocks the whole broker. Kafka has no such limit; its
recommendation, 4,000 partitions a broker and 200,000 a cluster, lies below it.
"""

MAX_TAGGED_FIELDS = 1_000
"""The most tagged fields of one struct, known or not.

They are walked without a pause: 100,000 would block the broker for 50 ms. KIP-482 has no limit; no request of
release 2.8 has more than one.
"""

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_MAX_VARINT_SHIFT = 28


class HostileFrameError(ValueError):
    """An error of a frame that must not be decoded: its lengths or counts do not fit into its bytes."""


class Edit(NamedTuple):
    """A range of the frame to replace before decoding."""

    start: int
    end: int
    replacement: bytes = b""

    @property
    def shrinks_by(self) -> int:
        """The bytes by which the frame becomes shorter."""
        return self.end - self.start - len(self.replacement)


class Walk:
    """The state of one walk."""

    __slots__ = ("count", "edits", "elements", "limit")

    def __init__(self, limit: int) -> None:
        self.edits: list[Edit] = []
        self.elements = 0
        self.limit = limit
        self.count = 0

    def add(self, name: str, elements: int) -> None:
        """Count elements of the array ``name``.

        Raises:
            HostileFrameError: The total exceeds the limit.
        """
        self.elements += elements
        if self.elements > self.limit:
            raise HostileFrameError(
                f"{name} brings the frame to {self.elements} elements; expected {self.limit} at most"
            )


Step = Callable[[memoryview, int, int, Walk], int]
"""A step over one field.

It takes the bytes, a position, the end of the entity and the walk, and returns the next position.
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """The walk of one type.

    Attributes:
        step: The function that walks it.
        min_size: The fewest bytes it can take.
        is_fixed: Whether it always takes that many.
    """

    step: Step
    min_size: int
    is_fixed: bool = False


def guard(entity: type[Any], frame: memoryview, start: int) -> tuple[memoryview, int]:
    """Walk ``frame`` from ``start`` as an entity of that class.

    Args:
        entity: A request or request header class of kio.
        frame: The whole frame, read-only.
        start: The start of the entity.

    Returns:
        Bytes that kio may decode, and the start of the entity in them: the frame itself, or a copy of the
        entity's bytes without its unknown tagged fields.

    Raises:
        HostileFrameError: A length, a count or a varint exceeds the frame.
    """
    walk = Walk(MAX_ELEMENTS)
    size = len(frame)
    try:
        end = shape_of(entity).step(frame, start, size, walk)
    except (IndexError, struct.error):
        raise HostileFrameError(f"{entity.__name__} runs past its frame of {size} bytes") from None
    if end > size:
        raise HostileFrameError(f"{entity.__name__} runs to byte {end} of a frame of {size} bytes")
    if not walk.edits:
        return frame, start
    return edited(frame, start, walk.edits), 0


def edited(frame: memoryview, start: int, edits: list[Edit]) -> memoryview:
    """Return the bytes of ``frame`` from ``start`` on, with these edits."""
    pieces: list[bytes | memoryview] = []
    for edit in sorted(edits):
        pieces += (frame[start : edit.start], edit.replacement)
        start = edit.end
    pieces.append(frame[start:])
    return memoryview(b"".join(pieces))


_COMPILED: dict[type[Any], Shape] = {}


def shape_of(entity: type[Any]) -> Shape:
    """Return the walk of a class, compiled at the first call."""
    shape = _COMPILED.get(entity)
    if shape is None:
        shape = _COMPILED[entity] = _compile(entity)
    return shape


def _compile(entity: type[Any]) -> Shape:
    """Compile the walk of an entity: its fields in order, then, in a flexible version, its tagged fields."""
    steps: list[Step] = []
    tagged: dict[int, Step] = {}
    min_size = fixed = 0
    for field in fields(entity):
        tag = field.metadata.get("tag")
        if tag is not None:
            tagged[tag] = shape_of_field(entity, field, nullable=False).step
            continue
        size = _fixed_size(field)
        if size:
            fixed += size
            min_size += size
            continue
        if fixed:
            steps.append(_skip(fixed))
            fixed = 0
        shape = shape_of_field(entity, field, nullable=is_nullable(field.type))
        steps.append(shape.step)
        min_size += shape.min_size
    if fixed:
        steps.append(_skip(fixed))
    if entity.__flexible__:
        steps.append(_tags(entity.__name__, tagged))
        min_size += 1
    is_fixed = min_size > 0 and fixed == min_size
    return Shape(steps[0] if len(steps) == 1 else _sequence(tuple(steps)), min_size, is_fixed)


def shape_of_tags(entity: type[Any]) -> Shape:
    """Return the walk of the tagged fields at the end of an entity of a flexible version."""
    known = {
        field.metadata["tag"]: shape_of_field(entity, field, nullable=False).step
        for field in fields(entity)
        if "tag" in field.metadata
    }
    return Shape(_tags(entity.__name__, known), 1)


def _fixed_size(field: Field[Any]) -> int:
    """Return the size in bytes of a field of fixed size, else 0."""
    if get_origin(not_none(field.type)) is tuple:
        return 0
    return SIZES.get(field.metadata.get("kafka_type", ""), 0)


def shape_of_field(entity: type[Any], field: Field[Any], *, nullable: bool) -> Shape:
    """Return the walk of one field that is not tagged, or of a tagged field's value."""
    # A request header keeps the old form of the client id in every version (see RequestHeader.json).
    flexible = entity.__flexible__ and not (entity.__name__ == "RequestHeader" and field.name == "client_id")
    kind = not_none(field.type)
    if get_origin(kind) is tuple:
        shape = shape_of_item(entity, field)
        least = -1 if is_nullable(field.type) else 0
        step = _array(f"{entity.__name__}.{field.name}", shape, least, flexible=flexible)
        return Shape(step, 1 if flexible else 4)
    if is_dataclass(kind):
        shape = shape_of(cast("type[Any]", kind))
        return Shape(_nullable(shape.step), 1) if nullable else shape
    return _primitive(field, flexible=flexible)


def shape_of_item(entity: type[Any], field: Field[Any]) -> Shape:
    """Return the walk of one element of an array."""
    item = get_args(not_none(field.type))[0]
    if is_dataclass(item):
        return shape_of(cast("type[Any]", item))
    return _primitive(field, flexible=entity.__flexible__)


def _primitive(field: Field[Any], *, flexible: bool) -> Shape:
    kind = field.metadata["kafka_type"]
    if kind in SIZES:
        return Shape(_skip(SIZES[kind]), SIZES[kind], is_fixed=True)
    if kind not in {"string", "bytes", "records"}:
        raise TypeError(f"field {field.name} has the kafka_type {kind!r}; the guard knows no such type")
    if flexible:
        return Shape(_compact_string if kind == "string" else _compact_length, 1)
    return Shape(_string, 2) if kind == "string" else Shape(_bytes, 4)


def is_nullable(kind: Any) -> bool:
    """Return whether a field's type allows None."""
    return get_origin(kind) is UnionType and NoneType in get_args(kind)


def _skip(size: int) -> Step:
    def skip(_frame: memoryview, at: int, _end: int, _walk: Walk) -> int:
        return at + size

    return skip


def _sequence(steps: tuple[Step, ...]) -> Step:
    def sequence(frame: memoryview, at: int, end: int, walk: Walk) -> int:
        for step in steps:
            at = step(frame, at, end, walk)
        return at

    return sequence


def _string(frame: memoryview, at: int, _end: int, _walk: Walk) -> int:
    length: int = _INT16.unpack_from(frame, at)[0]
    if length < -1:
        raise HostileFrameError(f"string length {length} at byte {at}; expected -1 or more")
    return at + 2 + max(length, 0)


def _bytes(frame: memoryview, at: int, _end: int, _walk: Walk) -> int:
    length: int = _INT32.unpack_from(frame, at)[0]
    if length < -1:
        raise HostileFrameError(f"bytes length {length} at byte {at}; expected -1 or more")
    return at + 4 + max(length, 0)


def _compact_string(frame: memoryview, at: int, _end: int, _walk: Walk) -> int:
    length, behind = read_varint(frame, at)
    if length > MAX_STRING_BYTES + 1:
        raise HostileFrameError(
            f"string length {length - 1} at byte {at}; expected {MAX_STRING_BYTES} bytes at most"
        )
    return behind + length - 1 if length else behind


def _compact_length(frame: memoryview, at: int, _end: int, _walk: Walk) -> int:
    length, at = read_varint(frame, at)
    return at + length - 1 if length else at


def _varint(number: int) -> bytes:
    encoded = io.BytesIO()
    write_unsigned_varint(encoded, uvarint(number))
    return encoded.getvalue()


def read_varint(frame: memoryview, at: int) -> tuple[int, int]:
    """Return an unsigned varint of at most five bytes, and the position after it."""
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


def array_count(name: str, min_size: int, least: int, *, flexible: bool) -> Step:
    """Return a step that reads and checks the number of an array's elements.

    The step leaves the number in ``Walk.count``: 0 or more, or -1 for null.

    Args:
        name: The array, for errors.
        min_size: The fewest bytes of an element.
        least: -1 if the array may be null, else 0: kio's type has no None there.
        flexible: Whether the entity's version is flexible.
    """

    def count(frame: memoryview, at: int, end: int, walk: Walk) -> int:
        if flexible:
            announced, at = read_varint(frame, at)
            announced -= 1
        else:
            (announced,) = _INT32.unpack_from(frame, at)
            at += 4
        walk.count = max(announced, -1)
        if announced <= 0:
            if announced < least:
                raise HostileFrameError(f"{name} announces {announced} elements; expected {least} or more")
            return at
        if announced * min_size > end - at:
            raise HostileFrameError(
                f"{name} announces {announced} elements of {min_size} bytes or more, "
                f"but {max(0, end - at)} bytes are left"
            )
        walk.add(name, announced)
        return at

    return count


def _array(name: str, item: Shape, least: int, *, flexible: bool) -> Step:
    """Return the walk of an array; ``least`` is -1 if it may be null, else 0."""
    step, min_size, is_fixed = item.step, item.min_size, item.is_fixed
    count_elements = array_count(name, min_size, least, flexible=flexible)

    def array(frame: memoryview, at: int, end: int, walk: Walk) -> int:
        at = count_elements(frame, at, end, walk)
        count = walk.count
        if is_fixed:
            return at + max(count, 0) * min_size
        for _ in range(count):
            at = step(frame, at, end, walk)
        return at

    return array


def _nullable(step: Step) -> Step:
    """Return the walk of a struct after a marker byte, which is -1 for null (KIP-893)."""

    def nullable(frame: memoryview, at: int, end: int, walk: Walk) -> int:
        return at + 1 if frame[at] == 0xFF else step(frame, at + 1, end, walk)

    return nullable


def _refuse_tags(name: str, count: int, left: int) -> None:
    """Refuse more tagged fields than fit into ``left`` bytes, or than may be walked without a pause."""
    if 2 * count > left:
        raise HostileFrameError(f"{name} announces {count} tagged fields; {left} bytes are left")
    if count > MAX_TAGGED_FIELDS:
        raise HostileFrameError(
            f"{name} announces {count} tagged fields; expected {MAX_TAGGED_FIELDS} at most"
        )


def _tags(name: str, known: dict[int, Step]) -> Step:
    """Return the walk of tagged fields: known ones are walked, unknown ones are cut out of the frame."""

    def tags(frame: memoryview, at: int, end: int, walk: Walk) -> int:
        count, behind_count = read_varint(frame, at)
        if not count:
            return behind_count
        _refuse_tags(name, count, end - behind_count)
        walk.add(f"the tagged fields of {name}", count)
        counted_at, at, kept = at, behind_count, 0
        unknown_at = -1
        for _ in range(count):
            tag_at = at
            tag, size_at = read_varint(frame, at)
            size, value_at = read_varint(frame, size_at)
            at = value_at + size
            if at > end:
                raise HostileFrameError(
                    f"tagged field {tag} of {name} runs to byte {at}; {end} bytes are there"
                )
            step = known.get(tag)
            if step is None:
                # Consecutive ones are cut out together.
                unknown_at = tag_at if unknown_at < 0 else unknown_at
                continue
            if unknown_at >= 0:
                walk.edits.append(Edit(unknown_at, tag_at))
                unknown_at = -1
            kept += 1
            edits_before = len(walk.edits)
            stopped_at = step(frame, value_at, at, walk)
            if stopped_at != at:
                raise HostileFrameError(
                    f"tagged field {tag} of {name} ends at byte {stopped_at}; its size says {at}"
                )
            shrunk_by = sum(edit.shrinks_by for edit in walk.edits[edits_before:])
            if shrunk_by:
                walk.edits.append(Edit(size_at, value_at, _varint(size - shrunk_by)))
        if unknown_at >= 0:
            walk.edits.append(Edit(unknown_at, at))
        if kept < count:
            walk.edits.append(Edit(counted_at, behind_count, _varint(kept)))
        return at

    return tags
