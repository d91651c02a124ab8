"""The leaderships and outages of one partition, from its states alone."""

from __future__ import annotations

from barnabas.analysis.story.certainty import Bound, Fact, latest
from barnabas.analysis.story.elections import consecutive
from barnabas.analysis.story.leaderships import leaderships
from barnabas.analysis.story.observed import NO_LEADER, Observed, State
from barnabas.analysis.story.partitions import History, histories
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
