from __future__ import annotations

import pytest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.controller.core import reasons_reassignment as reasons

T0 = TopicPartition("t", 0)
MOVING = Assignment((4, 1, 2), (4,), (1, 2))


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (reasons.ReassignmentRunning(T0, MOVING), "t-0 moves to 4: adding 4, removing 1, 2"),
        (
            reasons.ReassignmentRunning(T0, Assignment((1, 2), (), (2,))),
            "t-0 moves to 1: adding none, removing 2",
        ),
        (
            reasons.ReassignmentCompleted(T0, Assignment((4, 5))),
            "t-0 has its replicas on 4, 5 now",
        ),
        (
            reasons.ReassignmentHeld(T0, MOVING),
            "t-0 keeps its replicas 1, 2, because none of 4 can lead now",
        ),
        (
            reasons.ReassignmentRefused(T0, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "No."),
            "reassignment of t-0 refused with INVALID_REPLICA_ASSIGNMENT: No.",
        ),
        (
            reasons.ReassignmentsWithdrawn((), 0),
            "taken out of /admin/reassign_partitions: what cannot be read; left there: 0",
        ),
    ],
)
def test_each_reason_is_a_sentence(reason, sentence):
    assert str(reason) == sentence
