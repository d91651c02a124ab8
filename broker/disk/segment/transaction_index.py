"""The aborted transactions of one segment, in Kafka's file format.

Source: ``core/log/TransactionIndex.scala`` of Kafka 2.8. Most segments have none, and no file. An entry
belongs to the segment that holds its marker.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter
from pathlib import Path
from struct import Struct

from barnabas.broker.core.records.transactions import AbortedTransaction
from barnabas.broker.disk.files import append_to_file, remove, sync_file, write_file
from barnabas.cluster.model.ids import Offset

VERSION = 0
_ENTRY = Struct(">hqqqq")


class TransactionIndex:
    """Entries in the order of their markers; the file is read when they are first needed.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries: list[AbortedTransaction] | None = None

    @property
    def is_sane(self) -> bool:
        """Return whether the file, if there is one, holds whole entries of a known version."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return True
        return not len(data) % _ENTRY.size and all(row[0] == VERSION for row in _ENTRY.iter_unpack(data))

    @property
    def entries(self) -> list[AbortedTransaction]:
        """All entries."""
        entries = self._entries
        if entries is None:
            data = self.path.read_bytes() if self.path.exists() else b""
            entries = [
                AbortedTransaction(producer_id, Offset(first), Offset(last), Offset(stable))
                for _, producer_id, first, last, stable in _ENTRY.iter_unpack(data)
            ]
            self._entries = entries
        return entries

    def append(self, aborted: AbortedTransaction) -> None:
        """Add an entry, whose marker lies after all others.

        Raises:
            OSError: The disk refused.
        """
        self.entries.append(aborted)
        append_to_file(self.path, _ENTRY.pack(VERSION, *aborted))

    def truncate_to(self, offset: int) -> None:
        """Drop the entries whose markers lie at ``offset`` or above."""
        if not self.path.exists():
            return
        kept = self.entries[: bisect_left(self.entries, offset, key=attrgetter("last_offset"))]
        if len(kept) < len(self.entries):
            self._entries = kept
            write_file(self.path, b"".join(_ENTRY.pack(VERSION, *each) for each in kept), durable=False)

    def clear(self) -> None:
        """Drop all entries and remove the file."""
        self._entries = []
        if self.path.exists():
            remove(self.path)

    def collect(self, fetch_offset: int, upper_bound: int) -> tuple[list[AbortedTransaction], bool]:
        """Return the aborted transactions with records from ``fetch_offset`` to before ``upper_bound``.

        Returns:
            The transactions, and whether later segments cannot have more.
        """
        found = []
        first = bisect_left(self.entries, fetch_offset, key=attrgetter("last_offset"))
        for aborted in self.entries[first:]:
            if aborted.first_offset < upper_bound:
                found.append(aborted)
            if aborted.last_stable_offset >= upper_bound:
                return found, True
        return found, False

    def load(self) -> None:
        """Read the entries now: the file is about to be renamed."""
        _ = self.entries

    def unload(self) -> None:
        """Free the memory; the file has the entries."""
        self._entries = None

    def sync(self) -> None:
        """Flush the file, if there is one."""
        if self.path.exists():
            sync_file(self.path)
