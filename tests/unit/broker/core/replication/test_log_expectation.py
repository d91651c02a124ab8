"""What the controller's word says of a log, for each role of a replica."""

from __future__ import annotations

import pytest

from barnabas.broker.core.replication.log_expectation import (
    LogExpectation,
    LogOwner,
    expected_log,
    owner_of_log,
)
from barnabas.cluster.model.ids import NO_LEADER, TopicIdentity, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import LeaderAndIsrPartition

NEW, OPTIONAL, REQUIRED = LogExpectation.NEW, LogExpectation.OPTIONAL, LogExpectation.REQUIRED
SELF = 3


@pytest.mark.parametrize(
    ("leader", "isr", "adding", "is_new", "is_unconfirmed", "expected"),
    [
        (3, (1, 3), (), True, False, NEW),
        (1, (1, 3), (), True, False, NEW),
        (1, (1,), (3,), True, False, NEW),
        # Told again as new, by a new controller, after it has caught up: the log is all that it says it is.
        (1, (1, 3), (3,), True, False, REQUIRED),
        (3, (1, 3), (3,), True, False, REQUIRED),
        (3, (3,), (), False, False, REQUIRED),
        (1, (1, 3), (), False, False, REQUIRED),
        (NO_LEADER, (3,), (), False, False, REQUIRED),
        (1, (1,), (), False, False, OPTIONAL),
        (NO_LEADER, (1,), (), False, False, OPTIONAL),
        (3, (3,), (), False, True, OPTIONAL),
    ],
)
def test_a_log_is_expected(*, leader, isr, adding, is_new, is_unconfirmed, expected):
    state = PartitionState(LeaderAndIsr(leader, 7, isr), 1)
    assignment = Assignment((1, 3), adding)
    partition = LeaderAndIsrPartition(TopicPartition("t", 0), state, assignment, is_new, is_unconfirmed)
    assert expected_log(partition, SELF) is expected


FIRST, SECOND, ELSEWHERE = TopicIdentity(5, 8), TopicIdentity(5, 9), TopicIdentity(6, 9)
THIS, OTHER, OTHER_IN_SYNC = LogOwner.THIS, LogOwner.OTHER, LogOwner.OTHER_IN_SYNC


@pytest.mark.parametrize(
    ("recorded", "requested", "owner", "owner_in_sync"),
    [
        (None, None, THIS, THIS),
        (None, FIRST, THIS, THIS),
        (FIRST, None, THIS, THIS),
        (FIRST, FIRST, THIS, THIS),
        (FIRST, ELSEWHERE, THIS, THIS),
        (FIRST, SECOND, OTHER, OTHER_IN_SYNC),
        (SECOND, FIRST, OTHER, OTHER_IN_SYNC),
    ],
)
def test_a_log_is_of_the_topic_that_is_recorded(recorded, requested, owner, owner_in_sync):
    assert owner_of_log(recorded, requested, NEW) is owner
    assert owner_of_log(recorded, requested, OPTIONAL) is owner
    assert owner_of_log(recorded, requested, REQUIRED) is owner_in_sync
