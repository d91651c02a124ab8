"""The open and the just ended transactions of a log, which bound what a read_committed consumer sees.

Source: KIP-98; ``ProducerStateManager`` (``ongoingTxns``, ``unreplicatedTxns``, ``completeTxn``,
``lastStableOffset``) and ``EndTransactionMarker`` of Kafka 2.8. No offset below the last stable offset
belongs to a transaction whose outcome is undecided, or known to this replica alone.
"""

from __future__ import annotations

import struct
from collections import deque
from enum import IntEnum, unique
from typing import NamedTuple

from barnabas.broker.core.records.record_batch import HEADER_SIZE, RecordBatch
from barnabas.broker.core.records.records import CorruptRecordsError, record_places
from barnabas.cluster.model.ids import Offset


@unique
class ControlRecordType(IntEnum):
    """The type of a control record; other types are ignored."""

    ABORT = 0
    COMMIT = 1


class EndTransactionMarker(NamedTuple):
    """The record that ends a transaction in one partition.

    Attributes:
        control_type: Commit or abort.
        coordinator_epoch: The epoch of the transaction coordinator that wrote it.
    """

    control_type: ControlRecordType
    coordinator_epoch: int


class CompletedTransaction(NamedTuple):
    """A transaction that has ended in this log.

    Attributes:
        producer_id: The producer's id.
        first_offset: The offset of its first record.
        last_offset: The offset of its marker.
        is_aborted: Whether it was aborted.
    """

    producer_id: int
    first_offset: Offset
    last_offset: Offset
    is_aborted: bool


class AbortedTransaction(NamedTuple):
    """An entry of a segment's ``.txnindex``.

    Attributes:
        producer_id: The producer's id.
        first_offset: The offset of its first record.
        last_offset: The offset of its marker.
        last_stable_offset: The first offset of a transaction that was open then, else the one after the
            marker. A read that ends below it needs no entry after this one.
    """

    producer_id: int
    first_offset: Offset
    last_offset: Offset
    last_stable_offset: Offset


_KNOWN_TYPES = frozenset(ControlRecordType)
_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")


def end_marker(batch: RecordBatch) -> EndTransactionMarker | None:
    """Return the transaction marker in a control batch, or None.

    None means that compaction removed the record, or that it is of another type or unreadable. Then the
    transaction stays open, and nobody sees records that may have been aborted.
    """
    header, records = batch.header, bytes(batch.data[HEADER_SIZE:])
    try:
        for place in record_places(header, records):
            key_length, key = _short_length(records, place.key_at)
            number = _KEY.unpack_from(records, key)[1]
            value = _short_length(records, key + key_length)[1]
            if number in _KNOWN_TYPES:
                return EndTransactionMarker(ControlRecordType(number), _VALUE.unpack_from(records, value)[1])
    except (CorruptRecordsError, struct.error, IndexError):
        return None
    return None


def _short_length(data: bytes, at: int) -> tuple[int, int]:
    """Decode a length of one byte (markers are short); return it and the position after it."""
    return (data[at] >> 1) ^ -(data[at] & 1), at + 1


class Transactions:
    """The open transactions of one log, and those that ended above the high watermark.

    Args:
        open_since: The first offset of each producer's open transaction.
    """

    def __init__(self, open_since: dict[int, Offset] | None = None) -> None:
        # In the order of their first offsets.
        self._open = dict(sorted((open_since or {}).items(), key=lambda entry: entry[1]))
        self._unreplicated: deque[CompletedTransaction] = deque()

    def begin(self, producer_id: int, first_offset: Offset) -> None:
        """Note the first record of a transaction, at the end of the log."""
        self._open[producer_id] = first_offset

    def complete(
        self, producer_id: int, last_offset: Offset, *, is_aborted: bool
    ) -> CompletedTransaction | None:
        """Note the marker of a transaction, at the end of the log; return None if it had no record here."""
        first_offset = self._open.pop(producer_id, None)
        if first_offset is None:
            return None
        completed = CompletedTransaction(producer_id, first_offset, last_offset, is_aborted)
        self._unreplicated.append(completed)
        return completed

    def last_stable_offset_after(self, completed: CompletedTransaction) -> Offset:
        """Return the last stable offset once ``completed``, which has just ended, is replicated."""
        return next(iter(self._open.values()), Offset(completed.last_offset + 1))

    def replicated(self, high_watermark: Offset) -> None:
        """Forget transactions whose markers lie below the high watermark: their outcome is final."""
        while self._unreplicated and self._unreplicated[0].last_offset < high_watermark:
            self._unreplicated.popleft()

    def first_unstable_offset(self, high_watermark: Offset) -> Offset | None:
        """Return the first offset whose outcome is undecided or not replicated; None if there is none."""
        self.replicated(high_watermark)
        undecided = next(iter(self._open.values()), None)
        unreplicated = min((each.first_offset for each in self._unreplicated), default=None)
        if undecided is None or unreplicated is None:
            return unreplicated if undecided is None else undecided
        return min(undecided, unreplicated)
