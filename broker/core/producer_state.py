"""The state that a log keeps of each idempotent producer, to tell a retry from a gap.

Source: KIP-98, KIP-360; ``core/log/ProducerStateManager.scala`` and ``Log.analyzeAndValidateProducerState``
of Kafka 2.8. The leader checks a batch before it writes it. Every replica, and recovery, rebuilds the state
from the batches themselves, so a new leader continues where the old one stopped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from barnabas.broker.core.batch_validation import AppendOrigin
from barnabas.broker.core.record_batch import NO_SEQUENCE, BatchHeader, Buffer, advance_sequence
from barnabas.broker.core.refusals import Reason, Refusal
from barnabas.broker.core.transactions import (
    CompletedTransaction,
    ControlRecordType,
    EndTransactionMarker,
    Transactions,
)
from barnabas.cluster.model.ids import Offset, ProducerId

CACHED_BATCHES = 5
"""The number of batches kept per producer to recognise retries: the most that a client may have in flight."""

EXPIRATION_MS = 604_800_000
"""Milliseconds after which an idle producer is forgotten (``transactional.id.expiration.ms``, 7 days)."""

NO_TRANSACTION = Offset(-1)

SNAPSHOT_VERSION = 1
_SNAPSHOT_HEAD = Struct(">hIi")
_SNAPSHOT_ENTRY = Struct(">qhiqiqiq")
_SNAPSHOT_CRC_START = 6


class CachedBatch(NamedTuple):
    """A batch that a producer wrote.

    Attributes:
        first_sequence: Sequence of its first record.
        last_sequence: Sequence of its last record.
        first_offset: Offset of its first record.
        last_offset: Offset of its last record.
        timestamp: Its maximum timestamp in milliseconds.
    """

    first_sequence: int
    last_sequence: int
    first_offset: Offset
    last_offset: Offset
    timestamp: int


class CorruptSnapshotError(Exception):
    """A producer snapshot that is not in Kafka's format, or whose checksum is wrong."""


@dataclass(slots=True)
class ProducerEntry:
    """A producer as this log knows it.

    Attributes:
        producer_id: The producer's id.
        epoch: Its newest epoch.
        batches: Its last batches in that epoch, oldest first, at most five.
        last_timestamp: The newest batch's maximum timestamp in milliseconds: expiry goes by it.
        coordinator_epoch: Of the transaction coordinator that wrote its last marker, -1 for none.
        transaction_first_offset: The first offset of its open transaction, -1 for none.
    """

    producer_id: ProducerId
    epoch: int
    batches: deque[CachedBatch] = field(default_factory=lambda: deque(maxlen=CACHED_BATCHES))
    last_timestamp: int = -1
    coordinator_epoch: int = -1
    transaction_first_offset: Offset = NO_TRANSACTION

    @property
    def last_sequence(self) -> int:
        """Return the sequence of the newest record, -1 if no batch is known."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def duplicate_of(self, header: BatchHeader) -> CachedBatch | None:
        """Return the cached batch that ``header`` is a retry of, or None."""
        if header.producer_epoch != self.epoch:
            return None
        for batch in self.batches:
            if batch.first_sequence == header.base_sequence and batch.last_sequence == header.last_sequence:
                return batch
        return None


class ProducerState:
    """The state of all producers of one log.

    Attributes:
        transactions: The transactions that are open, or ended above the high watermark.
    """

    def __init__(self, entries: Iterable[ProducerEntry] = ()) -> None:
        self._entries: dict[int, ProducerEntry] = {entry.producer_id: entry for entry in entries}
        self.transactions = Transactions(
            {
                entry.producer_id: entry.transaction_first_offset
                for entry in self
                if entry.transaction_first_offset != NO_TRANSACTION
            }
        )

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[ProducerEntry]:
        return iter(self._entries.values())

    def get(self, producer_id: int) -> ProducerEntry | None:
        """Return the producer's entry, or None."""
        return self._entries.get(producer_id)

    def check(self, header: BatchHeader, origin: AppendOrigin) -> CachedBatch | Refusal | None:
        """Check the epoch and sequence of a batch that a leader is about to append.

        Returns:
            The cached batch if this is a retry of it, a refusal if epoch or sequence are wrong, None if the
            batch may be written. A producer that this log does not know may start at any sequence.
        """
        entry = self._entries.get(header.producer_id)
        if entry is None or not header.has_producer_id:
            return None
        if header.producer_epoch < entry.epoch:
            return _refuse(Reason.STALE_PRODUCER_EPOCH, header, f"expected epoch {entry.epoch} or later")
        if origin is AppendOrigin.COORDINATOR:
            return None
        duplicate = entry.duplicate_of(header)
        if duplicate:
            return duplicate
        if header.producer_epoch > entry.epoch:
            if header.base_sequence != 0:
                return _refuse(Reason.NEW_EPOCH_NOT_AT_ZERO, header, "expected sequence 0")
            return None
        expected = advance_sequence(entry.last_sequence, 1)
        if header.base_sequence != expected:
            return _refuse(Reason.SEQUENCE_GAP, header, f"expected sequence {expected}")
        return None

    def update(
        self, header: BatchHeader, marker: EndTransactionMarker | None = None
    ) -> CompletedTransaction | None:
        """Add a batch that is in the log, at the offsets of its header; nothing is checked.

        Args:
            header: The batch's.
            marker: The marker in a control batch.

        Returns:
            The transaction that ended with it, if it had a record in this log.
        """
        if not header.has_producer_id:
            return None
        entry = self._entry_of(header)
        if header.is_control:
            return self._end_transaction(entry, header, marker) if marker else None
        base_offset, last_offset = Offset(header.base_offset), Offset(header.last_offset)
        sequences = header.base_sequence, header.last_sequence
        entry.batches.append(CachedBatch(*sequences, base_offset, last_offset, header.max_timestamp))
        if header.is_transactional and entry.transaction_first_offset == NO_TRANSACTION:
            entry.transaction_first_offset = base_offset
            self.transactions.begin(entry.producer_id, base_offset)
        return None

    def _end_transaction(
        self, entry: ProducerEntry, header: BatchHeader, marker: EndTransactionMarker
    ) -> CompletedTransaction | None:
        entry.transaction_first_offset = NO_TRANSACTION
        entry.coordinator_epoch = marker.coordinator_epoch
        is_aborted = marker.control_type is ControlRecordType.ABORT
        last_offset = Offset(header.last_offset)
        return self.transactions.complete(entry.producer_id, last_offset, is_aborted=is_aborted)

    def _entry_of(self, header: BatchHeader) -> ProducerEntry:
        """Return the batch's producer, with its epoch and last timestamp set to the batch's."""
        entry = self._entries.get(header.producer_id)
        if entry is None:
            entry = ProducerEntry(ProducerId(header.producer_id), header.producer_epoch)
            self._entries[header.producer_id] = entry
        elif entry.epoch != header.producer_epoch:
            entry.epoch = header.producer_epoch
            entry.batches.clear()
        entry.last_timestamp = header.max_timestamp
        return entry

    def expire(self, idle_since_ms: int) -> tuple[ProducerId, ...]:
        """Forget the producers whose newest batch is of ``idle_since_ms`` or older, and return their ids.

        Producers with an open transaction stay.
        """
        idle = tuple(
            entry.producer_id
            for entry in self
            if entry.last_timestamp <= idle_since_ms and entry.transaction_first_offset == NO_TRANSACTION
        )
        for producer_id in idle:
            del self._entries[producer_id]
        return idle

    def clear(self) -> None:
        """Forget all producers, and their transactions."""
        self._entries.clear()
        self.transactions = Transactions()


