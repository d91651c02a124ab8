"""A request to several partitions that waits in a purgatory until each of them is decided.

This is the common part of Kafka's ``DelayedProduce`` and ``DelayedDeleteRecords`` of release 2.8: each
partition waits until other replicas reach an offset, or ends with the error that prevents that.
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
"""The type of the answer about a partition."""


class DelayedPartitions(DelayedOperation, Generic[R]):
    """A delayed operation on the offsets of partitions that this broker leads; answers all of them together.

    Args:
        hosted: The partitions.
        results: The answers; for waiting partitions, what is known so far.
        waiting: The required offset of each waiting partition.
        answer: The future that gets the results.
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
        """The undecided partitions; once the operation is completed, those that timed out."""
        return self._waiting.keys()

    @abstractmethod
    def reached(self, partition: HostedPartition, offset: Offset, so_far: R, /) -> R | None:
        """Return the answer about a partition that has reached ``offset``; None if it has not."""

    @abstractmethod
    def failed(self, error: ErrorCode, so_far: R, /) -> R:
        """Return the answer about a partition that this broker no longer leads."""

    @abstractmethod
    def timed_out(self, so_far: R) -> R:
        """Return the answer about a partition that was not decided in time."""

    def is_satisfied(self) -> bool:
        """Return whether all partitions are decided; a decided partition is not checked again."""
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
        """Send the answer; partitions that still wait have timed out."""
        for topic_partition in self._waiting:
            self._results[topic_partition] = self.timed_out(self._results[topic_partition])
        if not self._answer.done():
            self._answer.set_result(self._results)
