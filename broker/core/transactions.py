"""Which transactions of a log are open, which have just ended: what a read_committed consumer may see.

Source: KIP-98; ``ProducerStateManager`` (``ongoingTxns``, ``unreplicatedTxns``, ``completeTxn``,
``lastStableOffset``) and ``EndTransactionMarker`` of Kafka 2.8. No offset below the last stable one belongs
to a transaction whose outcome is open, or known to this replica alone.
"""

from __future__ import annotations

import struct
from collections import deque
from enum import IntEnum, unique
from typing import NamedTuple

from barnabas.broker.core.record_batch import HEADER_SIZE, RecordBatch
from barnabas.broker.core.records import CorruptRecordsError, record_places
from barnabas.cluster.model.ids import Offset


@unique
class ControlRecordType(IntEnum):
    """What a control record says; of other types nothing is known here."""

    ABORT = 0
    COMMIT = 1


class EndTransactionMarker(NamedTuple):
    """The record that ends a transaction in one partition.

    Attributes:
        control_type: How it ended.
        coordinator_epoch: Of the transaction coordinator that wrote it.
    """

    control_type: ControlRecordType
    coordinator_epoch: int


class CompletedTransaction(NamedTuple):
    """A transaction that has ended in this log.

    Attributes:
        producer_id: Whose.
        first_offset: Of its first record.
        last_offset: Of its marker.
        is_aborted: Whether its records count for nothing.
    """

    producer_id: int
    first_offset: Offset
    last_offset: Offset
    is_aborted: bool


class AbortedTransaction(NamedTuple):
    """An entry of a segment's ``.txnindex``.

    Attributes:
        producer_id: Whose transaction.
        first_offset: Of its first record.
        last_offset: Of its marker.
        last_stable_offset: The first offset of a transaction that was open then, else the one after the
            marker: whoever reads below it needs no entry after this one.
    """

    producer_id: int
    first_offset: Offset
    last_offset: Offset
    last_stable_offset: Offset


_KNOWN_TYPES = frozenset(ControlRecordType)
_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")


def end_marker(batch: RecordBatch) -> EndTransactionMarker | None:
    """What a control batch says.

    None where compaction left no record of it, it is of another kind, or its record cannot be read: the
    transaction stays open then, and nobody sees records that may count for nothing.
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
    """A length of one byte (markers are short), and where what it counts begins."""
    return (data[at] >> 1) ^ -(data[at] & 1), at + 1


class Transactions:
    """The transactions of one log that are open, and those that ended above the high watermark.

    Args:
        open_since: The producers with an open transaction, and where each began.
    """

    def __init__(self, open_since: dict[int, Offset] | None = None) -> None:
        # In the order of their first offsets.
        self._open = dict(sorted((open_since or {}).items(), key=lambda entry: entry[1]))
        self._unreplicated: deque[CompletedTransaction] = deque()

    def begin(self, producer_id: int, first_offset: Offset) -> None:
        """Note a transaction's first record, at the end of the log."""
        self._open[producer_id] = first_offset

    def complete(
        self, producer_id: int, last_offset: Offset, *, is_aborted: bool
    ) -> CompletedTransaction | None:
        """Note a transaction's marker, at the end of the log; None where it had no record here."""
        first_offset = self._open.pop(producer_id, None)
        if first_offset is None:
            return None
        completed = CompletedTransaction(producer_id, first_offset, last_offset, is_aborted)
        self._unreplicated.append(completed)
        return completed

    def last_stable_offset_after(self, completed: CompletedTransaction) -> Offset:
        """The last stable offset once this one, which has just ended, is replicated."""
        return next(iter(self._open.values()), Offset(completed.last_offset + 1))

    def replicated(self, high_watermark: Offset) -> None:
        """Forget those whose markers lie below the high watermark: their outcome is known for good."""
        while self._unreplicated and self._unreplicated[0].last_offset < high_watermark:
            self._unreplicated.popleft()

    def first_unstable_offset(self, high_watermark: Offset) -> Offset | None:
        """The first offset whose outcome is open, or not replicated yet; None where there is none."""
        self.replicated(high_watermark)
        undecided = next(iter(self._open.values()), None)
        unreplicated = min((each.first_offset for each in self._unreplicated), default=None)
        if undecided is None or unreplicated is None:
            return unreplicated if undecided is None else undecided
        return min(undecided, unreplicated)
