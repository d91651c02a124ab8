"""Unclean elections, and which states with consecutive versions prove one."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.analysis.story.elections import consecutive, unclean_elections
from barnabas.analysis.story.leaderships import is_of_another_cluster
from tests.unit.analysis.story.rows import at, state


def test_a_leader_from_outside_the_isr_was_elected_uncleanly() -> None:
    (found,) = unclean_elections([state(0, 1, 4, (1,)), state(10, 2, 5, (2,))])
    assert (found.leader, found.leader_epoch, found.isr, found.time) == (2, 5, (1,), at(10))
    assert [line.text for line in found.lines] == ["2 in 5", "1 in 4"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"controller_epoch": 7}, {"controller_epoch": 5}),
        ({"version": 8}, {"version": 10}),
        ({"version": 8}, {"version": 9, "epoch": 7}),
        ({"version": 8}, {"version": 9, "epoch": 3}),
    ],
    ids=["controller epoch falls", "version missing", "leader epoch missing", "leader epoch falls"],
)
def test_states_between_which_others_lie_or_of_two_clusters_prove_no_unclean_election(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    epoch = after.pop("epoch", 5)
    states = [state(0, 1, 4, (1,), **before), state(10, 2, epoch, (2,), **after)]
    assert list(unclean_elections(states)) == []
    assert list(consecutive(states)) == []


def test_an_election_that_a_controller_calls_unclean_needs_no_state_before() -> None:
    states = [
        state(0, 1, 4, (1,), controller_epoch=7),
        state(10, 2, 5, (2,), controller_epoch=5, election="unclean"),
    ]
    (found,) = unclean_elections(states)
    assert (found.leader, found.isr, [line.text for line in found.lines]) == (2, (), ["2 in 5"])


def test_a_state_without_leader_epoch_follows_the_version_before() -> None:
    states = [state(0, 1, None, (1, 2), version=1), state(10, 1, None, (1,), version=2)]
    assert list(consecutive(states)) == [(states[0], states[1])]


@pytest.mark.parametrize(
    ("before", "after", "is_other"),
    [(7, 5, True), (5, 7, False), (5, 5, False), (None, 5, False), (5, None, False)],
)
def test_a_controller_epoch_that_falls_is_of_another_cluster(
    before: int | None, after: int | None, is_other: bool
) -> None:
    assert is_of_another_cluster(before, after) is is_other
