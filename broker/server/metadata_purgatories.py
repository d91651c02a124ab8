"""Where answers about topics and elections wait until this broker's own metadata shows what was done.

A starting broker waits here for its first complete metadata, too (``broker.lifecycle.first_metadata``).

Sources: ``DelayedCreatePartitions``, ``DelayedDeleteTopics`` and ``DelayedElectLeader`` of Kafka 2.8, and who
completes them: ``KafkaApis.handleUpdateMetadataRequest``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Hashable
from typing import Generic, TypeVar

from barnabas.broker.core.metadata_cache import MetadataChange
from barnabas.broker.core.purgatory import DelayedOperation, DelayedOperationPurgatory
from barnabas.broker.replicas.system_timer import SystemTimer
from barnabas.cluster.model.ids import TopicPartition

K = TypeVar("K", bound=Hashable)


class DelayedByMetadata(DelayedOperation, Generic[K]):
    """An answer that waits until something was seen to hold of each of several topics or partitions."""

    __slots__ = ("_answer", "_holds", "_pending")

    def __init__(
        self, pending: Collection[K], holds: Callable[[K], bool], answer: asyncio.Future[tuple[K, ...]]
    ) -> None:
        """``answer`` gets those of ``pending`` of which it does not hold when the time is up."""
        super().__init__()
        self._pending = list(pending)
        self._holds = holds
        self._answer = answer

    def is_satisfied(self) -> bool:
        """Return whether it holds of all; those looked at until one is late are not looked at again."""
        while self._pending and self._holds(self._pending[-1]):
            self._pending.pop()
        return not self._pending or self._answer.done()

    def on_complete(self) -> None:
        """Answer; of what is still pending some may have come about as well."""
        if not self._answer.done():
            self._answer.set_result(tuple(key for key in self._pending if not self._holds(key)))

    def on_expiration(self) -> None:
        """Nothing to count: Kafka has no metric for these."""


CONTROLLER = "/controller"
"""The one key of what waits for a controller that is a live broker."""


class MetadataPurgatories:
    """The purgatories that are completed by the controller's word.

    Attributes:
        controller: What waits for a controller, under ``CONTROLLER``.
        topics: Requests that create, extend or delete topics, by topic.
        elections: Requests for elections, by partition.
    """

    def __init__(self) -> None:
        self.controller: DelayedOperationPurgatory[str] = DelayedOperationPurgatory(
            "controller", SystemTimer()
        )
        self.topics: DelayedOperationPurgatory[str] = DelayedOperationPurgatory("topic", SystemTimer())
        self.elections: DelayedOperationPurgatory[TopicPartition] = DelayedOperationPurgatory(
            "ElectLeader", SystemTimer()
        )

    def changed(self, change: MetadataChange) -> None:
        """The metadata cache has changed: complete what waited for that."""
        self.controller_changed()
        partitions = (*(partition.topic_partition for partition in change.cached), *change.deleted)
        for topic in {partition.topic for partition in partitions}:
            self.topics.check_and_complete(topic)
        for partition in partitions:
            self.elections.check_and_complete(partition)

    def controller_changed(self) -> None:
        """Another broker, or a broker at last, is controller: complete what waited for one."""
        self.controller.check_and_complete(CONTROLLER)


async def await_metadata(
    purgatory: DelayedOperationPurgatory[K],
    keys: Collection[K],
    holds: Callable[[K], bool],
    timeout_ms: int,
) -> tuple[K, ...]:
    """Wait until something holds of all ``keys``, which are those of ``purgatory``.

    Returns:
        The keys of which it does not hold after ``timeout_ms`` milliseconds.
    """
    answer: asyncio.Future[tuple[K, ...]] = asyncio.get_running_loop().create_future()
    operation = DelayedByMetadata(keys, holds, answer)
    purgatory.try_complete_else_watch(operation, keys, timeout_ms)
    return await answer
