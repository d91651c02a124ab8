"""Whether a replica that the controller names must have a log here already.

Kafka opens the log that is there and creates an empty one otherwise, whatever LeaderAndIsr says
(``Partition.createLogIfNotExists`` of release 2.8). So a stray log is adopted by a new topic of the same
name, and a replica that lost its disk leads, or counts as in sync, with nothing. Kafka learned to tell topics
of one name apart with topic ids (KIP-516), which ZooKeeper's topics get with an inter.broker.protocol of 2.8.
"""

from __future__ import annotations

from enum import Enum

from barnabas.cluster.model.ids import BrokerId, TopicIdentity
from barnabas.cluster.model.requests import LeaderAndIsrPartition


class LogExpectation(Enum):
    """What is known of a replica's log before anybody looks."""

    NEW = "the replica is new: a log that is found is a stray, left by a topic or an assignment that is gone"
    OPTIONAL = "a log that is found is the replica's; a replica without one begins empty"
    REQUIRED = "the replica has a log: without it, it must not lead nor count as in sync"


def expected_log(partition: LeaderAndIsrPartition, own: BrokerId) -> LogExpectation:
    """What ``partition``, as the controller sent it, says of the log at broker ``own``.

    A replica that is being added may be sent as new again by another controller. One that is in the ISR has
    caught up: its log is not a stray.
    """
    leadership, assignment = partition.state.leader_and_isr, partition.assignment
    is_in_sync = own == leadership.leader or own in leadership.isr
    if partition.is_new and not (is_in_sync and own in assignment.adding):
        return LogExpectation.NEW
    if is_in_sync and not partition.is_unconfirmed:
        return LogExpectation.REQUIRED
    return LogExpectation.OPTIONAL


class LogOwner(Enum):
    """Which topic a log that was found is of, by the identity recorded with it."""

    THIS = "the topic that the controller speaks of, or nothing speaks against it"
    OTHER = "another topic of that name: the log is a stray"
    OTHER_IN_SYNC = "another topic of that name, though the replica leads or is in sync: a person must decide"


def owner_of_log(
    recorded: TopicIdentity | None, told: TopicIdentity | None, expectation: LogExpectation
) -> LogOwner:
    """Whose log it is that was found where ``expectation`` holds.

    A log without a recorded identity was written by Kafka, or by a release that recorded none, and is taken
    for this topic's. So is every log where the controller tells no identity.

    Args:
        recorded: The identity that lies with the log.
        told: The identity that the controller tells.
        expectation: What the controller's request says of the log.
    """
    if recorded is None or told is None or not recorded.denies(told):
        return LogOwner.THIS
    return LogOwner.OTHER_IN_SYNC if expectation is LogExpectation.REQUIRED else LogOwner.OTHER
