"""Splits of a file for parallel tasks, read so that every block holds whole entries.

A split owns the entries whose header begins in its range. Its reader skips the lines before the first header
in the range, which the previous split owns, and reads past the end of the range up to the next header. The
splits of a file can therefore be read on any machine and in any order, and together they give every line
exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from barnabas.analysis.reading.files.encodings import DamagedError, decoded, is_encoded
from barnabas.analysis.reading.layouts import begins_entry
from barnabas.analysis.reading.metadata.segments import is_segment

BLOCK_BYTES = 8 * 1024 * 1024
"""The approximate size of a block in bytes."""

_ENTRY_MAX = 4 * BLOCK_BYTES
"""The most bytes of an entry; a longer one is damage, and is cut at a line or, without lines, anywhere."""


@dataclass(frozen=True, slots=True)
class Split:
    """A range of bytes of a file.

    Attributes:
        path: The path of a local file.
        start: The first byte of the range.
        end: The byte after the last one. An encoded file is always one split, and so is a metadata log, whose
            segments the first one stands for.
    """

    path: str
    start: int
    end: int


def plan(files: Iterable[tuple[str, int]], parallel: int, most: int, least: int) -> list[Split]:
    """Cut files into splits of similar size, so that ``parallel`` readers finish at about the same time.

    Args:
        files: The path and size in bytes of each file.
        parallel: The number of splits that are read at the same time.
        most: The largest size of a split in bytes; an encoded file may exceed it.
        least: The size in bytes below which files are not cut to occupy more readers.
    """
    known = list(files)
    size = max(least, min(most, sum(size for _, size in known) // (2 * parallel) + 1))
    splits: list[Split] = []
    for path, length in known:
        step = max(length, 1) if is_encoded(path) or is_segment(Path(path)) else size
        splits.extend(
            Split(path, start, min(start + step, length)) for start in range(0, max(length, 1), step)
        )
    return splits


def blocks(split: Split, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Read the text of a split in blocks of whole entries.

    Raises:
        OSError: The file cannot be read; the blocks returned before are valid.
        DamagedError: An encoded file is damaged; the blocks returned before are valid.
    """
    with Path(split.path).open("rb") as file:
        if is_encoded(split.path):
            yield from cut(decoded(file, block_bytes), None)
            return
        begin = _first_head(file, split) if split.start else 0
        if begin is not None:
            file.seek(begin)
            yield from cut(iter(lambda: file.read(block_bytes), b""), split.end - begin)


def _first_head(file: BinaryIO, split: Split) -> int | None:
    """Return the byte at which the split's first entry begins; None if no entry begins in the split."""
    # Start one byte early: if that byte is a line feed, a line begins exactly at the split's start.
    begin, begins_line = split.start - 1, False
    file.seek(begin)
    while begin < split.end and (piece := file.readline(_ENTRY_MAX)):
        if begins_line and begins_entry(piece):
            return begin
        begin, begins_line = begin + len(piece), piece.endswith(b"\n")
    return None


def cut(chunks: Iterable[bytes], limit: int | None) -> Iterator[bytes]:
    """Join chunks of text into blocks of whole entries, up to the first header at or after ``limit``.

    Args:
        chunks: The text from the begin of a line, in chunks of any size.
        limit: The number of bytes that this split owns; None for all.
    """
    # ``held`` is the text read but not yet returned; ``position`` is the offset of its first byte.
    # Before the offset ``plain`` of ``held`` no line but the first has a header, so that no line is examined
    # again when more text follows it.
    held, position, plain = b"", 0, 0
    damage = None
    pieces = iter(chunks)
    while True:
        try:
            chunk = next(pieces, None)
        except DamagedError as error:
            # Return the text before the damage first, and raise the error at the end.
            chunk, damage = None, error
        if chunk is None:
            break
        held += chunk
        # A. The text reaches beyond the split: stop at the next split's first header, if it is here yet.
        if limit is not None and position + len(held) > limit:
            stop = next_head(held, max(limit - position, plain))
            if stop is not None:
                if stop:
                    yield held[:stop]
                return
        # B. Return all but the last entry, which the next chunk may continue. An entry beyond the maximum is
        # cut at its last line feed, or anywhere if it has none.
        end, whole = last_head(held, plain), held.rfind(b"\n") + 1
        if end == 0 and len(held) > _ENTRY_MAX:
            end = whole or len(held)
        if end:
            yield held[:end]
            held, position = held[end:], position + end
        plain = max(whole - end, 0)
    # C. The file has ended: return what is left of the split. With a line feed added, the last line counts as
    # a whole one.
    if limit is not None and position + len(held) > limit:
        stop = next_head(held + b"\n", max(limit - position, plain))
        held = held if stop is None else held[:stop]
    if damage is not None:
        # A torn line may say something else than the whole one.
        yield held[: held.rfind(b"\n") + 1]
        raise damage
    if held:
        yield held


def next_head(text: bytes, start: int) -> int | None:
    """Return the begin of the first whole line with a header at or after ``start``; None if there is none."""
    if start and text[start - 1 : start] != b"\n":
        start = text.find(b"\n", start) + 1
        if start == 0:
            return None
    while (end := text.find(b"\n", start)) >= 0:
        if begins_entry(text[start:end]):
            return start
        start = end + 1
    return None


def last_head(text: bytes, plain: int = 0) -> int:
    """Return the begin of the last whole line with a header; 0 if no line after the first has one.

    Args:
        text: The text from the begin of a line.
        plain: The begin of a line before which no line but the first has a header.
    """
    end = text.rfind(b"\n")
    while end > max(plain - 1, 0):
        start = text.rfind(b"\n", 0, end) + 1
        if begins_entry(text[start:end]):
            return start
        end = start - 1
    return 0
