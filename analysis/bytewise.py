"""Bytes by the thousand: numbers, words and comparisons at many places of one text at once.

A place is an index into the text; every function takes arrays of places and answers with an array. The text
has ``MARGIN`` bytes before and after it, so that eight bytes can be loaded around any place in it.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

MARGIN = 16
"""Bytes that are no part of the text, at either end."""

Places = NDArray[np.int64]
Mask = NDArray[np.bool_]
_Words = NDArray[np.uint64]

_WORD = 8
_VIEW_INLINE = 12


def _word(text: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(text.ljust(_WORD, b"\0"), "little"))


_LOW_BYTES = np.array([(1 << (8 * count)) - 1 for count in range(_WORD + 1)], dtype=np.uint64)
_ZEROS = _word(b"0" * _WORD)
_ZERO, _TEN = np.uint8(ord("0")), np.uint8(10)
_HIGH_HALVES = np.uint64(0xF0F0F0F0F0F0F0F0)
_SIXES = np.uint64(0x0606060606060606)
_THREES = np.uint64(0x3333333333333333)
_EVERY_FOURTH = np.uint64(0x000000FF000000FF)
_HUNDREDS = np.uint64(0x000F424000000064)
_ONES = np.uint64(0x0000271000000001)
_SHIFTS = {bits: np.uint64(bits) for bits in (4, 8, 16, 32)}


def _in_word(length: NDArray[Any]) -> NDArray[Any]:
    """Lengths cut off to what a word can hold: 0 to 8 (``np.clip`` takes several times as long)."""
    cut: NDArray[Any] = np.minimum(np.maximum(length, 0), _WORD)
    return cut


def low_bytes(words: _Words, count: NDArray[Any]) -> _Words:
    """Of each word the first ``count`` bytes (0 to 8), the others zero."""
    kept: _Words = words & _LOW_BYTES[_in_word(count)]
    return kept


def are_digits(words: _Words) -> Mask:
    """Whether all eight bytes of each word are decimal digits."""
    carried = ((words + _SIXES) & _HIGH_HALVES) >> _SHIFTS[4]
    answer: Mask = ((words & _HIGH_HALVES) | carried) == _THREES
    return answer


def eight_digits(words: _Words) -> NDArray[np.int64]:
    """The numbers that words of eight digits spell."""
    return _number(words - _ZEROS)


def chosen_digits(words: _Words, chosen: _Words) -> NDArray[np.int64]:
    """The numbers that some bytes of each word spell, all others taken for zeros.

    Args:
        words: Eight bytes each.
        chosen: The low halves of the bytes that count, which must be decimal digits (``digit_mask``).
    """
    return _number(words & chosen)


@functools.lru_cache(maxsize=4096)
def digit_mask(text: str) -> int:
    """What ``chosen_digits`` takes to read the digits among the last eight letters of an ASCII text."""
    last = text[-_WORD:].rjust(_WORD)
    return sum(0xF << (8 * place) for place, letter in enumerate(last) if "0" <= letter <= "9")


def _number(words: _Words) -> NDArray[np.int64]:
    """Of words whose bytes are the values of digits, the first one highest."""
    words = words * np.uint64(10) + (words >> _SHIFTS[8])
    upper = (words & _EVERY_FOURTH) * _HUNDREDS
    lower = ((words >> _SHIFTS[16]) & _EVERY_FOURTH) * _ONES
    return ((upper + lower) >> _SHIFTS[32]).astype(np.int64)


class Text:
    """A text that can be asked about many places at once.

    Args:
        data: The text without its margins.
    """

    def __init__(self, data: bytes) -> None:
        self._data = b"".join((b"\0" * MARGIN, data, b"\0" * MARGIN))
        self.bytes: NDArray[np.uint8] = np.frombuffer(self._data, dtype=np.uint8)
        self._words = _words_of(self.bytes)
        self._buffer = pa.py_buffer(self._data)

    def slice(self, start: int, end: int) -> bytes:
        """The bytes from ``start`` to before ``end``."""
        return self._data[start:end]

    def words(self, at: Places) -> _Words:
        """The eight bytes that begin at each place, the first one lowest."""
        words: _Words = self._words[at]
        return words

    def equals(self, at: Places, literal: bytes) -> Mask:
        """Whether ``literal`` stands at each place."""
        answer: Mask = np.ones(len(at), dtype=np.bool_)
        for begin in range(0, len(literal), _WORD):
            part = literal[begin : begin + _WORD]
            found = self.words(at + begin)
            if len(part) < _WORD:
                found = found & _LOW_BYTES[len(part)]
            answer &= found == _word(part)
        return answer

    def integers(self, start: Places, end: Places) -> tuple[NDArray[np.int64], Mask]:
        """The decimal numbers, of at most 16 digits, between the places, and where there is none."""
        is_negative = self.bytes[start] == ord("-")
        length = end - start - is_negative
        values, good = self._last_digits(end, _in_word(length))
        if (length > _WORD).any():
            more, also_good = self._last_digits(end - _WORD, _in_word(length - _WORD))
            values += more * 10**_WORD
            good &= also_good
        good &= (length > 0) & (length <= 2 * _WORD)
        return np.where(is_negative, -values, values), good

    def past(self, at: Places, letters: str) -> Places:
        """From each place on, the first place that holds none of the ASCII ``letters``."""
        is_letter = np.zeros(256, dtype=np.bool_)
        is_letter[list(letters.encode())] = True
        ends = at.copy()
        going = np.flatnonzero(is_letter[self.bytes[ends]])
        while len(going):
            ends[going] += 1
            going = going[is_letter[self.bytes[ends[going]]]]
        return ends

    def before_digits(self, at: Places) -> Places:
        """The begin of the digits that end before each place."""
        begins = at.copy()
        going = np.flatnonzero(self._is_digit_before(begins))
        while len(going):
            begins[going] -= 1
            going = going[self._is_digit_before(begins[going])]
        return begins

    def _is_digit_before(self, at: Places) -> Mask:
        byte = self.bytes[at - 1]
        answer: Mask = (byte >= ord("0")) & (byte <= ord("9"))
        return answer

    def strings(self, start: Places, end: Places) -> pa.Array:
        """The texts between the places, as an array of strings."""
        return _views(self._words, self._buffer, start, end).cast(pa.string())

    def stencils(self, start: Places, end: Places) -> pa.DictionaryArray:
        """The texts between the places with every digit as 0, each kept once."""
        values = self.bytes - _ZERO
        is_digit = (values < _TEN).view(np.uint8)
        np.multiply(values, is_digit, out=values)
        np.subtract(self.bytes, values, out=values)
        return _views(_words_of(values), pa.py_buffer(values), start, end).dictionary_encode()

    def _last_digits(self, end: Places, length: NDArray[np.int64]) -> tuple[NDArray[np.int64], Mask]:
        cut = _LOW_BYTES[_WORD - length]
        words = (self.words(end - _WORD) & ~cut) | (_ZEROS & cut)
        return eight_digits(words), are_digits(words)


def _words_of(data: NDArray[np.uint8]) -> _Words:
    # A word at every byte: processors load them from anywhere, faster than two are put together.
    return np.ndarray(len(data) - _WORD + 1, dtype="<u8", buffer=data, strides=(1,))


def _views(words: _Words, buffer: pa.Buffer, start: Places, end: Places) -> pa.Array:
    """Arrow's string views: 16 bytes each, length and start of the text or, if short, all of it."""
    length = end - start
    views = np.empty((len(start), 2), dtype=np.uint64)
    first = words[start]
    views[:, 0] = length.astype(np.uint64) | (low_bytes(first, np.minimum(length, 4)) << _SHIFTS[32])
    views[:, 1] = start.astype(np.uint64) << _SHIFTS[32]
    short = np.flatnonzero(length <= _VIEW_INLINE)
    if len(short):
        views[short, 1] = low_bytes(words[start[short] + 4], length[short] - 4)
    return pa.Array.from_buffers(pa.string_view(), len(start), [None, pa.py_buffer(views), buffer])
