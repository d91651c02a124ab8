"""The purgatories of answers that wait until this broker's own metadata shows the change.

A starting broker waits here for its first complete metadata, too (``broker.lifecycle.first_metadata``).
Sources: ``DelayedCreatePartitions``, ``DelayedDeleteTopics`` and ``DelayedElectLeader`` of Kafka 2.8, and
their completion in ``KafkaApis.handleUpdateMetadataRequest``.
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
    """An answer that waits until a condition has held for each of several topics or partitions."""

    __slots__ = ("_answer", "_holds", "_pending")

    def __init__(
        self, pending: Collection[K], holds: Callable[[K], bool], answer: asyncio.Future[tuple[K, ...]]
    ) -> None:
        """Create the operation; ``answer`` gets those of ``pending`` for which the condition never held."""
        super().__init__()
        self._pending = list(pending)
        self._holds = holds
        self._answer = answer

    def is_satisfied(self) -> bool:
        """Return whether the condition has held for all; those for which it has are not checked again."""
        while self._pending and self._holds(self._pending[-1]):
            self._pending.pop()
        return not self._pending or self._answer.done()

    def on_complete(self) -> None:
        """Answer, after a last check of the keys that are still pending."""
        if not self._answer.done():
            self._answer.set_result(tuple(key for key in self._pending if not self._holds(key)))

    def on_expiration(self) -> None:
        """Do nothing: Kafka has no metric for it."""


CONTROLLER = "/controller"
"""The key of operations that wait for a controller that is a live broker."""


class MetadataPurgatories:
    """The purgatories that the controller's requests complete.

    Attributes:
        controller: The operations that wait for a controller, under ``CONTROLLER``.
        topics: Requests that create, extend or delete topics, by topic.
        elections: Requests for elections, by partition.
        on_deleted: Called with the partitions of topics that are being deleted.
    """

    def __init__(self) -> None:
        self.controller: DelayedOperationPurgatory[str] = DelayedOperationPurgatory(
            "controller", SystemTimer()
        )
        self.topics: DelayedOperationPurgatory[str] = DelayedOperationPurgatory("topic", SystemTimer())
        self.elections: DelayedOperationPurgatory[TopicPartition] = DelayedOperationPurgatory(
            "ElectLeader", SystemTimer()
        )

        self.on_deleted: Callable[[tuple[TopicPartition, ...]], None] = lambda _: None

    def changed(self, change: MetadataChange) -> None:
        """Complete the operations that waited for this change of the metadata cache."""
        self.controller_changed()
        partitions = (*(partition.topic_partition for partition in change.cached), *change.removed)
        for topic in {partition.topic for partition in partitions}:
            self.topics.check_and_complete(topic)
        for partition in partitions:
            self.elections.check_and_complete(partition)
        self.on_deleted(change.deleted)

    def controller_changed(self) -> None:
        """Complete the operations that waited for a controller."""
        self.controller.check_and_complete(CONTROLLER)


async def await_metadata(
    purgatory: DelayedOperationPurgatory[K],
    keys: Collection[K],
    holds: Callable[[K], bool],
    timeout_ms: int,
) -> tuple[K, ...]:
    """Wait until a condition has held for all ``keys``, which are keys of ``purgatory``.

    Returns:
        The keys for which the condition has not held after ``timeout_ms`` milliseconds.
    """
    answer: asyncio.Future[tuple[K, ...]] = asyncio.get_running_loop().create_future()
    operation = DelayedByMetadata(keys, holds, answer)
    purgatory.try_complete_else_watch(operation, keys, timeout_ms)
    return await answer
