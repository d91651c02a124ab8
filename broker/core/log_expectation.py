"""Whether a replica that the controller names must have a log here already.

Kafka opens the log that is there and creates an empty one otherwise, whatever LeaderAndIsr says
(``Partition.createLogIfNotExists`` of release 2.8). So a stray log is adopted by a new topic of the same
name, and a replica that lost its disk leads, or counts as in sync, with nothing.
"""

from __future__ import annotations

from enum import Enum

from barnabas.cluster.model.ids import BrokerId
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
