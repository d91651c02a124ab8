"""The partitions of ``__consumer_offsets`` that this broker leads, with their groups."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from barnabas.broker.coordinator.offsets_topic import OffsetsTopic
from barnabas.broker.core.group.effects import TimerKey
from barnabas.broker.core.group.group import PartitionGroups
from barnabas.broker.core.group.offsets import GroupOffsets
from barnabas.broker.core.timing_wheel import TimerTask
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition


@dataclass(slots=True, eq=False)
class CoordinatedPartition:
    """A partition of ``__consumer_offsets`` that this broker leads; one object per time that it leads it.

    Attributes:
        groups: The groups as state machines.
        offsets: The offsets of each of these groups that ever had any.
        timers: The groups' timers that run.
        dying: Dead groups whose offsets still get tombstones; nobody finds them until that is done.
        deleted_meanwhile: Partitions whose topics were deleted while the log was being read.
        is_loaded: Whether the whole log has been read.
        is_unloaded: Whether this broker leads the partition no more; nobody finds it then.
    """

    groups: PartitionGroups
    offsets: dict[str, GroupOffsets] = field(default_factory=dict)
    timers: dict[TimerKey, TimerTask] = field(default_factory=dict)
    dying: set[str] = field(default_factory=set)
    deleted_meanwhile: set[TopicPartition] = field(default_factory=set)
    is_loaded: bool = False
    is_unloaded: bool = False

    @property
    def number(self) -> int:
        """The partition."""
        return self.groups.partition

    def offsets_of(self, group_id: str) -> GroupOffsets:
        """Return the offsets of a group, to which commits may be added.

        An unknown group gets an empty set.
        """
        return self.offsets.setdefault(group_id, GroupOffsets())

    def has_offsets(self, group_id: str) -> bool:
        """Return whether the group has a committed offset or a pending commit."""
        offsets = self.offsets.get(group_id)
        return offsets is not None and offsets.has_any


class CoordinatedPartitions:
    """The partitions that this broker leads, loaded or not.

    Attributes:
        is_active: Whether the coordinator runs.

    Args:
        topic: Says which partition a group has.
    """

    def __init__(self, topic: OffsetsTopic) -> None:
        self.is_active = True
        self._topic = topic
        self._partitions: dict[int, CoordinatedPartition] = {}

    @property
    def all(self) -> Collection[CoordinatedPartition]:
        """Every partition that this broker leads."""
        return self._partitions.values()

    def get(self, number: int) -> CoordinatedPartition | None:
        """Return a partition; None if this broker does not lead it."""
        return self._partitions.get(number)

    def begin(self, number: int) -> CoordinatedPartition:
        """Add a partition, which is not loaded yet."""
        partition = self._partitions[number] = CoordinatedPartition(PartitionGroups(number))
        return partition

    def end(self, number: int) -> CoordinatedPartition | None:
        """Take a partition out; None if this broker did not lead it."""
        partition = self._partitions.pop(number, None)
        if partition is not None:
            partition.is_unloaded = True
        return partition

    def find(self, group_id: str, *, may_be_empty: bool = False) -> CoordinatedPartition | ErrorCode:
        """Return the partition of a group that this broker coordinates; else the error for its clients.

        Source: ``GroupCoordinator.validateGroupStatus``.

        Args:
            group_id: The group.
            may_be_empty: Whether the API takes the empty group id, as those do that old simple consumers use.
        """
        if not group_id and not may_be_empty:
            return ErrorCode.INVALID_GROUP_ID
        if not self.is_active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        partition = self._partitions.get(self._topic.partition_of(group_id))
        if partition is None:
            return ErrorCode.NOT_COORDINATOR
        if not partition.is_loaded:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        # In Kafka a dead group that is still known answers so.
        return ErrorCode.COORDINATOR_NOT_AVAILABLE if group_id in partition.dying else partition
