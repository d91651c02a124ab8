"""The moves between log directories, as the tool words and cancels them."""

from __future__ import annotations

import pytest

from barnabas.tools.reassignment.log_dir_moves import describe_move
from barnabas.tools.reassignment.reassignment_files import Replica
from barnabas.tools.reassignment.reassignments import Placement

REPLICA = Replica("t", 0, 1)


@pytest.mark.parametrize(
    ("placement", "line"),
    [
        (Placement("/b"), "Reassignment of replica t-0-1 completed successfully."),
        (Placement("/a", "/b"), "Reassignment of replica t-0-1 is still in progress."),
        (Placement("/a", "/c"), "Partition t-0 on broker 1 is being moved to log dir /c instead of /b."),
        (Placement("/a"), "Partition t-0 on broker 1 is not being moved from log dir /a to /b."),
        (
            Placement(),
            (
                "Partition t-0 is not found in any live log dir on broker 1. There is likely an offline log "
                "directory on the broker."
            ),
        ),
    ],
)
def test_where_a_replica_is(placement: Placement, line: str) -> None:
    assert describe_move(REPLICA, "/b", placement) == line
