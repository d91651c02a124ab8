"""Requests of many elements, decoded in steps.

kio decodes a frame in one call: 100,000 elements block the event loop for 50 ms, and the guard before it for
as long again. Here guard and kio alternate from field to field, and within arrays from element to element, in
a generator that yields after each `ELEMENTS_PER_STEP` elements. kio reads every value, and the guard refuses
the same frames. Without steps other clients wait up to 50 times as long (``hostile``, docs/decisions/0008).

Decoding in steps takes three times as long as in one call, so only large frames are decoded in steps.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Mapping
from dataclasses import Field, fields, is_dataclass
from typing import Any, TypeVar, cast, get_args, get_origin

from kio.serial import entity_reader
from kio.serial._parse import get_field_reader, get_reader

from barnabas.broker.wire.fields import not_none
from barnabas.broker.wire.guard import (
    MAX_ELEMENTS,
    HostileFrameError,
    Step,
    Walk,
    array_count,
    edited,
    is_nullable,
    read_varint,
    shape_of_field,
    shape_of_item,
    shape_of_tags,
)

T = TypeVar("T")

Steps = Generator[None, None, T]
"""Work in steps that returns a ``T``. Between two steps the event loop serves others."""

ELEMENTS_PER_STEP = 200
"""The elements read in one step: half a millisecond, and more than ordinary requests have."""

_Native = Callable[[memoryview, int], tuple[Any, int]]
"""A reader of kio, which returns the value at a position, and its size."""

_Read = Callable[[memoryview, int, "_Progress"], Steps[tuple[Any, int]]]
"""A reader in steps of the value at a position; its result is the value and the position after it."""


class _Progress(Walk):
    """A walk that also counts the elements read since the last step."""

    __slots__ = ("since",)

    def __init__(self) -> None:
        super().__init__(MAX_ELEMENTS)
        self.since = 0

    def is_step(self, elements: int = 1) -> bool:
        """Count elements that were read; return whether they complete a step."""
        self.since += elements
        if self.since < ELEMENTS_PER_STEP:
            return False
        self.since = 0
        return True


def read_in_pieces(entity: type[Any], frame: memoryview, start: int) -> Steps[Any]:
    """Decode the entity of that class that begins at ``start``; the bytes after it are ignored.

    Args:
        entity: A request class of kio.
        frame: The whole frame, read-only.
        start: The start of the entity.

    Raises:
        HostileFrameError: A length, a count or a varint exceeds the frame.
    """
    try:
        value, _ = yield from _reader(entity)(frame, start, _Progress())
    except (IndexError, struct.error):
        raise HostileFrameError(f"{entity.__name__} runs past its frame of {len(frame)} bytes") from None
    return value


_READERS: dict[type[Any], _Read] = {}


def _reader(entity: type[Any]) -> _Read:
    read = _READERS.get(entity)
    if read is None:
        read = _READERS[entity] = _compile(entity)
    return read


class _Guarded:
    """A reader of a small value at once: the guard walks it, then kio reads it.

    Args:
        name: The value's name, for errors.
        step: The guard's walk of it.
        native: kio's reader of it.
    """

    __slots__ = ("_name", "_native", "_step")

    def __init__(self, name: str, step: Step, native: _Native) -> None:
        self._name = name
        self._step = step
        self._native = native

    def __call__(self, frame: memoryview, at: int, walk: Walk) -> tuple[Any, int]:
        """Return the value at a position, and the position after it."""
        size = len(frame)
        behind = self._step(frame, at, size, walk)
        if behind > size:
            raise HostileFrameError(f"{self._name} runs to byte {behind} of a frame of {size} bytes")
        if walk.edits:
            value, _ = self._native(edited(frame[:behind], at, walk.edits), 0)
            walk.edits.clear()
        else:
            value, _ = self._native(frame, at)
        return value, behind


def _compile(entity: type[Any]) -> _Read:
    plain: list[tuple[str, _Guarded | None, _Read]] = []
    tagged: dict[int, tuple[str, _Native]] = {}
    for field in fields(entity):
        tag = field.metadata.get("tag")
        if tag is not None:
            tagged[tag] = field.name, _field_reader(entity, field, is_tagged=True)
        elif _is_small(field):
            shape = shape_of_field(entity, field, nullable=is_nullable(field.type))
            native = _field_reader(entity, field, is_tagged=False)
            plain.append((field.name, _Guarded(entity.__name__, shape.step, native), _nothing))
        elif is_dataclass(field.type):
            plain.append((field.name, None, _reader(cast("type[Any]", field.type))))
        else:
            plain.append((field.name, None, _array(entity, field)))
    tags = _Guarded(f"{entity.__name__}'s tagged fields", shape_of_tags(entity).step, _as_it_is)

    def read(frame: memoryview, at: int, progress: _Progress) -> Steps[tuple[Any, int]]:
        values: dict[str, Any] = {}
        for name, at_once, in_pieces in plain:
            if at_once is None:
                values[name], at = yield from in_pieces(frame, at, progress)
            else:
                values[name], at = at_once(frame, at, progress)
        if entity.__flexible__:
            before = progress.elements
            known, at = tags(frame, at, progress)
            if progress.is_step(progress.elements - before):
                yield
            if tagged:
                values |= _known_tags(tagged, known)
        return entity(**values), at

    return read


def _nothing(_frame: memoryview, at: int, _progress: _Progress) -> Steps[tuple[Any, int]]:
    """Read nothing, for a field that is read at once."""
    yield
    return None, at


def _is_small(field: Field[Any]) -> bool:
    """Return whether a field has no arrays in it. A struct that may be null has none in any request."""
    kind = not_none(field.type)
    if get_origin(kind) is tuple:
        return False
    return not is_dataclass(kind) or kind is not field.type or not _has_arrays(kind)


def _field_reader(entity: type[Any], field: Field[Any], *, is_tagged: bool) -> _Native:
    is_header = False
    return cast("_Native", get_field_reader(entity, field, is_header, is_tagged))


def _array(entity: type[Any], field: Field[Any]) -> _Read:
    name = f"{entity.__name__}.{field.name}"
    shape = shape_of_item(entity, field)
    least = -1 if is_nullable(field.type) else 0
    to_items = array_count(name, shape.min_size, least, flexible=entity.__flexible__)
    item = get_args(not_none(field.type))[0]
    at_once = _Guarded(name, shape.step, _item_reader(entity, field, item))
    if is_dataclass(item) and _has_arrays(item):
        return _array_of_arrays(name, to_items, at_once, _reader(cast("type[Any]", item)))

    def read(frame: memoryview, at: int, progress: _Progress) -> Steps[tuple[Any, int]]:
        at = to_items(frame, at, len(frame), progress)
        count = progress.count
        if count < 0:
            return None, at
        values = []
        for _ in range(count):
            value, at = at_once(frame, at, progress)
            values.append(value)
            if progress.is_step():
                yield
        return tuple(values), at

    return read


def _array_of_arrays(name: str, to_items: Step, at_once: _Guarded, in_pieces: _Read) -> _Read:
    """Return a reader of an array whose elements have arrays; small elements are still read at once."""

    def read(frame: memoryview, at: int, progress: _Progress) -> Steps[tuple[Any, int]]:
        at = to_items(frame, at, len(frame), progress)
        count = progress.count
        if count < 0:
            return None, at
        values = []
        for _ in range(count):
            small, inside = Walk(ELEMENTS_PER_STEP), 0
            try:
                value, at = at_once(frame, at, small)
            except (HostileFrameError, IndexError, struct.error):
                # It has many elements or an error, which reading in pieces will tell apart.
                value, at = yield from in_pieces(frame, at, progress)
            else:
                inside = small.elements
                progress.add(name, inside)
            values.append(value)
            if progress.is_step(1 + inside):
                yield
        return tuple(values), at

    return read


def _item_reader(entity: type[Any], field: Field[Any], item: Any) -> _Native:
    if is_dataclass(item):
        return cast("_Native", entity_reader(cast("type[Any]", item)))
    optional = False
    return cast("_Native", get_reader(field.metadata["kafka_type"], entity.__flexible__, optional))


def _has_arrays(entity: Any) -> bool:
    kinds = [not_none(field.type) for field in fields(entity)]
    return any(get_origin(kind) is tuple or (is_dataclass(kind) and _has_arrays(kind)) for kind in kinds)


def _known_tags(tagged: Mapping[int, tuple[str, _Native]], known: memoryview) -> dict[str, Any]:
    """Return the values of tagged fields, whose sizes the guard has checked."""
    values: dict[str, Any] = {}
    count, at = read_varint(known, 0)
    for _ in range(count):
        tag, at = read_varint(known, at)
        size, at = read_varint(known, at)
        name, native = tagged[tag]
        values[name], _ = native(known, at)
        at += size
    return values


def _as_it_is(frame: memoryview, at: int) -> tuple[memoryview, int]:
    return frame[at:], 0
