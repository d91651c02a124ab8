"""Lines that are alike but for their digits: looked at once, and from then on read by their numbers alone.

The *stencil* of a line is the line with every digit as 0. Lines of one stencil have the same words and the
same values in the same places; of such a line nothing is left to be found out but its numbers. A log has some
thousand stencils (numbers of one to nine digits, the names of topics), and nearly all its lines have one that
was seen before. A stencil is learned from one line (``analysis.lessons``). What it cannot say to the digit is
not learned, and such lines are read by their shapes (``analysis.messages``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.bytewise import Mask, Places, Text, chosen_digits, digit_mask
from analysis.columns import Columns
from analysis.entries import Heads, Lines, read_times
from analysis.grammar import Row, find_head
from analysis.lessons import TEXT_DIGITS_MAX, Lessons
from analysis.times import Clock

_STENCILS_MAX = 20_000
_SEEN_MAX = 100_000
_WORTHWHILE = 2
"""A stencil is learned when it was seen so often."""

_LESSONS_MAX = 4_000
"""Stencils that are learned in one block: about as many as are learned in the time of reading it."""

_MEMO_MAX = 100_000
_WORD = TEXT_DIGITS_MAX

_UNKNOWN, _UNFIT, _NO_HEAD = -1, -2, 0
"""Of a stencil: never learned; not to be learned; the one of all lines without a header."""


class _Grown:
    """A number of each stencil."""

    def __init__(self, kind: type[np.int64 | np.uint64] = np.int64, absent: int = 0) -> None:
        self._kind, self._absent = kind, absent
        self._values: NDArray[Any] = np.full(0, absent, dtype=kind)

    def put(self, stencil: int, value: int) -> None:
        if stencil >= len(self._values):
            more = np.full(stencil + 256, self._absent, dtype=self._kind)
            more[: len(self._values)] = self._values
            self._values = more
        self._values[stencil] = value

    def of(self, stencils: Places) -> NDArray[Any]:
        if not len(self._values):
            return np.full(len(stencils), self._absent, dtype=self._kind)
        inside = np.minimum(stencils, len(self._values) - 1)
        return np.where(inside == stencils, self._values[inside], self._kind(self._absent))


@dataclass(slots=True)
class _Constants:
    """A column of which stencils say the value."""

    known: list[object] = field(default_factory=list)
    codes: dict[object, int] = field(default_factory=dict)
    code: _Grown = field(default_factory=lambda: _Grown(absent=-1))

    def put(self, stencil: int, value: object) -> None:
        if value not in self.codes:
            self.codes[value] = len(self.known)
            self.known.append(value)
        self.code.put(stencil, self.codes[value])


@dataclass(slots=True)
class _Slot:
    """A value that has its place in stencils; the same columns are its columns in all of them.

    Attributes:
        end: Where it ends, or its last digit of a text, counted from the line's begin; 0 for absent.
        digits: Which of the eight bytes before are its digits.
        more: The same of the eight bytes before these.
        sign: Whether a number is negative.
        text: Which text it is but for its digits.
    """

    end: _Grown = field(default_factory=_Grown)
    digits: _Grown = field(default_factory=lambda: _Grown(np.uint64))
    more: _Grown = field(default_factory=lambda: _Grown(np.uint64))
    sign: _Grown = field(default_factory=_Grown)
    text: _Grown = field(default_factory=_Grown)

    def place(self, stencil: int, start: int, end: int, zeros: str) -> None:
        """Put the digits that stand from ``start`` to ``end`` of the stencil."""
        self.end.put(stencil, end)
        self.digits.put(stencil, digit_mask(zeros[max(start, end - _WORD) : end]))
        if end - start > _WORD:
            self.more.put(stencil, digit_mask(zeros[start : end - _WORD]))


class Stencils:
    """All stencils that were learned. What is remembered is bounded, and never shows in what is read."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._seen: dict[str, int] = {}
        self._count = 1
        self._lessons = Lessons()
        self._level = _Grown()
        self._constants: defaultdict[str, _Constants] = defaultdict(_Constants)
        self._numbers: defaultdict[tuple[str, ...], _Slot] = defaultdict(_Slot)
        self._texts: defaultdict[tuple[str, ...], _Slot] = defaultdict(_Slot)
        self._spelled: dict[Hashable, int] = {}
        self._readers: dict[tuple[tuple[str, ...], int], tuple[int, int, Callable[[str], Row | None]]] = {}
        self._memo: dict[tuple[tuple[str, ...], int], Row | None] = {}

    def find(self, text: Text, lines: Lines) -> Found:
        """Which lines have a stencil that is known."""
        told = text.stencils(lines.start, lines.end)
        codes = np.from_dlpack(told.indices).astype(np.int64)
        spelled = told.dictionary.to_pylist()
        stencils = np.array([self._known.get(each, _UNKNOWN) for each in spelled], dtype=np.int64)
        if (stencils == _UNKNOWN).any():
            self._learn_some(text, lines, codes, spelled, stencils=stencils)
        return Found(stencils, codes)

    def _learn_some(
        self, text: Text, lines: Lines, codes: Places, spelled: list[str], *, stencils: Places
    ) -> None:
        new = np.flatnonzero(stencils == _UNKNOWN)
        times = np.bincount(codes, minlength=len(spelled))
        first = np.empty(len(spelled), dtype=np.int64)
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        lessons = 0
        for code in new[np.argsort(-times[new], kind="stable")].tolist():
            seen = self._seen.get(spelled[code], 0) + int(times[code])
            if seen < _WORTHWHILE or lessons == _LESSONS_MAX or len(self._known) >= _STENCILS_MAX:
                if len(self._seen) >= _SEEN_MAX:
                    self._seen.clear()
                self._seen[spelled[code]] = seen
                continue
            lessons += 1
            line = text.slice(int(lines.start[first[code]]), int(lines.end[first[code]])).decode()
            self._seen.pop(spelled[code], None)
            stencils[code] = self._known[spelled[code]] = self._learn(line, spelled[code])

    def _learn(self, line: str, zeros: str) -> int:
        lesson = self._lessons.of(line)
        if lesson is None:
            return _NO_HEAD if find_head(line) is None else _UNFIT
        stencil = self._count
        self._count += 1
        self._level.put(stencil, lesson.level)
        for name, value in lesson.constants.items():
            self._constants[name].put(stencil, value)
        for told in lesson.told:
            if not told.columns:
                continue
            (start, end), (_, last) = told.span, told.digits
            if told.read is None:
                slot = self._numbers[told.columns]
                slot.place(stencil, start, end, zeros)
                slot.sign.put(stencil, zeros[start] == "-")
                continue
            slot = self._texts[told.columns]
            slot.place(stencil, start, last, zeros)
            kind = self._spelled.setdefault((told.meaning, zeros[start:end]), len(self._spelled))
            slot.text.put(stencil, kind)
            self._readers[told.columns, stencil] = (start, end, told.read)
        return stencil

    def read(self, text: Text, lines: Lines, clock: Clock, found: Found, heads: Heads) -> None:
        """Fill in the headers of the lines that have a stencil, and read their texts.

        A line with a text that is no such value after all loses its stencil.
        """
        while not all(
            self._read_texts(text, lines, found, columns, slot) for columns, slot in self._texts.items()
        ):
            found.texts.clear()
        chosen = found.chosen
        heads.found[chosen] = heads.is_ours[chosen] = True
        heads.level[chosen] = self._level.of(found.stencils)[found.codes[chosen]]
        heads.time[chosen] = read_times(text, lines.start[chosen], clock)

    def _read_texts(
        self, text: Text, lines: Lines, found: Found, columns: tuple[str, ...], slot: _Slot
    ) -> bool:
        """Read one slot; False if some lines lost their stencils by it."""
        places = found.places(slot, lines)
        if places is None:
            return True
        which, at, codes = places
        digits = chosen_digits(text.words(at - _WORD), slot.digits.of(found.stencils)[codes])
        keys = pa.array(slot.text.of(found.stencils)[codes] * 10**_WORD + digits).dictionary_encode()
        key_codes = np.from_dlpack(keys.indices).astype(np.int64)
        rows: list[Row | None] = []
        for code, key in enumerate(keys.dictionary.to_pylist()):
            if (columns, key) not in self._memo:
                if len(self._memo) >= _MEMO_MAX:
                    self._memo.clear()
                index = int(np.argmax(key_codes == code))
                start, end, read = self._readers[columns, int(found.stencils[codes[index]])]
                begin = int(lines.start[which[index]])
                self._memo[columns, key] = read(text.slice(begin + start, begin + end).decode())
            rows.append(self._memo[columns, key])
        good = np.array([row is not None and row.keys() == set(columns) for row in rows])
        if not good.all():
            found.forget(which[~good[key_codes]])
            return False
        found.texts[columns] = (which, key_codes, [row or {} for row in rows])
        return True

    def fill(self, text: Text, lines: Lines, found: Found, row_of: Places, columns: Columns) -> None:
        """Fill the columns of the lines that have a stencil.

        Args:
            text: The block.
            lines: Its lines.
            found: After ``read``.
            row_of: The row of each line.
            columns: Where nothing was put yet.
        """
        rows, codes = row_of[found.chosen], found.codes[found.chosen]
        for name, constants in self._constants.items():
            chosen = constants.code.of(found.stencils)
            if (chosen >= 0).any():
                columns.put_some(name, rows, codes, chosen, constants.known)
        for names, slot in self._numbers.items():
            places = found.places(slot, lines)
            if places is None:
                continue
            which, at, codes_of = places
            values = chosen_digits(text.words(at - _WORD), slot.digits.of(found.stencils)[codes_of])
            more = slot.more.of(found.stencils)
            if more.any():
                values += chosen_digits(text.words(at - 2 * _WORD), more[codes_of]) * 10**_WORD
            sign = slot.sign.of(found.stencils)
            if sign.any():
                values = np.where(sign[codes_of] > 0, -values, values)
            for name in names:
                columns.numbers(name).put(row_of[which], values)
        for which, key_codes, known in found.texts.values():
            columns.put_each(row_of[which], key_codes, known)


