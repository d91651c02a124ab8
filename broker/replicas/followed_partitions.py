"""The partitions that this broker follows: each is fetched as soon as its leader is live.

A LeaderAndIsr may name a leader that neither the request nor the metadata cache has as a live broker. Kafka
then fetches nothing until the next LeaderAndIsr (``ReplicaManager.makeFollowers`` of release 2.8); here the
partition waits for an UpdateMetadata with its leader.
"""

from __future__ import annotations

from collections.abc import Iterable

import structlog

from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions
from barnabas.broker.replicas.replica_fetchers import ReplicaFetchers
from barnabas.cluster.model.brokers import GRPC_LISTENER, Broker
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.turn import paced

_log = structlog.get_logger("kafka.server.ReplicaManager")


class FollowedPartitions:
    """The followed partitions, with their fetchers.

    Attributes:
        is_closed: Whether no more fetches may start, because this broker is shutting down.

    Args:
        hosted: This broker's partitions.
        metadata: This broker's copy of the cluster's metadata.
        fetchers: The fetchers of this broker.
    """

    def __init__(self, hosted: HostedPartitions, metadata: MetadataCache, fetchers: ReplicaFetchers) -> None:
        self._hosted = hosted
        self._metadata = metadata
        self._fetchers = fetchers
        self._waiting: dict[TopicPartition, LeaderEpoch] = {}
        self.is_closed = False

    def follow(self, hosted: HostedPartition, leader: Broker) -> None:
        """Fetch a partition from a live leader.

        Raises:
            LookupError: The leader has no listener for other brokers.
        """
        endpoint = leader.endpoint(GRPC_LISTENER)
        if endpoint is None:
            message = f"broker {leader.id} leads {hosted.topic_partition} and has no listener {GRPC_LISTENER}"
            raise LookupError(message)
        self._fetchers.follow(hosted.topic_partition, hosted.replica.leader_epoch, leader.id, endpoint)

    def await_leader(self, hosted: HostedPartition) -> None:
        """Fetch a partition once its leader is live."""
        self._waiting[hosted.topic_partition] = hosted.replica.leader_epoch

    async def follow_live_leaders(self) -> None:
        """Fetch the waiting partitions whose leaders are live now."""
        async for topic_partition, leader_epoch in paced(tuple(self._waiting.items())):
            hosted = self._hosted.get(topic_partition)
            if hosted is None or hosted.replica.leader_epoch != leader_epoch:
                del self._waiting[topic_partition]
                continue
            broker = self._metadata.broker(hosted.replica.leader)
            if broker is not None and not self.is_closed:
                del self._waiting[topic_partition]
                try:
                    self.follow(hosted, broker)
                except LookupError as error:
                    # The controller sends an UpdateMetadata when that broker's endpoints have changed.
                    self._waiting[topic_partition] = leader_epoch
                    _log.error(f"cannot fetch {topic_partition}: {error}")

    def stop(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Stop fetching these partitions, or waiting for their leaders."""
        topic_partitions = tuple(topic_partitions)
        for topic_partition in topic_partitions:
            self._waiting.pop(topic_partition, None)
        self._fetchers.stop(topic_partitions)

    def end_idle(self) -> None:
        """End the streams without partitions."""
        self._fetchers.end_idle()
