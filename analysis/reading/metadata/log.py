"""Reads a whole metadata log: a snapshot, the segments, and what is missing between them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.reading.events.entries import Entry, Row
from barnabas.analysis.reading.files.encodings import DamagedError
from barnabas.analysis.reading.metadata.history import History
from barnabas.analysis.reading.metadata.schemas import MetadataError
from barnabas.analysis.reading.metadata.segments import (
    Batch,
    batches,
    cluster_of,
    epoch_of,
    records,
    segments_of,
    snapshot_of,
)

_ENTRIES = 10_000


def read_log(segment: Path) -> Iterator[list[Entry]]:
    """Read the whole metadata log to which a segment belongs, some thousand entries at a time.

    A snapshot gives the state before the first segment. It does not say when anything happened, so it gives
    entries only about partitions without a leader: they had lost it when it was made. Each entry about a node
    names the cluster if its id is known.

    Raises:
        OSError: A file cannot be read; the entries returned before are valid.
        DamagedError: A file is torn or damaged; likewise.
    """
    history = History()
    snapshot = snapshot_of(segment.parent)
    begin = 0
    unled: Iterator[Entry] = iter(())
    if snapshot is not None:
        begin, path = snapshot
        for _ in _read(path, history, 0, None):
            pass
        unled = history.unled(begin, epoch_of(path))
    offsets, cluster = _Offsets(begin), cluster_of(segment.parent)
    found: list[Entry] = []
    damage = None
    entries = chain(
        unled,
        chain.from_iterable(_read(path, history, begin, offsets) for path in segments_of(segment.parent)),
    )
    while True:
        try:
            entry = next(entries, None)
        except (OSError, DamagedError) as error:
            # Return the entries before the damage first, and raise the error at the end.
            entry, damage = None, error
        if entry is None:
            break
        if cluster is not None and "subject" in entry.row:
            entry.row["cluster_id"] = cluster
        found.append(entry)
        if len(found) >= _ENTRIES:
            yield found
            found = []
    if found:
        yield found
    if offsets.missing:
        reasons = [*offsets.missing, *(() if damage is None else (str(damage),))]
        raise DamagedError("; ".join(reasons)) from damage
    if damage is not None:
        raise damage


class _Offsets:
    """The offsets of the records that were read, without which states cannot be computed.

    Every record of the log has an offset, also those without content that an idle controller writes.

    Args:
        begin: The offset of the first record that is needed.
    """

    def __init__(self, begin: int) -> None:
        self._next = begin
        self._last_ms: int | None = None
        self.missing: list[str] = []

    def reach(self, batch: Batch) -> Entry | None:
        """Return the entry that stands for the records which are missing before a batch; None if none are."""
        first, last_ms = self._next, self._last_ms
        self._next, self._last_ms = max(first, batch.next_offset), batch.timestamp_ms
        if batch.offset <= first:
            return None
        text = f"the records at the offsets {first} to {batch.offset - 1} are missing"
        self.missing.append(f"{text}; of what was known before them nothing is taken for granted after them")
        row: Row = {
            "understood": True,
            "role": "controller",
            "kind": BrokerKind.RECORDS_MISSING.value,
        }
        if last_ms is not None:
            row["duration_ms"] = max(batch.timestamp_ms - last_ms, 0)
        return Entry(batch.timestamp_ms * 1000, first + 1, text, row)


def _read(path: Path, history: History, begin: int, offsets: _Offsets | None) -> Iterator[Entry]:
    try:
        with path.open("rb") as file:
            for batch in batches(file):
                missing = None if offsets is None else offsets.reach(batch)
                if missing is not None:
                    history.forget()
                    yield missing
                for record in records(batch):
                    if record.offset >= begin:
                        yield from history.entries(record)
    except MetadataError as error:
        raise DamagedError(f"{path.name}: {error}") from error
