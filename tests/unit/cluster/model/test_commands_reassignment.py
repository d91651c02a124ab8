"""The commands say what they mean where a field is left out."""

from __future__ import annotations

from barnabas.cluster.model.commands_reassignment import ListPartitionReassignments, ReassignmentResult
from barnabas.cluster.model.errors import ErrorCode


def test_all_reassignments_are_listed_where_none_is_named() -> None:
    assert ListPartitionReassignments().partitions is None


def test_a_success_needs_no_message() -> None:
    assert ReassignmentResult(ErrorCode.NONE).message is None
