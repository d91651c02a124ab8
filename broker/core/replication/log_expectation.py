"""The rule that says whether a replica in a controller's request must already have a log here.

Kafka opens the log that is there and creates an empty one otherwise, whatever LeaderAndIsr says
(``Partition.createLogIfNotExists`` of release 2.8). So a new topic adopts a stray log of the same name, and a
replica that lost its disk leads, or counts as in sync, with an empty log. Topic ids (KIP-516) distinguish
topics of one name, but topics in ZooKeeper get them only with inter.broker.protocol.version 2.8.
"""

from __future__ import annotations

from enum import Enum

from barnabas.cluster.model.ids import BrokerId, TopicIdentity
from barnabas.cluster.model.requests import LeaderAndIsrPartition


class LogExpectation(Enum):
    """The expectation about a replica's log before the disk is read."""

    NEW = "the replica is new: a log that is found is a stray of a former topic or assignment"
    OPTIONAL = "a log that is found is the replica's; a replica without one begins empty"
    REQUIRED = "the replica has a log: without it, it must not lead nor count as in sync"


def expected_log(partition: LeaderAndIsrPartition, own: BrokerId) -> LogExpectation:
    """Return what ``partition``, as the controller sent it, implies about the log at broker ``own``.

    A replica that is being added may be sent as new again by another controller. If it is in the ISR it has
    caught up, so its log is not a stray.
    """
    leadership, assignment = partition.state.leader_and_isr, partition.assignment
    is_in_sync = own == leadership.leader or own in leadership.isr
    if partition.is_new and not (is_in_sync and own in assignment.adding):
        return LogExpectation.NEW
    if is_in_sync and not partition.is_unconfirmed:
        return LogExpectation.REQUIRED
    return LogExpectation.OPTIONAL


class LogOwner(Enum):
    """The topic that a log belongs to, by the identity recorded with it."""

    THIS = "the topic in the request, or no identity contradicts it"
    OTHER = "another topic of that name: the log is a stray"
    OTHER_IN_SYNC = "another topic of that name, though the replica leads or is in sync: a person must decide"


def owner_of_log(
    recorded: TopicIdentity | None, requested: TopicIdentity | None, expectation: LogExpectation
) -> LogOwner:
    """Return the topic that a log belongs to which was found where ``expectation`` holds.

    A log without a recorded identity never had a record, or was written by Kafka or a release that recorded
    none; it counts as this topic's. So does every log if the controller sent no identity.

    Args:
        recorded: The identity recorded with the log.
        requested: The identity in the controller's request.
        expectation: The expectation by that request.
    """
    if recorded is None or requested is None or not recorded.denies(requested):
        return LogOwner.THIS
    return LogOwner.OTHER_IN_SYNC if expectation is LogExpectation.REQUIRED else LogOwner.OTHER
