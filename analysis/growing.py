"""Logs that are still being written: finding them, and the byte up to which each holds whole entries.

A log is identified by its inode and its first bytes, so a rolled log keeps its progress under its new name,
and a new log under the old name counts as new. The last entry of a live log is read only when the next entry
begins, because its stack trace may not be written yet. A log that was rolled, or that nobody wrote to for a
while, is read to the end of its last whole line, and one of which both are true to its end.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from barnabas.analysis.reading.files.encodings import is_encoded
from barnabas.analysis.reading.metadata.segments import is_segment
from barnabas.analysis.reading.splits import Split, blocks, cut, last_head
from barnabas.analysis.sources import logs_in, named

_FIRST_BYTES = 64
_TAIL_BYTES = 1024 * 1024
_CHUNK_BYTES = 8 * 1024 * 1024
_LIVE = ".log"


@dataclass(frozen=True, slots=True)
class Log:
    """A log file as the current scan found it.

    Attributes:
        path: The path of the file.
        size: The size in bytes.
        is_closed: Whether no more lines are expected: it was rolled, or nobody wrote to it for a while.
        is_whole: Whether its last line is whole although nothing ends it: it was rolled, and nobody wrote to
            it for a while, or it is encoded.
    """

    path: Path
    size: int
    is_closed: bool
    is_whole: bool


def find_logs(roots: Sequence[str], rest_s: float, unreadable: list[str] | None = None) -> dict[str, Log]:
    """Find the logs that ``roots`` name, each under a key that survives renaming.

    Args:
        roots: Folders, files and globs.
        rest_s: Seconds without a write after which a log counts as closed.
        unreadable: A list that receives each path that cannot be read, with the reason; None to drop them.
    """
    found: dict[str, Log] = {}
    places = [place for root in roots for place in named(root)]
    for path in (
        log
        for place in places
        for log in (logs_in(place, unreadable, is_growing=True) if place.is_dir() else [place])
    ):
        try:
            state = path.stat()
            with path.open("rb") as file:
                begin = file.read(_FIRST_BYTES)
        except OSError as error:
            # A log that is being rolled just now is found under its new name, in this scan or the next.
            if unreadable is not None:
                unreadable.append(f"{path}: {error.strerror}")
            continue
        if len(begin) < _FIRST_BYTES or is_segment(path):
            # A metadata log is read whole, so it cannot be followed.
            continue
        rests = time.time() - state.st_mtime >= rest_s
        is_plain = not is_encoded(str(path))
        is_rolled = not path.name.endswith(_LIVE) and is_plain
        key = f"{state.st_dev:x}-{state.st_ino:x}-{zlib.crc32(begin):08x}"
        found[key] = Log(path, state.st_size, rests or is_rolled, (rests and is_rolled) or not is_plain)
    return found


def whole_until(log: Log, consumed: int) -> int:
    """Return the byte up to which a log holds whole entries, at least ``consumed``."""
    if log.is_closed and log.is_whole:
        return max(log.size, consumed)
    if is_encoded(str(log.path)):
        return consumed
    # Only the tail is searched for the last header. If the tail does not start where reading stopped, it
    # starts inside a line, which is skipped.
    begin = max(consumed, log.size - _TAIL_BYTES)
    with log.path.open("rb") as file:
        file.seek(begin)
        tail = file.read(log.size - begin)
    if log.is_closed:
        # What writes or copies it may stop within a line, and go on later.
        line = tail.rfind(b"\n") + 1
        return begin + line if line or begin == consumed else log.size
    start = 0 if begin == consumed else tail.find(b"\n") + 1
    return begin + start + last_head(tail[start:])


def added_blocks(added: Split) -> Iterator[bytes]:
    """Read what was added to a log, in blocks of whole entries.

    Unlike the splits of a resting file, the range begins and ends at an entry's border already. A
    compressed log is read whole.

    Raises:
        OSError: The log cannot be read; the blocks before were good.
        DamagedError: An encoded log is damaged; the blocks before were good.
    """
    if is_encoded(added.path):
        yield from blocks(added)
        return
    with Path(added.path).open("rb") as file:
        file.seek(added.start)

        def chunks() -> Iterator[bytes]:
            left = added.end - added.start
            while left and (chunk := file.read(min(left, _CHUNK_BYTES))):
                left -= len(chunk)
                yield chunk

        yield from cut(chunks(), None)
