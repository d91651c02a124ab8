"""What the messages of a block say, shape by shape; what no shape knows is read one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.bytewise import Mask, Places, Text, low_bytes
from analysis.columns import Columns
from analysis.entries import Heads
from analysis.grammar import Row, message_columns
from analysis.shapes import End, Part, Shape, Start, learn

_WORTHWHILE = 12
"""Fewer lines than this are read one by one as quickly."""

_SHAPES_MAX = 16
"""Shapes remembered for lines that begin alike."""

_LESSONS_MAX = 8
"""Lines of one group, in one block, from which a shape is learned."""

_EPOCH_NEW = np.uint64(int.from_bytes(b"epoch=", "little"))
_EPOCH_OLD = np.uint64(int.from_bytes(b"epoch ", "little"))
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages of a block: rows of its table, and lines of its text.

    Attributes:
        rows: The rows that they fill.
        start: Where each begins.
        end: Where it ends, at a blank.
        blank: Which of the blanks stands before its second word.
        words: How many words it has.
    """

    rows: Places
    start: Places
    end: Places
    blank: Places
    words: Places

    def take(self, chosen: np.ndarray) -> Messages:
        """Those at the given indexes, or where a mask is true."""
        return Messages(
            self.rows[chosen], self.start[chosen], self.end[chosen], self.blank[chosen], self.words[chosen]
        )

    def __len__(self) -> int:
        return len(self.rows)


def messages_of(heads: Heads, lines: Places, rows: Places) -> Messages:
    """The messages in ``lines`` that name our logger."""
    return Messages(
        rows, heads.message_start[lines], heads.message_end[lines], heads.blank[lines], heads.words[lines]
    )


class Reader:
    """Reads messages into columns; what it learns of their shapes it keeps for the next block."""

    def __init__(self) -> None:
        self._shapes: dict[int, list[Shape]] = {}

    def read(self, text: Text, blanks: Places, messages: Messages, columns: Columns) -> None:
        """Fill the columns of all messages, ``understood`` included."""
        if not len(messages):
            return
        keys = _keys(text, blanks, messages)
        order = np.argsort(keys, kind="stable")
        borders = np.flatnonzero(np.diff(keys[order])) + 1
        for group in np.split(order, borders):
            self._read_group(int(keys[group[0]]), text, blanks, messages.take(group), columns)

    def _read_group(self, key: int, text: Text, blanks: Places, messages: Messages, columns: Columns) -> None:
        shapes = self._shapes.setdefault(key, [])
        for shape in tuple(shapes):
            if len(messages) < _WORTHWHILE:
                break
            before = len(messages)
            messages = apply(shape, text, blanks, messages, columns)
            if len(messages) < before:
                # What was of use last is tried first, what never is falls off the end.
                shapes.remove(shape)
                shapes.insert(0, shape)
        for _ in range(_LESSONS_MAX):
            if len(messages) < _WORTHWHILE:
                break
            lesson = text.slice(int(messages.start[0]), int(messages.end[0])).decode()
            learned = learn(lesson)
            if learned is not None:
                shapes.insert(0, learned)
                del shapes[_SHAPES_MAX:]
                messages = apply(learned, text, blanks, messages, columns)
            else:
                columns.put_row(int(messages.rows[0]), message_columns(lesson))
                messages = messages.take(np.arange(1, len(messages)))
        for row, start, end in zip(
            messages.rows.tolist(), messages.start.tolist(), messages.end.tolist(), strict=True
        ):
            columns.put_row(row, message_columns(text.slice(start, end).decode()))


def _keys(text: Text, blanks: Places, messages: Messages) -> np.ndarray:
    """Equal for messages that may have one shape: so many words, and the same verb."""
    last = len(blanks) - 1

    def begin(word: Places) -> Places:
        at: Places = blanks[np.minimum(messages.blank + word - 1, last)] + 1
        return at

    third = low_bytes(text.words(begin(np.full(len(messages), 2))), np.full(len(messages), 6))
    verb = 2 + (third == _EPOCH_NEW) + 2 * (third == _EPOCH_OLD)
    start = begin(verb)
    length = blanks[np.minimum(messages.blank + verb, last)] - start
    word = low_bytes(text.words(start), length)
    kind = (messages.words.astype(np.uint64) << np.uint64(8)) | text.bytes[messages.start]
    return (word ^ (kind * _MIX)) * _MIX


