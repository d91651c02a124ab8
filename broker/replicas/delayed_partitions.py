"""A request to several partitions that waits in a purgatory until each of them is decided.

What Kafka's ``DelayedProduce`` and ``DelayedDeleteRecords`` of release 2.8 have in common: each partition
waits for an offset to be reached at other replicas, or ends with the error that keeps it from getting there.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Collection
from typing import Generic, TypeVar

from barnabas.broker.core.purgatory import DelayedOperation
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition

R = TypeVar("R")
"""What is answered of a partition."""


class DelayedPartitions(DelayedOperation, Generic[R]):
    """Waits for the offsets of partitions that this broker leads; answers all of them at once.

    Args:
        hosted: The partitions.
        results: What is answered; of those that wait, what is known so far.
        waiting: What must be reached, by partition.
        answer: Where the results go.
    """

    __slots__ = ("_answer", "_hosted", "_results", "_waiting")

    def __init__(
        self,
        hosted: HostedPartitions,
        results: dict[TopicPartition, R],
        waiting: dict[TopicPartition, Offset],
        answer: asyncio.Future[dict[TopicPartition, R]],
    ) -> None:
        super().__init__()
        self._hosted = hosted
        self._results = results
        self._waiting = waiting
        self._answer = answer

    @property
    def waiting(self) -> Collection[TopicPartition]:
        """The partitions that are not decided; those that have run out of time, once it is completed."""
        return self._waiting.keys()

    @abstractmethod
    def reached(self, partition: HostedPartition, offset: Offset, so_far: R, /) -> R | None:
        """What is answered of a partition that has reached ``offset``; None if it has not."""

    @abstractmethod
    def failed(self, error: ErrorCode, so_far: R, /) -> R:
        """What is answered of a partition that this broker leads no more."""

    @abstractmethod
    def timed_out(self, so_far: R) -> R:
        """What is answered of a partition that was not decided in time."""

    def is_satisfied(self) -> bool:
        """Return whether no partition waits any more; those decided now are not looked at again."""
        for topic_partition, offset in tuple(self._waiting.items()):
            so_far = self._results[topic_partition]
            partition = self._hosted.led(topic_partition, UNKNOWN_LEADER_EPOCH)
            if isinstance(partition, ErrorCode):
                decided: R | None = self.failed(partition, so_far)
            else:
                decided = self.reached(partition, offset, so_far)
            if decided is not None:
                del self._waiting[topic_partition]
                self._results[topic_partition] = decided
        return not self._waiting

    def on_complete(self) -> None:
        """Answer; what still waits has run out of time."""
        for topic_partition in self._waiting:
            self._results[topic_partition] = self.timed_out(self._results[topic_partition])
        if not self._answer.done():
            self._answer.set_result(self._results)
