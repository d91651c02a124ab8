"""A client's view of a cluster, by Metadata requests: brokers, controller, leaders and in-sync replicas."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import confluent_kafka
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from barnabas.cluster.model.ids import BrokerId, TopicPartition

_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class PartitionView:
    """A partition in a broker's metadata cache.

    Attributes:
        leader: The leader; None if there is none.
        isr: The in-sync replicas.
        replicas: All replicas, preferred leader first.
    """

    leader: BrokerId | None
    isr: tuple[BrokerId, ...]
    replicas: tuple[BrokerId, ...]

    @property
    def is_whole(self) -> bool:
        """Return whether there is a leader and all replicas are in sync."""
        return self.leader is not None and set(self.isr) == set(self.replicas)


@dataclass(frozen=True, slots=True)
class ClusterView:
    """A cluster as one broker reported it.

    Attributes:
        brokers: The ``host:port`` of each live broker by id.
        controller: The controller's broker id; None while there is none.
        partitions: The partitions of all topics, or of the requested topic.
    """

    brokers: Mapping[BrokerId, str] = field(default_factory=dict)
    controller: BrokerId | None = None
    partitions: Mapping[TopicPartition, PartitionView] = field(default_factory=dict)

    @property
    def whole(self) -> int:
        """Return the number of partitions with a leader and all replicas in sync."""
        return sum(partition.is_whole for partition in self.partitions.values())

    def led_by(self, broker: BrokerId) -> int:
        """Return the number of partitions that a broker leads."""
        return sum(partition.leader == broker for partition in self.partitions.values())

    def leader_of_most(self) -> BrokerId:
        """Return the broker that leads most partitions; of equal ones, the one with the lowest id.

        Raises:
            LookupError: No partition has a leader.
        """
        led = Counter(p.leader for p in self.partitions.values() if p.leader is not None)
        if not led:
            raise LookupError(f"none of {len(self.partitions)} partitions has a leader")
        return min(led, key=lambda broker: (-led[broker], broker))


class Observer:
    """An observer that requests a cluster's metadata through confluent-kafka.

    Args:
        bootstrap: ``host:port,…``, of which one must be live.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._admin = self._client()

    def _client(self) -> AdminClient:
        return AdminClient(
            {"bootstrap.servers": self._bootstrap, "reconnect.backoff.max.ms": 500, "log_level": 2}
        )

    def look(self, topic: str | None = None, timeout_s: float = 5.0) -> ClusterView:
        """Return the current cluster, with the partitions of ``topic`` or of all topics.

        Raises:
            confluent_kafka.KafkaException: No broker answered in time; the next call may ask another one.
        """
        try:
            seen = self._admin.list_topics(topic=topic, timeout=timeout_s)
        except confluent_kafka.KafkaException:
            # The only connected broker may be paused: the connection stays open, and the client opens no
            # other.
            self._admin = self._client()
            raise
        return ClusterView(
            brokers={BrokerId(b.id): f"{b.host}:{b.port}" for b in seen.brokers.values()},
            controller=BrokerId(seen.controller_id) if seen.controller_id >= 0 else None,
            partitions={
                TopicPartition(name, p.id): PartitionView(
                    leader=BrokerId(p.leader) if p.leader >= 0 else None,
                    isr=tuple(map(BrokerId, p.isrs)),
                    replicas=tuple(map(BrokerId, p.replicas)),
                )
                for name, metadata in sorted(seen.topics.items())
                for _, p in sorted(metadata.partitions.items())
            },
        )

    def create_topic(
        self,
        name: str,
        *,
        partitions: int,
        replication_factor: int = 3,
        configs: dict[str, str] | None = None,
        timeout_s: float = 20.0,
    ) -> tuple[TopicPartition, ...]:
        """Create a topic and wait until each partition has a leader and all its replicas in sync.

        Returns:
            Its partitions.

        Raises:
            confluent_kafka.KafkaException: The cluster refused.
            TimeoutError: The topic was accepted, but not all replicas are in sync.
        """
        topic = NewTopic(
            name, num_partitions=partitions, replication_factor=replication_factor, config=configs or {}
        )
        self._wait_for_a_controller(timeout_s)
        self._admin.create_topics([topic], request_timeout=timeout_s)[name].result(timeout_s)
        self.wait_until_in_sync(name, partitions=partitions, timeout_s=timeout_s)
        return tuple(TopicPartition(name, number) for number in range(partitions))

    def _wait_for_a_controller(self, timeout_s: float) -> None:
        """Wait for a controller, because librdkafka asks again only minutes after an answer without one."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            with contextlib.suppress(confluent_kafka.KafkaException):
                if self.look().controller is not None:
                    return
            time.sleep(_POLL_S)
        raise TimeoutError(f"no broker knew of a controller within {timeout_s:g} s")

    def delete_topic(self, name: str, timeout_s: float = 20.0) -> bool:
        """Request a topic's deletion, which continues after the response.

        Returns:
            Whether the cluster accepted it; False if it refused (the topic may not exist) or did not answer.
        """
        try:
            self._admin.delete_topics([name], request_timeout=timeout_s)[name].result(timeout_s)
        except (confluent_kafka.KafkaException, TimeoutError):
            with contextlib.suppress(confluent_kafka.KafkaException):
                # Refresh the metadata; otherwise the client keeps asking the former controller for minutes.
                self._admin.list_topics(timeout=timeout_s)
            return False
        return True

    def wait_until_in_sync(self, topic: str, *, partitions: int, timeout_s: float) -> ClusterView:
        """Wait until every partition of ``topic`` has a leader and all its replicas are in sync.

        Raises:
            TimeoutError: They were not in time; the message names those that are missing.
        """
        deadline = time.monotonic() + timeout_s
        view = ClusterView()
        while time.monotonic() < deadline:
            try:
                view = self.look(topic)
            except confluent_kafka.KafkaException:
                continue  # no broker answered in time: ask again until the deadline
            if view.whole == partitions:
                return view
            time.sleep(_POLL_S)
        raise TimeoutError(
            f"topic {topic}: {partitions} partitions expected with a leader and a full ISR within "
            f"{timeout_s:g} s, found {dict(view.partitions)}"
        )
