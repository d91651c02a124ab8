"""The rules by which a cleaning may drop batches of transactions.

Source: ``LogCleaner.scala`` (``CleanedTransactionMetadata``, ``Cleaner.shouldDiscardBatch``) of Kafka 2.8.
Data of an aborted transaction is dropped at once. A marker stays until all data of its transaction is gone,
and then as long as a tombstone would: a consumer that has read the data must learn how the transaction ended.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.core.records.record_batch import BatchHeader
from barnabas.broker.core.records.transactions import (
    AbortedTransaction,
    ControlRecordType,
    EndTransactionMarker,
)


class CleanedTransactions:
    """The transactions found so far by one pass over a log.

    Args:
        aborted: The aborted transactions of the section, in any order.

    Attributes:
        kept: The aborted transactions whose markers must stay in the index of the segment that is being
            written; the caller takes them out.
    """

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        # Sorted in descending order, so that the next transaction to begin is popped from the end.
        self._ahead = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
        self._open_aborted: dict[int, AbortedTransaction] = {}
        self._seen_aborted: set[int] = set()
        self._seen_committed: set[int] = set()
        self.kept: list[AbortedTransaction] = []

    def is_aborted(self, header: BatchHeader) -> bool:
        """Return whether a data batch belongs to an aborted transaction.

        Must be called for every data batch, in the order of the log.
        """
        self._advance(header.last_offset)
        if not header.is_transactional:
            return False
        if header.producer_id in self._open_aborted:
            self._seen_aborted.add(header.producer_id)
            return True
        self._seen_committed.add(header.producer_id)
        return False

    def may_drop_marker(self, header: BatchHeader, marker: EndTransactionMarker | None) -> bool:
        """Return whether a marker may go, because all data of its transaction is gone.

        Must be called for every control batch, in the order of the log.

        Args:
            header: The batch's.
            marker: Its record; None where an earlier cleaning has removed it.
        """
        self._advance(header.last_offset)
        if marker is None:
            return True
        producer_id = header.producer_id
        if marker.control_type is ControlRecordType.COMMIT:
            was_seen = producer_id in self._seen_committed
            self._seen_committed.discard(producer_id)
            return not was_seen
        aborted = self._open_aborted.pop(producer_id, None)
        if aborted is None or producer_id not in self._seen_aborted:
            return True
        self._seen_aborted.discard(producer_id)
        self.kept.append(aborted)
        return False

    def _advance(self, offset: int) -> None:
        """Open the aborted transactions that begin at ``offset`` or before."""
        while self._ahead and self._ahead[-1].first_offset <= offset:
            aborted = self._ahead.pop()
            self._open_aborted.setdefault(aborted.producer_id, aborted)