def apply(shape: Shape, text: Text, blanks: Places, messages: Messages, columns: Columns) -> Messages:
    """Fill the columns of the messages that have this shape.

    Returns:
        The others.
    """
    claims = _Claims(text, blanks, messages, shape)
    claims.keep(claims.stand_right())
    claims.keep(claims.have_the_words())
    numbers: dict[int, NDArray[np.int64]] = {}
    for index, part in enumerate(shape.parts):
        if part.columns is not None:
            numbers[index], good = text.integers(claims.starts[index], claims.ends[index])
            for name in part.columns:
                good &= columns.numbers(name).fits(numbers[index])
            if not good.all():
                numbers = {known: values[good] for known, values in numbers.items()}
                claims.keep(good)
    texts: dict[int, tuple[Places, list[Row | None]]] = {}
    for index, part in enumerate(shape.parts):
        if part.columns is None:
            texts[index] = _read_texts(part, text, claims.starts[index], claims.ends[index])
    good = np.ones(len(claims.chosen), dtype=np.bool_)
    for codes, known in texts.values():
        good &= np.array([row is not None for row in known], dtype=np.bool_)[codes]
    rows = messages.rows[claims.chosen[good]]
    columns.put_same(rows, shape.row)
    for index, part in enumerate(shape.parts):
        if part.columns is None:
            codes, known = texts[index]
            columns.put_each(rows, codes[good], [row or {} for row in known])
        else:
            for name in part.columns:
                columns.numbers(name).put(rows, numbers[index][good])
    others = np.ones(len(messages), dtype=np.bool_)
    others[claims.chosen[good]] = False
    return messages.take(others)


def _read_texts(part: Part, text: Text, start: Places, end: Places) -> tuple[Places, list[Row | None]]:
    spelled = text.strings(start, end).dictionary_encode()
    codes = np.from_dlpack(spelled.indices).astype(np.int64)
    return codes, [part.read(each) for each in spelled.dictionary.to_pylist()]


class _Claims:
    """The messages that may still have a shape, and where its values would stand in them."""

    def __init__(self, text: Text, blanks: Places, messages: Messages, shape: Shape) -> None:
        self._text = text
        self._shape = shape
        self._start, self._end = messages.start, messages.end
        self.chosen = np.arange(len(messages))
        last = len(blanks) - 1

        def after_blank(index: Places) -> Places:
            return blanks[np.minimum(index, last)]

        self.starts: list[Places] = []
        self.ends: list[Places] = []
        for index, part in enumerate(shape.parts):
            end = after_blank(messages.blank + part.last) - part.spared
            match part.start:
                case Start.WORD:
                    word = after_blank(messages.blank + part.first - 1) + 1 if part.first else messages.start
                    start = word + part.skipped
                case Start.CHAIN:
                    start = self.ends[-1] + len(part.before)
                case Start.BACK:
                    start = text.before_digits(end)
            start = np.minimum(start, blanks[last])
            if part.end is End.SCAN:
                end = text.past(start, part.letters) - part.overlap
            if index and shape.parts[index - 1].end is End.NEXT:
                self.ends[-1] = start - len(part.before)
            self.starts.append(start)
            self.ends.append(end)

    def keep(self, good: Mask) -> None:
        """Drop the others."""
        if good.all():
            return
        self.chosen = self.chosen[good]
        self._start, self._end = self._start[good], self._end[good]
        self.starts = [places[good] for places in self.starts]
        self.ends = [places[good] for places in self.ends]

    def stand_right(self) -> Mask:
        """Where the shape's words fill the room between the values, and no value ends before it begins."""
        good: Mask = np.ones(len(self.chosen), dtype=np.bool_)
        before = self._start
        for part, start, end in zip(self._shape.parts, self.starts, self.ends, strict=True):
            good &= (start - before == len(part.before)) & (end >= start)
            before = end
        good &= self._end - before == len(self._shape.after)
        return good

    def have_the_words(self) -> Mask:
        """Where these words are the shape's own."""
        good: Mask = np.ones(len(self.chosen), dtype=np.bool_)
        before = self._start
        for part, end in zip(self._shape.parts, self.ends, strict=True):
            good &= self._text.equals(before, part.before)
            before = end
        good &= self._text.equals(before, self._shape.after)
        return good
