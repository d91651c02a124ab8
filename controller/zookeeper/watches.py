"""The translation of ZooKeeper's watch events to inputs of the controller.

An event says only that a path changed. The node is read when the input is handled, so an event whose input
waits already is dropped: a thousand changes of one path are one input.
"""

from __future__ import annotations

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.zk.client.operations import Change, WatchEvent
from barnabas.cluster.zk.schema import paths
from barnabas.controller.core.protocol.inputs import (
    BrokerChange,
    BrokerModifications,
    ControllerChange,
    Input,
    IsrChangeNotification,
    LogDirEventNotification,
    PartitionModifications,
    PartitionReassignmentIsrChange,
    ReplicaLeaderElection,
    TopicChange,
    TopicDeletion,
    ZkPartitionReassignment,
)

_FIXED: dict[str, Input] = {
    paths.CONTROLLER: ControllerChange(),
    paths.BROKER_IDS: BrokerChange(),
    paths.TOPICS: TopicChange(),
    paths.DELETE_TOPICS: TopicDeletion(),
    paths.ISR_CHANGE_NOTIFICATION: IsrChangeNotification(),
    paths.REASSIGN_PARTITIONS: ZkPartitionReassignment(),
    paths.PREFERRED_REPLICA_ELECTION: ReplicaLeaderElection(),
    paths.LOG_DIR_EVENT_NOTIFICATION: LogDirEventNotification(),
}


def input_of(event: WatchEvent) -> Input | None:
    """Return the input for a ZooKeeper event; None if the controller ignores the event.

    The deletion of a broker's or topic's node is ignored, because the list of children changes as well.
    """
    fixed = _FIXED.get(event.path)
    if fixed is not None or event.change is Change.DELETED:
        return fixed
    reassigned = paths.partition_of_state(event.path)
    if reassigned is not None:
        return PartitionReassignmentIsrChange((reassigned,))
    parent, _, name = event.path.rpartition("/")
    if parent == paths.BROKER_IDS:
        return BrokerModifications(BrokerId(int(name)))
    if parent == paths.TOPICS:
        return PartitionModifications(name)
    return None


def is_watched_by_active_controller_only(path: str) -> bool:
    """Return whether only the active controller watches ``path``, and not every broker."""
    return input_of(WatchEvent(path, Change.UNKNOWN)) not in (None, ControllerChange())


class Coalescer:
    """The set of inputs that wait in the mailbox, so that none waits there twice.

    Reassigned partitions share one input: a request may move 10,000 of one topic, whose znode holds them all.
    """

    def __init__(self) -> None:
        self._waiting: set[Input] = set()
        self._reassigned: dict[TopicPartition, None] = {}

    def admits(self, entry: Input) -> bool:
        """Return whether to put ``entry`` into the mailbox, and count it as waiting there."""
        if isinstance(entry, PartitionReassignmentIsrChange):
            is_first = not self._reassigned
            self._reassigned.update(dict.fromkeys(entry.partitions))
            return is_first
        if entry in self._waiting:
            return False
        self._waiting.add(entry)
        return True

    def taken(self, entry: Input) -> Input:
        """Remove ``entry``, which was taken from the mailbox: an equal one may wait again.

        Returns:
            The input to handle: ``entry`` with all partitions that were added to it.
        """
        if isinstance(entry, PartitionReassignmentIsrChange):
            partitions, self._reassigned = tuple(self._reassigned), {}
            return PartitionReassignmentIsrChange(partitions)
        self._waiting.discard(entry)
        return entry
