"""Splits: ranges of a file that tasks read, cut so that every block holds whole entries.

A split owns the entries whose header line begins in its range: its reader skips what stands before the first
header, and reads on behind the end until the next header. So the splits of a file can be read on any machine
and in any order, and together they give every line once.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from barnabas.analysis.reading.grammar import find_head

BLOCK_BYTES = 8 * 1024 * 1024
"""The size of a block, about."""

_ENTRY_MAX = 4 * BLOCK_BYTES
"""A longer entry is cut at a line, and a longer line anywhere: that is damage, not text."""

_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31


class DamagedError(Exception):
    """A compressed file ends early or is damaged; the blocks before were good."""


@dataclass(frozen=True, slots=True)
class Split:
    """A range of a file.

    Attributes:
        path: The file, on this machine.
        start: Its first byte.
        end: The byte behind its last one; of a compressed file all of it is one split.
    """

    path: str
    start: int
    end: int


def plan(files: Iterable[tuple[str, int]], parallel: int, most: int, least: int) -> list[Split]:
    """Cut files into splits of like size, so that ``parallel`` readers have enough to do.

    Args:
        files: Path and size in bytes.
        parallel: How many splits are read at the same time.
        most: No split is larger, unless its file cannot be cut.
        least: No split is made smaller than this to feed more readers.
    """
    known = list(files)
    size = max(least, min(most, sum(size for _, size in known) // (2 * parallel) + 1))
    splits: list[Split] = []
    for path, length in known:
        step = max(length, 1) if is_compressed(path) else size
        splits.extend(
            Split(path, start, min(start + step, length)) for start in range(0, max(length, 1), step)
        )
    return splits


def blocks(split: Split, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Read the text of a split, in blocks of whole entries.

    Raises:
        OSError: The file cannot be read; blocks before were good.
        DamagedError: So is a compressed one.
    """
    with Path(split.path).open("rb") as file:
        if file.read(len(_GZIP)) == _GZIP:
            file.seek(0)
            yield from cut(_inflated(file, block_bytes), None)
            return
        begin = _first_head(file, split) if split.start else 0
        if begin is not None:
            file.seek(begin)
            yield from cut(iter(lambda: file.read(block_bytes), b""), split.end - begin)


def _first_head(file: BinaryIO, split: Split) -> int | None:
    """Find where the split's first entry begins; None if none begins in it."""
    # From one byte earlier, since a line may begin just at the start.
    begin, begins_line = split.start - 1, False
    file.seek(begin)
    while begin < split.end and (piece := file.readline(_ENTRY_MAX)):
        if begins_line and is_head(piece):
            return begin
        begin, begins_line = begin + len(piece), piece.endswith(b"\n")
    return None


def cut(chunks: Iterable[bytes], limit: int | None) -> Iterator[bytes]:
    """Join pieces of text to blocks of whole entries, up to the first header line at or behind ``limit``.

    Args:
        chunks: The text from a line's begin on, in pieces of any size.
        limit: How many bytes of text there are before another split's entries; None for no limit.
    """
    held, position = b"", 0
    damage = None
    pieces = iter(chunks)
    while True:
        try:
            chunk = next(pieces, None)
        except DamagedError as error:
            chunk, damage = None, error
        if chunk is None:
            break
        held += chunk
        if limit is not None and position + len(held) > limit:
            stop = next_head(held, max(limit - position, 0))
            if stop is not None:
                if stop:
                    yield held[:stop]
                return
        end = last_head(held)
        if end == 0 and len(held) > _ENTRY_MAX:
            end = held.rfind(b"\n") + 1 or len(held)
        if end:
            yield held[:end]
            held, position = held[end:], position + end
    if limit is not None and position + len(held) > limit:
        stop = next_head(held + b"\n", max(limit - position, 0))
        held = held if stop is None else held[:stop]
    if held:
        yield held
    if damage is not None:
        raise damage


def next_head(text: bytes, start: int) -> int | None:
    """Find where the first whole line with a header begins, at or behind ``start``."""
    if start and text[start - 1 : start] != b"\n":
        start = text.find(b"\n", start) + 1
        if start == 0:
            return None
    while (end := text.find(b"\n", start)) >= 0:
        if is_head(text[start:end]):
            return start
        start = end + 1
    return None


def last_head(text: bytes) -> int:
    """Find where the last whole line with a header begins; 0 if there is none behind the first line."""
    end = text.rfind(b"\n")
    while end > 0:
        start = text.rfind(b"\n", 0, end) + 1
        if is_head(text[start:end]):
            return start
        end = start - 1
    return 0


def is_head(line: bytes) -> bool:
    """Return whether a line begins an entry."""
    return find_head(line.decode(errors="replace")) is not None


def is_compressed(path: str) -> bool:
    """Return whether a file is compressed, by its first bytes; a file that cannot be opened is not."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(_GZIP)) == _GZIP
    except OSError:
        return False


def _inflated(file: BinaryIO, block_bytes: int) -> Iterator[bytes]:
    inflater = None
    while data := file.read(block_bytes):
        while data := data if inflater else data.lstrip(b"\0"):
            # Compressed files may be joined end to end, and filled up with zeros.
            inflater = inflater or zlib.decompressobj(_GZIP_WINDOW)
            try:
                text = inflater.decompress(data, block_bytes)
            except zlib.error as error:
                raise DamagedError(f"the compressed text is damaged: {error}") from error
            yield text
            data = inflater.unconsumed_tail
            if inflater.eof:
                data = inflater.unused_data
                inflater = None
    if inflater is not None:
        raise DamagedError("the compressed text ends early")
