"""The fast reader of lines: it reads all lines of a block that differ only in their numbers at once.

The *form* of a line is the line with every number replaced by one 0. No rule of the grammar depends on the
length or the digits of a number, so all lines of a form have the same kind and the same fields, and each
field begins and ends at the same numbers of the line (say from its ninth to its tenth number). A log has a
few hundred forms. The grammar reads one line of each form; the fields of all other lines are cut out of the
block with numpy, one field of all lines at a time.

Example: in ``[2026-11-21 03:12:45,678] INFO [Broker id=1] Leader t-7 starts at leader epoch 2 …`` the topic
partition starts 2 bytes before the ninth number and ends with it, in this line and in all other lines of the
form.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np

from barnabas.analysis.reading.columns import Columns
from barnabas.analysis.reading.events.entries import Row
from barnabas.analysis.reading.fields import Field, find_fields
from barnabas.analysis.reading.grammar import LEVELS, find_head
from barnabas.analysis.reading.heads import Heads, read_times
from barnabas.analysis.reading.text import Numbers, Places, Text
from barnabas.analysis.reading.times import Clock
from barnabas.cluster.model.statechange import LOGGER

_FORMS_MAX = 50_000
"""The most forms that are cached; at this number the cache is emptied."""

_TEXTS_MAX = 20_000
"""The most texts of one field that are cached; at this number the cache is emptied."""

_DIGITS_MAX = 299
"""The most digits of a number that the grammar reads (``is_readable``)."""

_NUMBER = re.compile(r"\d+", re.ASCII)
_STOCK = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] ", re.ASCII)
_MAYBE_HEAD = re.compile(r"0-0-0[ T]0:0:0")
"""A pattern that the form of every line with a header contains."""

_TIME_ENDS = (5, 8, 11, 14, 17, 20, 24)
"""The ends of the seven numbers of the time, in a line of log4j's default layout."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a field in all lines of a form, counted in numbers of the line.

    Attributes:
        first: The index, among the line's numbers, of the field's first number.
        before: The number of bytes from the field's begin to that number.
        last: The index, among the line's numbers, of the field's last number.
        after: The number of bytes from that number's end to the field's end.
    """

    first: int
    before: int
    last: int
    after: int


@dataclass(frozen=True, slots=True)
class Slot:
    """The part of a form that one field fills; equal in all forms where the field is read alike.

    Attributes:
        key: The key of the field's reading (``Field.key``).
        columns: The columns that this field sets.
    """

    key: Hashable
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """The content that all lines of a form share.

    Attributes:
        level: An index of ``LEVELS``; -1 for lines that have no header and continue an entry.
        constants: The columns with the same value in all lines.
        places: The places of the fields that contain numbers.
        readers: The functions that read the texts of those fields.
    """

    level: int
    constants: Row
    places: dict[Slot, Place]
    readers: dict[Slot, Callable[[str], Row]]


CONTINUATION = Form(-1, {}, {}, {})
"""The form of lines without a header, such as those of a stack trace."""


def learn(line: str) -> Form | None:
    """Learn the form of a line; return None if lines like it must be read one at a time.

    Such lines are those of other loggers and layouts, those that no rule matches, and those with a field that
    begins or ends inside a number.
    """
    head = find_head(line)
    if head is None or head.start or not _STOCK.match(line) or head.logger != LOGGER or not line.isascii():
        return None
    begin, end = head.message
    constants, fields = find_fields(line[begin:end])
    numbers = [number.span() for number in _NUMBER.finditer(line)]
    starts, ends = [start for start, _ in numbers], [end for _, end in numbers]
    giver: dict[str, Field | None] = dict.fromkeys(constants)
    placed: dict[int, Place] = {}
    read = {id(field): field.read(line[begin + field.span[0] : begin + field.span[1]]) for field in fields}
    # Assign the message's numbers to its fields from left to right. ``covered`` is the index of the first
    # number that no field covers yet; a form is usable only if every number of the message belongs to a
    # field.
    covered = bisect_left(starts, begin)
    for field in fields:
        start, stop = begin + field.span[0], begin + field.span[1]
        first, last = bisect_left(starts, start), bisect_left(starts, stop) - 1
        if first > last:
            # A field without a number has the same text in all lines of the form.
            constants |= read[id(field)]
            giver |= dict.fromkeys(read[id(field)])
            continue
        if ends[last] > stop or (first and ends[first - 1] > start) or first > covered:
            # The field begins or ends inside a number, or the rule itself has a number before the field: then
            # the field's numbers cannot be counted reliably.
            return None
        covered = max(covered, last + 1)
        placed[id(field)] = Place(first, starts[first] - start, last, stop - ends[last])
        giver |= dict.fromkeys(read[id(field)], field)
    if covered < bisect_left(starts, end):
        return None
    places, readers = {}, {}
    for field in fields:
        columns = tuple(name for name, by in giver.items() if by is field)
        if columns:
            slot = Slot(field.key, columns)
            places[slot], readers[slot] = placed[id(field)], field.read
    constants = {name: value for name, value in constants.items() if giver[name] is None}
    return Form(LEVELS.index(head.level), constants, places, readers)


class Forms:
    """A bounded cache of learned forms; which forms are cached never changes the rows that are read."""

    def __init__(self) -> None:
        self._known: dict[str, Form | None] = {}
        self._seen: set[str] = set()
        self._texts: dict[Slot, dict[str, Row]] = {}

    def find(self, text: Text) -> Found:
        """Find the form of each line of a block, and learn the forms that occur for the second time."""
        coded = text.forms()
        codes = np.asarray(coded.indices).astype(np.int64)
        count = np.bincount(codes, minlength=len(coded.dictionary))
        example = np.empty(len(count), dtype=np.int64)
        example[codes] = np.arange(len(codes))
        forms: list[Form | None] = []
        # A form is learned when it occurs for the second time: learning costs as much as reading a line with
        # the grammar, so it does not pay for lines that occur once, such as those of stack traces.
        for form, lines, line in zip(
            coded.dictionary.to_pylist(), count.tolist(), example.tolist(), strict=True
        ):
            if form not in self._known and not _MAYBE_HEAD.search(form):
                forms.append(CONTINUATION)
                continue
            if form not in self._known and (lines > 1 or form in self._seen):
                if len(self._known) >= _FORMS_MAX:
                    self._known.clear()
                self._known[form] = learn(text.line(line))
            elif form not in self._known:
                if len(self._seen) >= _FORMS_MAX:
                    self._seen.clear()
                self._seen.add(form)
            forms.append(self._known.get(form))
        return Found(text, forms, codes)

    def fill(self, text: Text, found: Found, row_of: Places, columns: Columns) -> None:
        """Fill the columns of the lines whose forms are known.

        Args:
            text: The block of lines.
            found: The forms of the block's lines.
            row_of: The row of each line in ``columns``.
            columns: The columns to fill, still empty in the rows of these lines.
        """
        forms = [form or CONTINUATION for form in found.forms]
        rows, codes = row_of[found.lines], found.codes[found.lines]
        for name in dict.fromkeys(name for form in forms for name in form.constants):
            columns.put_known(name, rows, codes, [form.constants.get(name) for form in forms])
        # One field at a time: cut its text out of all lines that have it, in whichever form, and read each
        # distinct text once.
        for slot in dict.fromkeys(slot for form in forms for slot in form.places):
            has = np.array([slot in form.places for form in forms])
            lines = found.lines[has[codes]]
            start, end = found.ends_of(slot, lines)
            coded = text.strings(start, end).dictionary_encode()
            read = next(form.readers[slot] for form in forms if slot in form.readers)
            known = self._texts.setdefault(slot, {})
            if len(known) >= _TEXTS_MAX:
                known.clear()
            values = []
            for spelled in coded.dictionary.to_pylist():
                if spelled not in known:
                    row = read(spelled)
                    known[spelled] = {name: row[name] for name in slot.columns if name in row}
                values.append(known[spelled])
            columns.put_each(row_of[lines], np.asarray(coded.indices).astype(np.int64), values)


class Found:
    """The forms found in a block, and the form of each of its lines.

    Attributes:
        forms: The distinct forms of the block; None for a form whose lines must be read one at a time.
        codes: The index of each line's form in ``forms``.
        lines: The indexes of the lines that have a header and a known form.
        alone: The indexes of the lines that must be read one at a time.
    """

    def __init__(self, text: Text, forms: list[Form | None], codes: Places) -> None:
        self.forms, self.codes = forms, codes
        self._numbers: Numbers = text.numbers()
        self.levels = np.array([-2 if form is None else form.level for form in forms])
        level = self.levels[codes]
        self.lines: Places = np.flatnonzero(level >= 0)
        fits = self._have_stock_times(text)
        self.alone: Places = np.sort(np.concatenate([np.flatnonzero(level == -2), self.lines[~fits]]))
        self.lines = self.lines[fits]

    def ends_of(self, slot: Slot, lines: Places) -> tuple[Places, Places]:
        """Return the begin and end of a field in lines that have it."""
        absent = Place(0, 0, 0, 0)
        places = [absent if form is None else form.places.get(slot, absent) for form in self.forms]
        first, before, last, after = np.array(
            [(each.first, each.before, each.last, each.after) for each in places]
        ).T
        codes, number = self.codes[lines], self._numbers.first[lines]
        start = self._numbers.start[number + first[codes]] - before[codes]
        return start, self._numbers.end[number + last[codes]] + after[codes]

    def _have_stock_times(self, text: Text) -> np.ndarray:
        """Return for each line whether its time has the default lengths and its numbers are readable."""
        first = self._numbers.first[self.lines]
        fits = np.ones(len(self.lines), dtype=np.bool_)
        for number, end in enumerate(_TIME_ENDS):
            fits &= self._numbers.end[first + number] == text.start[self.lines] + end
        long = np.flatnonzero(self._numbers.end - self._numbers.start > _DIGITS_MAX)
        for place in self._numbers.start[long].tolist():
            fits[self.lines == np.searchsorted(text.start, place, side="right") - 1] = False
        return fits


def read_heads(text: Text, found: Found, clock: Clock, heads: Heads) -> None:
    """Fill in the headers of the lines whose forms are known."""
    heads.found[found.lines] = heads.is_ours[found.lines] = True
    heads.level[found.lines] = found.levels[found.codes[found.lines]]
    heads.time[found.lines] = read_times(text, text.start[found.lines], clock)
