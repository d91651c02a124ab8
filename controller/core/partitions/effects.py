"""Effects that read and write the partitions' states in ZooKeeper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from barnabas.cluster.model.epochs import PartitionVersion
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import PartitionState
from barnabas.controller.core.protocol.effects import Ask, ControllerFence


@dataclass(frozen=True, slots=True)
class ReadPartitionStates(Ask[Mapping[TopicPartition, PartitionState]]):
    """Read the states; a partition without a readable state is not in the answer."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class ReadTopicConfigs(Ask[Mapping[str, Mapping[str, str]]]):
    """Read the settings that these topics override; topics with unreadable settings are not in the answer."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatesWritten:
    """The outcome of a write of partition states.

    Attributes:
        versions: The partitions that were written, each with its new version.
        conflicts: The partitions whose state had another version than expected.
        failures: The partitions that could not be written, each with the cause.
    """

    versions: Mapping[TopicPartition, PartitionVersion]
    conflicts: frozenset[TopicPartition] = frozenset()
    failures: Mapping[TopicPartition, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WritePartitionStates(Ask[StatesWritten]):
    """Write each state if the znode still has the version that the state carries."""

    states: Mapping[TopicPartition, PartitionState]
    fence: ControllerFence


@dataclass(frozen=True, slots=True)
class CreatePartitionStates(Ask[Mapping[TopicPartition, str | None]]):
    """Create the nodes of new partitions; the answer has None for each one created, else the cause."""

    states: Mapping[TopicPartition, PartitionState]
    fence: ControllerFence


@dataclass(frozen=True, slots=True)
class WatchPartitionStates(Ask[Mapping[TopicPartition, PartitionState]]):
    """Read states as ``ReadPartitionStates`` does, and watch each for a reassignment's progress.

    With an ``inter.broker.protocol.version`` below 2.7 the leader writes the ISR itself, and the controller
    is notified by this watch (Kafka: ``PartitionReassignmentIsrChangeHandler``).
    """

    partitions: tuple[TopicPartition, ...]
