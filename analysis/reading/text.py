"""The text of a block as an array of bytes, with its lines and numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Places = NDArray[np.int64]
"""An array of indexes: of bytes, lines or rows."""

Mask = NDArray[np.bool_]

_LF, _CR = b"\n\r"
_ZERO = ord("0")


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers (runs of digits) of a text.

    Attributes:
        start: The begin of each number.
        end: The end of each number.
        first: The index of each line's first number.
    """

    start: Places
    end: Places
    first: Places


class Text:
    """A block of lines.

    Args:
        data: UTF-8 that ends with a line feed.

    Attributes:
        bytes: The bytes of the text.
        start: The begin of each line.
        end: The end of each line, before its line feed and carriage return.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.bytes: NDArray[np.uint8] = np.frombuffer(data, dtype=np.uint8)
        line_feed = np.flatnonzero(self.bytes == _LF)
        self.start: Places = np.concatenate([np.zeros(1, np.int64), line_feed[:-1] + 1])
        self.end: Places = line_feed - ((self.bytes[line_feed - 1] == _CR) & (line_feed > self.start))
        self._is_digit: Mask = self.bytes - np.uint8(_ZERO) < 10
        self._is_later_digit: Mask = self._is_digit & np.append(False, self._is_digit[:-1])

    def __len__(self) -> int:
        return len(self.start)

    def slice(self, start: int, end: int) -> str:
        """Return the text from ``start`` to before ``end``."""
        return self._data[start:end].decode()

    def line(self, line: int) -> str:
        """Return the text of a line."""
        return self.slice(int(self.start[line]), int(self.end[line]))

    def strings(self, start: Places, end: Places) -> pa.Array:
        """Return the texts between ``start`` and ``end``, which must ascend, as an array of strings."""
        # Arrow's strings follow each other without a gap. So build an array of the texts and the gaps between
        # them, and take every second string.
        borders = np.column_stack([start, end]).ravel()
        pieces = _strings(self._data, np.append(borders, borders[-1:] if len(borders) else 0))
        return pieces.take(pa.array(np.arange(0, len(pieces), 2)))

    def numbers(self) -> Numbers:
        """Return the numbers of the text."""
        start = np.flatnonzero(self._is_digit & ~self._is_later_digit)
        end = np.flatnonzero(self._is_digit & ~np.append(self._is_later_digit[1:], False)) + 1
        return Numbers(start, end, np.searchsorted(start, self.start))

    def forms(self) -> pa.DictionaryArray:
        """Return each line, with its line feed, in which every number is replaced by one 0.

        Lines of equal form have the same dictionary code.
        """
        squeezed = np.where(self._is_digit, np.uint8(_ZERO), self.bytes)[~self._is_later_digit]
        ends = np.flatnonzero(squeezed == _LF) + 1
        return _strings(squeezed.tobytes(), np.append(0, ends)).dictionary_encode()


def _strings(data: bytes, borders: Places) -> pa.Array:
    offsets = pa.py_buffer(borders.astype(np.int32))
    return pa.Array.from_buffers(pa.string(), len(borders) - 1, [None, offsets, pa.py_buffer(data)])
