"""The fetchers of this broker, one for each leader that it follows (Kafka's ``ReplicaFetcherManager``)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from barnabas.broker.replicas.hosted import HostedPartitions
from barnabas.broker.replicas.replica_fetcher import ReplicaFetcher
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.epochs import BrokerEpoch, LeaderEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.runtime.supervisor import Supervisor


class ReplicaFetchers:
    """The running fetchers, which start and end as leaders change."""

    def __init__(
        self, hosted: HostedPartitions, supervisor: Supervisor, broker_epoch: Callable[[], BrokerEpoch]
    ) -> None:
        self._hosted = hosted
        self._supervisor = supervisor
        self._broker_epoch = broker_epoch
        self._running: dict[BrokerId, tuple[ReplicaFetcher, asyncio.Task[None]]] = {}

    @property
    def max_lag(self) -> int:
        """The most records that a replica lacks up to its leader's high watermark."""
        return max((fetcher.fetch_state.max_lag for fetcher, _ in tuple(self._running.values())), default=0)

    def follow(
        self,
        topic_partition: TopicPartition,
        leader_epoch: LeaderEpoch,
        leader: BrokerId,
        endpoint: Endpoint,
    ) -> None:
        """Fetch a partition from ``leader``; a leader with a new endpoint gets a new stream."""
        self.stop((topic_partition,))
        running = self._running.get(leader)
        if running is not None and running[0].endpoint != endpoint:
            self._move(running[0], endpoint)
            running = self._running[leader]
        if running is None:
            running = self._start(leader, endpoint)
        running[0].fetch_state.add(topic_partition, leader_epoch)

    def _start(self, leader: BrokerId, endpoint: Endpoint) -> tuple[ReplicaFetcher, asyncio.Task[None]]:
        fetcher = ReplicaFetcher(leader, endpoint, self._hosted, self._broker_epoch)
        task = self._supervisor.spawn(f"fetcher-{leader}", fetcher.run())
        self._running[leader] = fetcher, task
        return fetcher, task

    def _move(self, former: ReplicaFetcher, endpoint: Endpoint) -> None:
        partitions = dict(former.fetch_state.epochs)
        self._end(former.leader)
        fetcher, _ = self._start(former.leader, endpoint)
        for topic_partition, leader_epoch in partitions.items():
            fetcher.fetch_state.add(topic_partition, leader_epoch)

    def stop(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Stop fetching these partitions; answers about them that are still to come are ignored."""
        for topic_partition in topic_partitions:
            for fetcher, _ in self._running.values():
                fetcher.fetch_state.remove(topic_partition)

    def end_idle(self) -> None:
        """End the streams without partitions."""
        for leader in [
            leader for leader, (fetcher, _) in self._running.items() if not fetcher.fetch_state.epochs
        ]:
            self._end(leader)

    def _end(self, leader: BrokerId) -> None:
        _, task = self._running.pop(leader)
        task.cancel()

    async def close(self) -> None:
        """End all streams."""
        tasks = [task for _, task in self._running.values()]
        for leader in tuple(self._running):
            self._end(leader)
        await asyncio.gather(*tasks, return_exceptions=True)
