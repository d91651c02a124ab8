"""What a line says and where, and of all lines of its form the same without asking the grammar again.

The *form* of a line is the line with every number as one 0. Lines of a form differ in the digits and the
lengths of their numbers alone. No rule asks how long a number is, so they say the same, at places that their
numbers tell: this value begins two bytes behind the end of the line's ninth number.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from analysis.entries import LEVELS
from analysis.grammar import Row, find_head
from analysis.shapes import Span, Value, find_values
from analysis.tables import COLUMNS
from cluster.model.statechange import LOGGER

TEXT_DIGITS_MAX = 8
"""From the first digit of a text to its last there are no more bytes than this."""

_FORMS_MAX = 5_000
_INT_DIGITS_MAX, _DIGITS_MAX = 9, 16
_INTS = {column.name for column in COLUMNS if pa.types.is_int32(column.arrow)}
_NUMBER = re.compile(r"\d+", re.ASCII)
_STOCK = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] ", re.ASCII)


@dataclass(frozen=True, slots=True)
class Told:
    """A value of a line, with digits in it.

    Attributes:
        span: Where in the line it stands.
        digits: From its first digit to behind its last.
        digits_max: They may be no longer, or numbers of this length are not told.
        columns: What it gives; nothing where a later value does.
        read: What a text in its place gives, None where it is no such value; of a number None.
        meaning: As in ``shapes.Value``.
    """

    span: Span
    digits: Span
    digits_max: int
    columns: tuple[str, ...]
    read: Callable[[str], Row | None] | None
    meaning: tuple[str, ...]

    @property
    def is_short(self) -> bool:
        """Whether it can be told."""
        return self.digits[1] - self.digits[0] <= self.digits_max


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a line says.

    Attributes:
        level: A code of ``LEVELS``.
        constants: The columns that all lines of its form have alike.
        told: The values that give the others, from left to right.
    """

    level: int
    constants: Row
    told: tuple[Told, ...]


class Lessons:
    """Remembers what was found out of each form; that never shows in what it says."""

    def __init__(self) -> None:
        self._forms: dict[str, tuple[Lesson, tuple[_Anchor, ...]]] = {}

    def of(self, line: str) -> Lesson | None:
        """What a line of ours in the stock layout says; None where its numbers alone cannot tell it."""
        if not _STOCK.match(line):
            return None
        numbers = [found.span() for found in _NUMBER.finditer(line)]
        form = _NUMBER.sub("0", line)
        if form not in self._forms:
            lesson = find_lesson(line)
            if lesson is None:
                return None
            anchors = [_anchored(told, numbers) for told in lesson.told]
            known = tuple(anchor for anchor in anchors if anchor is not None)
            if len(known) < len(anchors):
                return _if_short(lesson)
            if len(self._forms) >= _FORMS_MAX:
                self._forms.clear()
            self._forms[form] = lesson, known
        lesson, known = self._forms[form]
        told = tuple(anchor.put(each, numbers) for each, anchor in zip(lesson.told, known, strict=True))
        return _if_short(Lesson(lesson.level, lesson.constants, told))


def find_lesson(line: str) -> Lesson | None:
    """What the grammar says of a line of ours; None where lines with other numbers may say something else."""
    head = find_head(line)
    if head is None or head.start or head.logger != LOGGER or not line.isascii():
        return None
    begin, end = head.message
    found = find_values(line[begin:end])
    if found is None:
        return None
    giver: dict[str, Any] = dict(found[0])
    values = [replace(each, span=(each.span[0] + begin, each.span[1] + begin)) for each in found[1]]
    for value in values:
        row = value.read(line[slice(*value.span)]) if value.columns is None else dict.fromkeys(value.columns)
        numbers = len(_NUMBER.findall(line, *value.span))
        if row is None or (value.columns is not None and numbers != 1):
            return None
        # Of two values that give one column the later counts.
        giver |= dict.fromkeys(row, value) if numbers else row
    # A digit between the values is a word of the rule's: another one would be another rule's.
    begins = [begin, *(value.span[1] for value in values)]
    ends = [*(value.span[0] for value in values), end]
    if any(_NUMBER.search(line, *between) for between in zip(begins, ends, strict=True)):
        return None
    constants = {name: value for name, value in giver.items() if not isinstance(value, Value)}
    told = (_told(line, value, giver) for value in values if _NUMBER.search(line, *value.span))
    return Lesson(LEVELS.index(head.level), constants, tuple(told))


def _told(line: str, value: Value, giver: Row) -> Told:
    numbers = [found.span() for found in _NUMBER.finditer(line, *value.span)]
    most = TEXT_DIGITS_MAX
    if value.columns is not None:
        most = _INT_DIGITS_MAX if any(name in _INTS for name in value.columns) else _DIGITS_MAX
    columns = tuple(name for name, by in giver.items() if by is value)
    read = value.read if value.columns is None else None
    return Told(value.span, (numbers[0][0], numbers[-1][1]), most, columns, read, value.meaning)


def _if_short(lesson: Lesson) -> Lesson | None:
    return lesson if all(told.is_short for told in lesson.told) else None


@dataclass(frozen=True, slots=True)
class _Anchor:
    """Where a value stands in any line of a form.

    Attributes:
        start: Behind the end of which number it begins (0 for the line's begin), and how many bytes.
        end: The same of its end.
        first: Which number is its first.
        last: Which is its last.
    """

    start: tuple[int, int]
    end: tuple[int, int]
    first: int
    last: int

    def put(self, told: Told, numbers: Sequence[Span]) -> Told:
        """The value in the line that has these numbers."""
        start, end = (
            offset + (numbers[before - 1][1] if before else 0) for before, offset in (self.start, self.end)
        )
        digits = numbers[self.first][0], numbers[self.last][1]
        return Told((start, end), digits, told.digits_max, told.columns, told.read, told.meaning)


def _anchored(told: Told, numbers: Sequence[Span]) -> _Anchor | None:
    """None for a value that begins or ends inside a number."""
    begins, ends = [each[0] for each in numbers], [each[1] for each in numbers]
    places = []
    for place in told.span:
        before = bisect_right(ends, place)
        if before < len(numbers) and begins[before] < place:
            return None
        places.append((before, place - (ends[before - 1] if before else 0)))
    return _Anchor(places[0], places[1], begins.index(told.digits[0]), ends.index(told.digits[1]))
