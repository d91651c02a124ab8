"""From ZooKeeper's events to entries of the mailbox.

An event says only that something changed; what it is, is read when the entry is handled. So an event for
which an entry is waiting already adds nothing and is dropped: a thousand changes of one path are one entry.
"""

from __future__ import annotations

from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.operations import Change, WatchEvent
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
    """The input for a ZooKeeper event; None where the controller ignores it.

    The end of one broker or topic says nothing beyond what the change of the list says.
    """
    fixed = _FIXED.get(event.path)
    if fixed is not None or event.change is Change.DELETED:
        return fixed
    reassigned = paths.partition_of_state(event.path)
    if reassigned is not None:
        return PartitionReassignmentIsrChange(reassigned)
    parent, _, name = event.path.rpartition("/")
    if parent == paths.BROKER_IDS:
        return BrokerModifications(BrokerId(int(name)))
    if parent == paths.TOPICS:
        return PartitionModifications(name)
    return None


def is_heard_by_the_controller_alone(path: str) -> bool:
    """Whether only the active controller watches ``path``; all brokers watch ``/controller`` and settings."""
    return input_of(WatchEvent(path, Change.UNKNOWN)) not in (None, ControllerChange())


class Coalescer:
    """Knows which entries wait in the mailbox, so that none waits there twice."""

    def __init__(self) -> None:
        self._waiting: set[Input] = set()

    def admits(self, entry: Input) -> bool:
        """Whether ``entry`` is to be put into the mailbox; from then on it waits there."""
        if entry in self._waiting:
            return False
        self._waiting.add(entry)
        return True

    def taken(self, entry: Input) -> None:
        """Remove ``entry``, which has left the mailbox: an equal one may wait there again."""
        self._waiting.discard(entry)
