"""The state that a log keeps of each idempotent producer, to tell a retry from a gap.

Source: KIP-98, KIP-360; ``core/log/ProducerStateManager.scala`` and ``Log.analyzeAndValidateProducerState``
of Kafka 2.8. The leader checks a batch before it writes it. Every replica, and recovery, rebuilds the state
from the batches themselves, so a new leader continues where the old one stopped.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import groupby
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from barnabas.broker.core.records.batch_validation import AppendOrigin
from barnabas.broker.core.records.record_batch import NO_SEQUENCE, BatchHeader, Buffer, advance_sequence
from barnabas.broker.core.records.refusals import Reason, Refusal
from barnabas.broker.core.records.transactions import (
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
_SNAPSHOT_START = Struct(">hI")
_SNAPSHOT_COUNT = Struct(">i")
_SNAPSHOT_ROW = Struct(">qhiqiqiq")
"""A batch of a producer, and what is known of the producer.

Its id, its epoch, the batch's last sequence, last offset, offsets before that and timestamp; the producer's
coordinator epoch and first offset of its transaction, which only the newest row has right. Without a known
batch there is one row, whose last offset is -1.
"""
_PRODUCER_AND_EPOCH = Struct(f">qh{_SNAPSHOT_ROW.size - 10}x")
_WITHOUT_TRANSACTION = Struct(">q").pack(NO_TRANSACTION)
_OLDER_ROWS_BYTES = (CACHED_BATCHES - 1) * _SNAPSHOT_ROW.size
_NO_BATCH = -1
_NOTHING_KNOWN = NO_SEQUENCE, _NO_BATCH, 0

_EXPIRED_PER_STEP = 2_000
"""Producers that are looked at without a break, which takes 1 ms."""


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


class ProducerEntry(NamedTuple):
    """A producer as a log knows it, or knew it when the entry was read.

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
    batches: tuple[CachedBatch, ...] = ()
    last_timestamp: int = -1
    coordinator_epoch: int = -1
    transaction_first_offset: Offset = NO_TRANSACTION

    @property
    def last_sequence(self) -> int:
        """Return the sequence of the newest record, -1 if no batch is known."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE


class ProducerSnapshot:
    """The producers of a log at one moment; may be read and encoded on any thread.

    Args:
        rows: The rows of each producer.
    """

    def __init__(self, rows: list[bytes]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[ProducerEntry]:
        return map(_entry, self._rows)

    def last_offsets(self) -> Iterator[tuple[int, int, int]]:
        """Yield each producer's id, epoch and the last offset of its newest batch, -1 if none is known."""
        for producer_id, epoch, _, last_offset, *_ in map(_newest, self._rows):
            yield producer_id, epoch, last_offset

    def encode(self) -> bytes:
        """Encode the content of a ``.snapshot`` file: a row for each cached batch, oldest first.

        The format is Kafka's, but Kafka writes one row per producer, for its newest batch. Kafka keeps the
        last row of a producer, so it reads our files correctly; we read all rows, so that a retry of an older
        batch is still recognised as a duplicate after a clean stop, a roll or a truncation.
        """
        rows = b"".join(self._rows)
        count = _SNAPSHOT_COUNT.pack(len(rows) // _SNAPSHOT_ROW.size)
        return _SNAPSHOT_START.pack(SNAPSHOT_VERSION, crc32c(rows, crc32c(count))) + count + rows


class ProducerState:
    """The state of all producers of one log.

    A log may know very many producers, each replica of it again. So a producer is kept as its rows of a
    snapshot: some 200 bytes in memory with one batch and 400 with five, of which the garbage collection
    visits nothing, and which are written as they are.

    Args:
        rows: The rows of each producer by its id.

    Attributes:
        transactions: The transactions that are open, or ended above the high watermark.
    """

    def __init__(self, rows: dict[int, bytes] | None = None) -> None:
        self._rows: dict[int, bytes] = rows or {}
        self.transactions = Transactions(
            {
                producer_id: Offset(_newest(each)[-1])
                for producer_id, each in self._rows.items()
                if not each.endswith(_WITHOUT_TRANSACTION)
            }
        )

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[ProducerEntry]:
        return map(_entry, self._rows.values())

    def get(self, producer_id: int) -> ProducerEntry | None:
        """Return the producer's entry, or None."""
        rows = self._rows.get(producer_id)
        return None if rows is None else _entry(rows)

    def snapshot(self) -> ProducerSnapshot:
        """Return the producers as they are now."""
        return ProducerSnapshot(list(self._rows.values()))

    def check(self, header: BatchHeader, origin: AppendOrigin) -> CachedBatch | Refusal | None:
        """Check the epoch and sequence of a batch that a leader is about to append.

        Returns:
            The cached batch if this is a retry of it, a refusal if epoch or sequence are wrong, None if the
            batch may be written. A producer that this log does not know may start at any sequence.
        """
        rows = self._rows.get(header.producer_id)
        if rows is None or not header.has_producer_id:
            return None
        _, epoch, last_sequence, *_ = _newest(rows)
        if header.producer_epoch < epoch:
            return _refuse(Reason.STALE_PRODUCER_EPOCH, header, f"expected epoch {epoch} or later")
        if origin is AppendOrigin.COORDINATOR:
            return None
        if header.producer_epoch > epoch:
            if header.base_sequence != 0:
                return _refuse(Reason.NEW_EPOCH_NOT_AT_ZERO, header, "expected sequence 0")
            return None
        expected = advance_sequence(last_sequence, 1)
        if header.base_sequence == expected:
            return None
        wanted = header.last_sequence, header.last_offset_delta
        for *_, sequence, last_offset, delta, timestamp, _, _ in _SNAPSHOT_ROW.iter_unpack(rows):
            if (sequence, delta) == wanted and last_offset != _NO_BATCH:
                return _batch(sequence, last_offset, delta, timestamp)
        return _refuse(Reason.SEQUENCE_GAP, header, f"expected sequence {expected}")

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
        producer_id, epoch, last_offset = header.producer_id, header.producer_epoch, header.last_offset
        rows = self._rows.get(producer_id, b"")
        newest, coordinator_epoch, first_open, ended = _NOTHING_KNOWN, -1, int(NO_TRANSACTION), None
        if rows:
            _, known_epoch, sequence, offset, delta, _, coordinator_epoch, first_open = _newest(rows)
            if known_epoch == epoch:
                newest = sequence, offset, delta
            else:
                rows = b""
        if header.is_control:
            if marker:
                coordinator_epoch, first_open = marker.coordinator_epoch, NO_TRANSACTION
                is_aborted = marker.control_type is ControlRecordType.ABORT
                ended = self.transactions.complete(producer_id, Offset(last_offset), is_aborted=is_aborted)
            rows = rows[: -_SNAPSHOT_ROW.size]
        else:
            if newest == _NOTHING_KNOWN:
                rows = b""
            newest = header.last_sequence, last_offset, header.last_offset_delta
            if header.is_transactional and first_open == NO_TRANSACTION:
                first_open = header.base_offset
                self.transactions.begin(producer_id, Offset(first_open))
        self._rows[producer_id] = rows[-_OLDER_ROWS_BYTES:] + _SNAPSHOT_ROW.pack(
            producer_id, epoch, *newest, header.max_timestamp, coordinator_epoch, first_open
        )
        return ended

    def expire(self, idle_since_ms: int) -> Generator[None, None, tuple[ProducerId, ...]]:
        """Forget the producers whose newest batch is of ``idle_since_ms`` or older, and return their ids.

        Producers with an open transaction stay. Other work may run between two steps.
        """
        expired = []
        for count, producer_id in enumerate(list(self._rows), start=1):
            rows = self._rows.get(producer_id, _WITHOUT_TRANSACTION)
            if rows.endswith(_WITHOUT_TRANSACTION) and _newest(rows)[-3] <= idle_since_ms:
                del self._rows[producer_id]
                expired.append(ProducerId(producer_id))
            if count % _EXPIRED_PER_STEP == 0:
                yield
        return tuple(expired)

    def clear(self) -> None:
        """Forget all producers, and their transactions."""
        self._rows.clear()
        self.transactions = Transactions()


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
    actual = crc32c(memoryview(data)[_SNAPSHOT_START.size :])
    if actual != crc:
        raise CorruptSnapshotError(f"CRC {crc:#010x}, but the content has {actual:#010x}")
    expected = _SNAPSHOT_HEAD.size + count * _SNAPSHOT_ROW.size
    if len(data) != expected:
        raise CorruptSnapshotError(f"{len(data)} bytes for {count} producers, expected {expected}")
    rows = memoryview(data)[_SNAPSHOT_HEAD.size :]
    # Several rows of one producer and epoch are its batches, oldest first, one behind the other.
    found: dict[int, bytes] = {}
    begin, size = 0, _SNAPSHOT_ROW.size
    for producer, same in groupby(_PRODUCER_AND_EPOCH.iter_unpack(rows)):
        end = begin + size * sum(1 for _ in same)
        found[producer[0]] = bytes(rows[max(begin, end - CACHED_BATCHES * size) : end])
        begin = end
    return ProducerState(found)


def _newest(rows: bytes) -> tuple[int, int, int, int, int, int, int, int]:
    """Return the fields of the newest of a producer's rows."""
    return _SNAPSHOT_ROW.unpack_from(rows, len(rows) - _SNAPSHOT_ROW.size)


def _batch(last_sequence: int, last_offset: int, delta: int, timestamp: int) -> CachedBatch:
    """Return a batch by the fields of its row."""
    first_sequence = (
        last_sequence if last_sequence == NO_SEQUENCE else advance_sequence(last_sequence, -delta)
    )
    return CachedBatch(
        first_sequence, last_sequence, Offset(last_offset - delta), Offset(last_offset), timestamp
    )


def _entry(rows: bytes) -> ProducerEntry:
    """Return a producer by its rows."""
    producer_id, epoch, _, _, _, timestamp, coordinator_epoch, first_open = _newest(rows)
    batches = tuple(_batch(*row[2:6]) for row in _SNAPSHOT_ROW.iter_unpack(rows) if row[3] != _NO_BATCH)
    return ProducerEntry(
        ProducerId(producer_id), epoch, batches, timestamp, coordinator_epoch, Offset(first_open)
    )


def _refuse(reason: Reason, header: BatchHeader, expected: str) -> Refusal:
    found = f"producer {header.producer_id} epoch {header.producer_epoch} sequence {header.base_sequence}"
    return Refusal(reason, f"{found}, {expected}")
