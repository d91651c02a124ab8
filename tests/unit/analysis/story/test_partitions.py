"""The leaderships and outages of one partition, from its states alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from barnabas.analysis.story.certainty import Bound, Duration, Fact, Unknown, latest
from barnabas.analysis.story.elections import consecutive
from barnabas.analysis.story.leaderships import leaderships
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.partitions import History, histories
from barnabas.analysis.story.rows import NO_LEADER, State
from tests.unit.analysis.story.rows import LIFE, at, state


def history(*states: State, **more: object) -> History:
    (found,) = histories(Observed(states=states, **more))  # type: ignore[arg-type]
    return found


def test_an_outage_goes_on_while_the_isr_loses_further_replicas() -> None:
    found = history(
        state(0, 1, 0, (1, 2, 3)),
        state(10, NO_LEADER, 1, (2, 3), removed=1),
        state(12, NO_LEADER, 2, (3,), removed=2),
        state(20, 3, 3, (3,)),
    )
    (outage,) = found.outages
    assert (latest(outage.begin), outage.end) == (at(10), Fact(at(20), outage.end.lines))
    assert (outage.leader_before, outage.leader_after, outage.shown) == (1, 3, at(20))
    assert found.gaps == []


def test_a_deletion_ends_what_lasts_and_leaves_what_was_over() -> None:
    states = (state(0, 1, 0), state(10, NO_LEADER, 1), state(20, 2, 2), state(30, NO_LEADER, 3))
    before, last = history(*states, deleted={LIFE: at(60)}).outages
    assert (before.deleted, before.end) == (False, Fact(at(20), before.end.lines))
    assert (last.deleted, last.end, last.shown) == (True, Bound(None, at(60)), at(60))


def test_an_outage_that_begins_with_the_deletion_is_none() -> None:
    states = (state(0, 1, 0), state(59, NO_LEADER, 1))
    assert history(*states, deleted={LIFE: at(60)}).outages == []


def test_a_decision_without_an_epoch_belongs_to_the_request_right_after_it_alone() -> None:
    sent = [state(seconds, leader, epoch, decided=None) for seconds, leader, epoch in ((1, 1, 4), (60, 2, 5))]
    decided = [state(seconds, leader, None) for seconds, leader in ((0.5, 1), (30, 2))]
    first, second = leaderships([*sent, *decided])
    assert (first.epoch, first.decided) == (4, at(0.5))
    assert (second.epoch, second.decided) == (5, None)


def test_of_two_lines_about_a_version_the_controllers_counts_in_any_order() -> None:
    told = state(3, 2, 6, (2,), decided=None)
    decided = state(2, 2, 6, (2,))
    before = state(0, 1, 5, (1, 2))
    for lines in ((before, told, decided), (before, decided, told)):
        assert list(consecutive(lines)) == [(before, decided)]


UNDATED = {"decided": None}
"""Of a state that only a later line shows."""


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        ({}, {}, Fact(timedelta(seconds=10))),
        (UNDATED, {}, Bound(timedelta(seconds=10), None)),
        ({}, UNDATED, Bound(None, timedelta(seconds=10))),
        ({}, {"version": 3}, Bound(None, timedelta(seconds=10))),
        (UNDATED, UNDATED, Unknown("no lines show when it began and ended")),
        (UNDATED | {"changed": at(10)}, UNDATED | {"changed": at(20)}, Fact(timedelta(seconds=10))),
        # A controller that makes a replica offline may say the present state once more.
        ({"removed": 2}, {}, Bound(timedelta(seconds=10), None)),
        ({"version": 5}, {"version": 6}, Bound(timedelta(seconds=10), None)),
        ({"version": 5, "changed": at(10)}, {"version": 6}, Fact(timedelta(seconds=10))),
    ],
)
def test_an_isr_held_for_a_time_that_only_lines_about_both_changes_prove(
    begin: dict[str, Any], end: dict[str, Any], expected: Duration
) -> None:
    found = history(
        state(0, 1, 0, (1, 2), version=0),
        state(10, 1, 0, (1,), **{"version": 1} | begin),
        state(20, 1, 0, (1, 2), **{"version": 2} | end),
    )
    held = found.isr[1].held
    assert replace(held, lines=()) == expected


def test_an_isr_of_less_than_a_millisecond_has_no_known_duration() -> None:
    first, short, last = history(
        state(0, 1, 0, (1, 2), version=0), state(10, 1, 0, (1,), version=1),
        state(10, 1, 0, (1, 2), version=2),
    ).isr  # fmt: skip
    assert (type(first.held), type(short.held), type(last.held)) == (Fact, Unknown, Unknown)


def test_the_first_isr_known_began_at_its_line_only_if_the_partition_was_new() -> None:
    for seen, is_begun in (({"version": 7}, False), ({"version": 0}, True), ({"was": "NewPartition"}, True)):
        (step,) = history(state(0, 1, 0, (1,), **seen)).isr
        assert step.is_begun is is_begun, seen
