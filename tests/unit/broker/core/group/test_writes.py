"""The end of writes: what an error of the append means for the members."""

from __future__ import annotations

import pytest

from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode
from tests.unit.broker.core.group.parts import Coordinator

FAILED = "Appending metadata message for group g generation 1 failed due to"


@pytest.mark.parametrize(
    ("append_error", "answer", "level", "line"),
    [
        (3, 15, "debug", None),
        (19, 15, "debug", None),
        (20, 15, "debug", None),
        (6, 16, "debug", None),
        (56, 16, "debug", None),
        (7, 27, "debug", None),
        (10, -1, "error", f"{FAILED} MESSAGE_TOO_LARGE, returning UNKNOWN error code to the client"),
        (18, -1, "error", f"{FAILED} RECORD_LIST_TOO_LARGE, returning UNKNOWN error code to the client"),
        (4, -1, "error", f"{FAILED} INVALID_FETCH_SIZE, returning UNKNOWN error code to the client"),
        (17, 17, "error", f"{FAILED} unexpected error: INVALID_TOPIC_EXCEPTION"),
    ],
)
def test_an_assignment_that_cannot_be_stored(append_error, answer, level, line):
    coordinator = Coordinator()
    for client in ("a", "b"):
        coordinator.join(client=client)
    coordinator.advance(6000)
    tokens = [coordinator.sync("b-uuid2"), coordinator.sync("a-uuid1", {"a-uuid1": b"0"})]
    append_error = ErrorCode(append_error)
    coordinator.written(append_error)
    assert [coordinator.answers[token].error for token in tokens] == [ErrorCode(answer)] * 2
    assert coordinator.group.state is GroupState.PREPARING_REBALANCE
    assert all(not member.assignment for member in coordinator.group.members.values())
    assert coordinator.lines()[-1].endswith(
        "(reason: error when storing group assignment during SyncGroup (member: a-uuid1))"
    )
    line = line or (
        "Metadata from group g with generation 1 failed when appending to log due to " + append_error.name
    )
    assert coordinator.lines(level)[-1] == line


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT])
def test_the_write_of_a_former_generation_changes_nothing(error):
    coordinator = Coordinator()
    for client in ("a", "b"):
        coordinator.join(client=client)
    coordinator.advance(6000)
    coordinator.sync("a-uuid1", {"a-uuid1": b"old"})
    coordinator.leave("b-uuid2")
    token = coordinator.join("a-uuid1")
    assert coordinator.answers[token].generation == 2
    coordinator.written(error)
    assert coordinator.group.state is GroupState.COMPLETING_REBALANCE
    coordinator.sync("a-uuid1", {"a-uuid1": b"new"})
    coordinator.written()
    assert coordinator.group.members["a-uuid1"].assignment == b"new"


def test_the_write_of_a_group_that_was_unloaded_changes_nothing():
    coordinator = Coordinator()
    coordinator.join()
    coordinator.advance(3000)
    coordinator.sync("c-uuid1")
    group = coordinator.group
    coordinator.unload()
    coordinator.written()
    assert group.state is GroupState.DEAD
    assert not coordinator.timers
