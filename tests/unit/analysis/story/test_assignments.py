"""How many replicas a partition is proven to have, while reassignments add and remove some."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from barnabas.analysis.story.assignments import replica_counts
from barnabas.analysis.story.certainty import Line
from barnabas.analysis.story.rows import State

BEGIN = datetime(2024, 3, 5, 10, tzinfo=UTC)


def state(
    epoch: int,
    version: int,
    isr: tuple[int, ...],
    *,
    replicas: tuple[int, ...] | None = None,
    adding: tuple[int, ...] | None = None,
    removing: tuple[int, ...] | None = None,
    decided: bool = True,
) -> State:
    time = BEGIN + timedelta(minutes=version)
    return State(
        "t", 0, 0, epoch, version, isr[0], isr, replicas, 5, time if decided else None, time, None, None,
        None, Line("log", 0, version, "text"), adding=adding, removing=removing,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("states", "counts"),
    [
        pytest.param(
            [state(0, 0, (1, 2, 3)), state(0, 1, (1, 2)), state(0, 2, (1, 2, 3))],
            [3, 3, 3],
            id="a replica falls out and comes back",
        ),
        pytest.param(
            [state(0, 0, (1,), replicas=(1, 2, 3)), state(1, 1, (1, 2))],
            [3, 3],
            id="a line names the replicas",
        ),
        pytest.param(
            [state(0, 0, (1, 2, 3)), state(1, 1, (1, 2, 3, 4)), state(2, 2, (2, 3, 4)), state(2, 3, (2, 3))],
            [3, 3, 3, 3],
            id="one replica takes the place of another",
        ),
        pytest.param(
            [
                state(0, 0, (1, 2)),
                state(1, 1, (1, 2), adding=(3,), removing=()),
                state(1, 2, (1, 2, 3)),
                state(2, 3, (1, 2, 3), adding=(), removing=()),
                state(2, 4, (1, 2)),
            ],
            [2, 2, 2, 3, 3],
            id="a third replica is added, and falls out later",
        ),
        pytest.param(
            [
                state(0, 0, (1, 2, 3)),
                state(1, 1, (1, 2, 3), adding=(), removing=(3,)),
                state(2, 2, (1, 2), adding=(), removing=()),
            ],
            [3, 3, 2],
            id="a replica is removed",
        ),
        pytest.param(
            [state(3, 5, (1,), decided=False), state(4, 9, (1, 2, 3), decided=False)],
            [1, 1],
            id="others may have been assigned between two epochs",
        ),
    ],
)
def test_only_replicas_that_are_proven_count(states: list[State], counts: list[int]) -> None:
    assert replica_counts(states) == counts


def test_a_leader_that_was_alone_in_sync_had_the_replicas_that_came_back_in_its_epoch() -> None:
    states = [
        state(3, 5, (1,), adding=(), removing=()),
        state(3, 6, (1, 2)),
        state(3, 7, (1, 2, 3)),
    ]
    assert replica_counts(states) == [3, 3, 3]
