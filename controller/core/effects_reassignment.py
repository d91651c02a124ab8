"""The effects by which partitions move to other brokers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import PartitionState
from barnabas.controller.core.effects import Ask, Reign


@dataclass(frozen=True, slots=True)
class WatchPartitionStates(Ask[Mapping[TopicPartition, PartitionState]]):
    """As ``ReadPartitionStates``; watches each, because its ISR decides how a reassignment goes on.

    With an ``inter.broker.protocol.version`` below 2.7 the leader writes the ISR itself, and the controller
    hears of it by this watch (Kafka: ``PartitionReassignmentIsrChangeHandler``).
    """

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class RequestedReassignments:
    """The content of ``/admin/reassign_partitions``.

    Attributes:
        targets: The replicas that each partition shall have; none where the content cannot be read.
        version: The data version under which it was read.
    """

    targets: Mapping[TopicPartition, tuple[BrokerId, ...]]
    version: int


@dataclass(frozen=True, slots=True)
class ReadReassignments(Ask[RequestedReassignments | None]):
    """Read ``/admin/reassign_partitions`` and watch it; None where it is missing."""


@dataclass(frozen=True, slots=True)
class WriteReassignments(Ask[bool]):
    """Leave ``targets`` in ``/admin/reassign_partitions``, or delete it where there are none.

    The answer is False where it has another version by now.
    """

    targets: Mapping[TopicPartition, tuple[BrokerId, ...]]
    version: int
    reign: Reign
