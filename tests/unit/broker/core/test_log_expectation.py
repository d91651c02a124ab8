"""What the controller's word says of a log, for each role of a replica."""

from __future__ import annotations

import pytest

from barnabas.broker.core.log_expectation import LogExpectation, expected_log
from barnabas.cluster.model.ids import NO_LEADER, TopicPartition
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
