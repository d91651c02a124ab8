"""The failures that brokers answered unexpectedly, kept until the requests are sent again."""

from __future__ import annotations

from dataclasses import dataclass, field

from barnabas.cluster.model.ids import BrokerId, TopicPartition


@dataclass(slots=True)
class Failures:
    """The requests to send again.

    Attributes:
        leaderships: By broker, the partitions of which it carried out no LeaderAndIsr.
        metadata: The brokers that may not know all metadata.
        deletions: The topics of which a broker has not deleted a replica.
        removals: By broker, the partitions whose replicas it was to delete because they were moved away.
        rounds: How often in a row something was said again.
        is_scheduled: Whether a `ResendRequests` is to come.
    """

    leaderships: dict[BrokerId, set[TopicPartition]] = field(default_factory=dict)
    metadata: set[BrokerId] = field(default_factory=set)
    deletions: set[str] = field(default_factory=set)
    removals: dict[BrokerId, set[TopicPartition]] = field(default_factory=dict)
    rounds: int = 0
    is_scheduled: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be said again."""
        return not (self.leaderships or self.metadata or self.deletions or self.removals)

    def forget_broker(self, broker: BrokerId) -> None:
        """Drop the failures of a broker epoch that is over: the next one gets everything."""
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
