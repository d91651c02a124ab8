"""The broker's copy of the cluster's metadata, from the controller's UpdateMetadata requests.

Source: Kafka's ``MetadataCache``; the receiver's rules are in KIP-4 and ``UpdateMetadataRequest.json`` of
release 2.8.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.ids import LEADER_DURING_DELETE, BrokerId, TopicPartition
from barnabas.cluster.model.requests import UpdateMetadataPartition, UpdateMetadataRequest


@dataclass(frozen=True, slots=True)
class MetadataChange:
    """The changes that one UpdateMetadata request made.

    Attributes:
        cached: The partitions added or replaced, in the order of the request.
        deleted: The partitions removed because their topic is being deleted.
        lost: The partitions removed because a new controller does not know them; their logs and commits stay.
    """

    cached: tuple[UpdateMetadataPartition, ...]
    deleted: tuple[TopicPartition, ...]
    lost: tuple[TopicPartition, ...]

    @property
    def removed(self) -> tuple[TopicPartition, ...]:
        """The partitions that the cache no longer has."""
        return self.deleted + self.lost


class MetadataCache:
    """The live brokers, topics and leaders of the controller's last requests.

    Partitions are merged into the known ones; the list of live brokers replaces the old one. The cache does
    not check epochs: the control gate has done so.

    Partitions that a new controller has not named when its list is complete are removed: ZooKeeper has lost
    them, and no controller will send their deletion. Kafka's cache keeps such topics until its broker
    restarts.
    """

    def __init__(self) -> None:
        self._brokers: dict[BrokerId, Broker] = {}
        self._topics: dict[str, dict[int, UpdateMetadataPartition]] = {}
        self._controller: BrokerId | None = None
        self._is_complete = False
        self._sender: tuple[BrokerId, ControllerEpoch] | None = None
        self._unnamed: dict[str, dict[int, UpdateMetadataPartition]] = {}
        """The partitions of former controllers that the present one has not named."""

    def apply(self, request: UpdateMetadataRequest) -> MetadataChange:
        """Apply an admitted request; return the changes, for ``state-change.log``."""
        self._brokers = {broker.id: broker for broker in request.live_brokers}
        self._is_complete |= request.is_complete
        sender = request.controller_id, request.controller_epoch
        if sender != self._sender:
            self._sender = sender
            self._unnamed = {topic: dict(partitions) for topic, partitions in self._topics.items()}
        cached: list[UpdateMetadataPartition] = []
        deleted: list[TopicPartition] = []
        lost: list[TopicPartition] = []
        for partition in request.partitions:
            topic, number = partition.topic_partition
            self._unnamed.get(topic, {}).pop(number, None)
            if partition.state.leader_and_isr.leader == LEADER_DURING_DELETE:
                self._forget(partition.topic_partition)
                deleted.append(partition.topic_partition)
            else:
                self._topics.setdefault(topic, {})[number] = partition
                cached.append(partition)
        if request.is_complete:
            lost = [TopicPartition(topic, each) for topic, left in self._unnamed.items() for each in left]
            self._unnamed = {}
            for topic_partition in lost:
                self._forget(topic_partition)
        return MetadataChange(tuple(cached), tuple(deleted), tuple(lost))

    def _forget(self, topic_partition: TopicPartition) -> None:
        partitions = self._topics.get(topic_partition.topic)
        if partitions is not None:
            partitions.pop(topic_partition.partition, None)
            if not partitions:
                del self._topics[topic_partition.topic]

    def controller_changed(self, controller: BrokerId | None) -> None:
        """Note which broker holds ``/controller`` by this broker's own watch; None if no broker does."""
        self._controller = controller

    @property
    def controller(self) -> BrokerId | None:
        """The active controller if it is also a live broker, so that clients are never sent to a dead one."""
        return self._controller if self._controller in self._brokers else None

    @property
    def is_complete(self) -> bool:
        """Return whether a controller has sent all partitions at least once."""
        return self._is_complete

    @property
    def live_brokers(self) -> Collection[Broker]:
        """The brokers that were live or shutting down in the controller's last request."""
        return self._brokers.values()

    def broker(self, broker_id: BrokerId) -> Broker | None:
        """Return the live broker of that number, or None."""
        return self._brokers.get(broker_id)

    @property
    def topics(self) -> Collection[str]:
        """The names of all known topics."""
        return self._topics.keys()

    @property
    def partition_count(self) -> int:
        """The number of known partitions, over all topics."""
        return sum(map(len, self._topics.values()))

    def partitions(self, topic: str) -> Mapping[int, UpdateMetadataPartition]:
        """Return the partitions of a topic by number; empty for an unknown topic."""
        return self._topics.get(topic, {})

    def partition(self, topic_partition: TopicPartition) -> UpdateMetadataPartition | None:
        """Return the last known state of a partition, or None."""
        return self._topics.get(topic_partition.topic, {}).get(topic_partition.partition)