class Found:
    """The lines of a block that have a known stencil.

    Attributes:
        stencils: The stencils of the block.
        codes: Of each line, which of them it has.
        chosen: The lines with a header and a stencil.
        texts: Of each text slot the lines that have it, and which of the rows it gives each of them.
    """

    def __init__(self, stencils: Places, codes: Places) -> None:
        self.stencils, self.codes = stencils, codes
        self._lost = np.zeros(len(codes), dtype=np.bool_)
        self.chosen: Places = np.flatnonzero(self._is_known(1))
        self.texts: dict[tuple[str, ...], tuple[Places, Places, list[Row]]] = {}

    def others(self) -> Places:
        """The lines that are to be read otherwise."""
        return np.flatnonzero(~self._is_known(_NO_HEAD))

    def forget(self, lines: Places) -> None:
        """Leave lines to be read otherwise."""
        self._lost[lines] = True
        self.chosen = np.flatnonzero(self._is_known(1))

    def places(self, slot: _Slot, lines: Lines) -> tuple[Places, Places, Places] | None:
        """The lines that have a value, where it ends, and the codes of their stencils; None for none."""
        end = slot.end.of(self.stencils)
        if not end.any():
            return None
        codes = self.codes[self.chosen]
        has = end[codes] > 0
        which = self.chosen if has.all() else self.chosen[has]
        codes = self.codes[which]
        return which, lines.start[which] + end[codes], codes

    def _is_known(self, least: int) -> Mask:
        known: Mask = (self.stencils >= least)[self.codes] & ~self._lost
        return known
