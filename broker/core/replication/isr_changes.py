"""The times at which a leader notifies the controller of changed ISRs, in batches.

Source: Kafka's ``ZkIsrManager`` of release 2.7 and 2.8 (``IsrChangePropagationConfig``).
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.cluster.model.ids import TopicPartition

CHECK_INTERVAL_MS = 2_500
"""The interval, in milliseconds, between checks whether a notification is due."""

LINGER_MS = 5_000
"""The milliseconds without a further change after which a notification is due."""

MAX_DELAY_MS = 60_000
"""The milliseconds since the last notification after which one is due in spite of further changes."""


class IsrChanges:
    """The partitions whose ISR was changed since the last notification of the controller.

    Times are milliseconds on any one clock.
    """

    def __init__(self, now_ms: int) -> None:
        self._changed: dict[TopicPartition, None] = {}
        self._last_change_ms = now_ms
        self._last_announcement_ms = now_ms

    def __len__(self) -> int:
        return len(self._changed)

    def add(self, topic_partition: TopicPartition, now_ms: int) -> None:
        """Note that the ISR of this partition was changed."""
        self._changed[topic_partition] = None
        self._last_change_ms = now_ms

    def take_due(self, now_ms: int) -> tuple[TopicPartition, ...]:
        """Return and forget the partitions to notify of now, in the order of the changes."""
        quiet = now_ms - self._last_change_ms >= LINGER_MS
        overdue = now_ms - self._last_announcement_ms >= MAX_DELAY_MS
        if not self._changed or not (quiet or overdue):
            return ()
        due = tuple(self._changed)
        self._changed.clear()
        self._last_announcement_ms = now_ms
        return due

    def put_back(self, failed: Iterable[TopicPartition]) -> None:
        """Note that a notification failed: its partitions are due again at the next check."""
        self._changed = dict.fromkeys(failed) | self._changed
