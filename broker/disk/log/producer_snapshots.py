"""The ``.snapshot`` files of a partition: the state of its producers up to an offset.

Source: ``core/log/ProducerStateManager.scala`` of Kafka 2.8. A snapshot repeats what the log says; it saves
reading the log again.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from barnabas.broker.core.records.producer_state import CorruptSnapshotError, ProducerState, decode_snapshot
from barnabas.broker.disk.files import read_file, remove, replace_file
from barnabas.broker.disk.names import SNAPSHOT_SUFFIX, files_with, offset_of, segment_file
from barnabas.cluster.model.ids import Offset


class ProducerSnapshots:
    """The snapshot files of one partition's directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @property
    def offsets(self) -> list[Offset]:
        """The offsets that have a snapshot, lowest first."""
        return [offset_of(path) for path in files_with(self._directory, SNAPSHOT_SUFFIX)]

    def write(self, offset: Offset, content: bytes) -> None:
        """Store the encoded state of the producers below ``offset``."""
        replace_file(self._path(offset), content)

    def newest(self, at_most: Offset, at_least: Offset) -> tuple[Offset, ProducerState]:
        """Return the newest readable snapshot between the two offsets, else an empty state at ``at_least``.

        An unreadable snapshot is unlinked, and the one before it is tried.
        """
        for offset in reversed(self.offsets):
            if at_least <= offset <= at_most:
                try:
                    return offset, decode_snapshot(read_file(self._path(offset)))
                except CorruptSnapshotError:
                    remove(self._path(offset))
        return at_least, ProducerState()

    def remove_above(self, offset: int) -> None:
        """Unlink the snapshots above ``offset``, at which the log now ends."""
        for known in self.offsets:
            if known > offset:
                remove(self._path(known))

    def remove_strays(self, base_offsets: Collection[Offset]) -> None:
        """Unlink the snapshots at no segment's base offset, except the newest after the last segment."""
        last = max(base_offsets, default=-1)
        strays = [offset for offset in self.offsets if offset not in base_offsets]
        for offset in strays:
            if offset < last or offset != strays[-1]:
                remove(self._path(offset))

    def _path(self, offset: Offset) -> Path:
        return segment_file(self._directory, offset, SNAPSHOT_SUFFIX)
