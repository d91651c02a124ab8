"""The requests that failed on brokers with unexpected errors, kept until they are sent again."""

from __future__ import annotations

from dataclasses import dataclass, field

from barnabas.cluster.model.ids import BrokerId, TopicPartition


@dataclass(slots=True)
class Failures:
    """The requests to send again.

    Attributes:
        leaderships: By broker, the partitions whose LeaderAndIsr failed.
        metadata: The brokers that may lack metadata.
        deletions: The topics of which a broker failed to delete a replica.
        removals: By broker, the partitions whose replicas it failed to delete after a reassignment.
        rounds: The repetitions in a row.
        is_scheduled: Whether a `ResendRequests` is scheduled.
    """

    leaderships: dict[BrokerId, set[TopicPartition]] = field(default_factory=dict)
    metadata: set[BrokerId] = field(default_factory=set)
    deletions: set[str] = field(default_factory=set)
    removals: dict[BrokerId, set[TopicPartition]] = field(default_factory=dict)
    rounds: int = 0
    is_scheduled: bool = False

    @property
    def is_empty(self) -> bool:
        """Return whether no request is to be sent again."""
        return not (self.leaderships or self.metadata or self.deletions or self.removals)

    def forget_broker(self, broker: BrokerId) -> None:
        """Drop the failures of a broker epoch that has ended; the next one is sent all state."""
        self.leaderships.pop(broker, None)
        self.removals.pop(broker, None)
        self.metadata.discard(broker)

    def clear(self) -> None:
        """Drop everything."""
        self.leaderships.clear()
        self.metadata.clear()
        self.deletions.clear()
        self.removals.clear()
        self.rounds = 0
        self.is_scheduled = False
