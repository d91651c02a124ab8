"""Logs that are still being written, as a source of Structured Streaming.

How far each log was read is the stream's offset. A log is known by its inode and its first bytes, so that one
that is rolled keeps its place under its new name, and a new one under the old name is a new one. Of a live
log the last entry waits until the next one begins, since its trace may not be there yet; a rolled log, and
one that nobody wrote to for a while, is read to its end.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from analysis.scan import Reading, plain, read
from analysis.sources import logs_in, named
from analysis.splits import Split, blocks, cut, is_compressed, last_head
from analysis.tables import EVENTS

NAME = "state-change-logs"
"""What ``readStream.format`` calls the source."""

_FIRST_BYTES = 64
_TAIL_BYTES = 1024 * 1024
_CHUNK_BYTES = 8 * 1024 * 1024
_LIVE = ".log"


@dataclass(frozen=True, slots=True)
class Log:
    """A log as it is found now.

    Attributes:
        path: Where it lies.
        size: Its bytes.
        is_closed: Whether no more is expected: it was rolled, or rests.
    """

    path: Path
    size: int
    is_closed: bool


def find_logs(roots: Sequence[str], rest_s: float, closed: list[str] | None = None) -> dict[str, Log]:
    """The logs below folders, and files named themselves, by what they are known by whatever their name is.

    Args:
        roots: Folders, files and globs.
        rest_s: A log that was not written to for so long rests.
        closed: Gets what cannot be read, with the reason; None where nobody asks.
    """
    found: dict[str, Log] = {}
    places = [place for root in roots for place in named(root)]
    for path in (log for place in places for log in (logs_in(place, closed) if place.is_dir() else [place])):
        try:
            state = path.stat()
            with path.open("rb") as file:
                begin = file.read(_FIRST_BYTES)
        except OSError as error:
            # Rolled while we look: it is found under its new name, now or next time. Or not for us to read.
            if closed is not None:
                closed.append(f"{path}: {error.strerror}")
            continue
        if len(begin) < _FIRST_BYTES:
            continue
        rests = time.time() - state.st_mtime >= rest_s
        is_rolled = not path.name.endswith(_LIVE) and not is_compressed(str(path))
        key = f"{state.st_dev:x}-{state.st_ino:x}-{zlib.crc32(begin):08x}"
        found[key] = Log(path, state.st_size, rests or is_rolled)
    return found


def unreadable(roots: Sequence[str]) -> frozenset[str]:
    """Which logs and folders cannot be read now, each with the reason; those just being rolled too."""
    closed: list[str] = []
    find_logs(roots, 0.0, closed)
    return frozenset(closed)


def whole_until(log: Log, consumed: int) -> int:
    """Up to which byte of a log there are whole entries, not below ``consumed``."""
    if log.is_closed:
        return max(log.size, consumed)
    if is_compressed(str(log.path)):
        return consumed
    begin = max(consumed, log.size - _TAIL_BYTES)
    with log.path.open("rb") as file:
        file.seek(begin)
        tail = file.read(log.size - begin)
    start = 0 if begin == consumed else tail.find(b"\n") + 1
    return begin + start + last_head(tail[start:])


class Range(InputPartition):
    """Bytes of a log that one task reads."""

    def __init__(self, path: str, start: int, end: int) -> None:
        super().__init__(path)
        self.path = path
        self.start = start
        self.end = end


class GrowingLogs(DataSourceStreamReader):
    """Reads what was added since the last batch.

    Args:
        options: ``paths`` joined by line feeds, ``zone``, ``broker`` ("" for none), ``rest_s``, and
            ``notes``, a folder for what could not be read (``noted``).
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self._roots = options["paths"].split("\n")
        self._rest_s = float(options["rest_s"])
        self._notes = Path(options["notes"])
        broker = options["broker"]
        self._reading = Reading(ZoneInfo(options["zone"]), int(broker) if broker else None)

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 (Spark's own name)
        """Nothing was read yet."""
        return {"": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: ARG002, N802
        """How far there are whole entries now; logs that are gone keep their place."""
        logs = find_logs(self._roots, self._rest_s)
        return start | {key: whole_until(log, start.get(key, 0)) for key, log in logs.items()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """What was added to each log."""
        logs = find_logs(self._roots, self._rest_s)
        return [
            Range(str(logs[key].path), start.get(key, 0), until)
            for key, until in end.items()
            if key in logs and until > start.get(key, 0)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of the entries in a range."""
        if not isinstance(partition, Range):
            raise TypeError(f"expected a range of a log, not {partition!r}")
        texts = _texts(partition)
        source = Path(partition.path).as_uri()
        for tally, rows in read(iter([(source, partition.start, texts)]), self._reading):
            if rows is not None:
                yield plain(rows)
            elif tally.error is not None or tally.replaced:
                # The same range gives the same note, should it be read again.
                self._notes.mkdir(parents=True, exist_ok=True)
                name = f"{zlib.crc32(source.encode()):08x}-{partition.start}.json"
                (self._notes / name).write_text(json.dumps(tally.row()), encoding="utf-8")


def noted(notes: Path) -> list[dict[str, Any]]:
    """The rows of the table ``files`` of what could not be read to its end, or only with bytes replaced."""
    return [json.loads(note.read_text(encoding="utf-8")) for note in sorted(notes.glob("*.json"))]


def _texts(part: Range) -> Iterator[bytes]:
    if is_compressed(part.path):
        yield from blocks(Split(part.path, 0, part.end))
        return
    with Path(part.path).open("rb") as file:
        file.seek(part.start)

        def chunks() -> Iterator[bytes]:
            left = part.end - part.start
            while left and (chunk := file.read(min(left, _CHUNK_BYTES))):
                left -= len(chunk)
                yield chunk

        yield from cut(chunks(), None)


class GrowingLogsSource(DataSource):
    """What Spark asks for the reader."""

    @classmethod
    def name(cls) -> str:
        """As ``NAME``."""
        return NAME

    def schema(self) -> StructType:
        """The table ``events``."""
        return EVENTS

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802
        """The reader of one query."""
        return GrowingLogs(self.options)