def encode_snapshot(state: ProducerState) -> bytes:
    """Encode the content of a ``.snapshot`` file: a row for each cached batch, oldest first.

    The format is Kafka's, but Kafka writes one row per producer, for its newest batch. Kafka keeps the last
    row of a producer, so it reads our files correctly; we read all rows, so that a retry of an older batch is
    still recognised as a duplicate after a clean stop, a roll or a truncation.
    """
    rows = [_encode_row(entry, batch) for entry in state for batch in entry.batches or (None,)]
    body = Struct(">i").pack(len(rows)) + b"".join(rows)
    return Struct(">hI").pack(SNAPSHOT_VERSION, crc32c(body)) + body


def decode_snapshot(data: Buffer) -> ProducerState:
    """Decode the state in a ``.snapshot`` file.

    Raises:
        CorruptSnapshotError: Wrong version, length or checksum.
    """
    if len(data) < _SNAPSHOT_HEAD.size:
        raise CorruptSnapshotError(f"{len(data)} bytes, expected {_SNAPSHOT_HEAD.size} or more")
    version, crc, count = _SNAPSHOT_HEAD.unpack_from(data)
    if version != SNAPSHOT_VERSION:
        raise CorruptSnapshotError(f"version {version}, expected {SNAPSHOT_VERSION}")
    actual = crc32c(memoryview(data)[_SNAPSHOT_CRC_START:])
    if actual != crc:
        raise CorruptSnapshotError(f"CRC {crc:#010x}, but the content has {actual:#010x}")
    expected = _SNAPSHOT_HEAD.size + count * _SNAPSHOT_ENTRY.size
    if len(data) != expected:
        raise CorruptSnapshotError(f"{len(data)} bytes for {count} producers, expected {expected}")
    rows = memoryview(data)[_SNAPSHOT_HEAD.size :]
    entries: dict[ProducerId, ProducerEntry] = {}
    # Several rows of one producer and epoch are its batches, oldest first.
    for row in _SNAPSHOT_ENTRY.iter_unpack(rows):
        entry = _decode_row(row)
        former = entries.get(entry.producer_id)
        if former is not None and former.epoch == entry.epoch:
            entry.batches = deque((*former.batches, *entry.batches), maxlen=CACHED_BATCHES)
        entries[entry.producer_id] = entry
    return ProducerState(entries.values())


def _encode_row(entry: ProducerEntry, batch: CachedBatch | None) -> bytes:
    return _SNAPSHOT_ENTRY.pack(
        entry.producer_id,
        entry.epoch,
        batch.last_sequence if batch else NO_SEQUENCE,
        batch.last_offset if batch else -1,
        batch.last_offset - batch.first_offset if batch else 0,
        entry.last_timestamp if batch is None or batch is entry.batches[-1] else batch.timestamp,
        entry.coordinator_epoch,
        entry.transaction_first_offset,
    )


def _decode_row(row: tuple[int, ...]) -> ProducerEntry:
    producer_id, epoch, last_sequence, last_offset, delta, timestamp, coordinator_epoch, first_open = row
    entry = ProducerEntry(ProducerId(producer_id), epoch)
    entry.last_timestamp = timestamp
    entry.coordinator_epoch = coordinator_epoch
    entry.transaction_first_offset = Offset(first_open)
    if last_offset >= 0:
        first_sequence = advance_sequence(last_sequence, -delta)
        first_offset = Offset(last_offset - delta)
        entry.batches.append(
            CachedBatch(first_sequence, last_sequence, first_offset, Offset(last_offset), timestamp)
        )
    return entry


def _refuse(reason: Reason, header: BatchHeader, expected: str) -> Refusal:
    found = f"producer {header.producer_id} epoch {header.producer_epoch} sequence {header.base_sequence}"
    return Refusal(reason, f"{found}, {expected}")
