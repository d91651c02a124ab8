"""Outages that only the end of the leader's process proves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Bound, Fact, Unknown
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.partitions import History, histories
from barnabas.analysis.story.restarts import departed, with_restarts, without_dead_leaders
from barnabas.analysis.story.rows import NO_LEADER
from tests.unit.analysis.story.rows import at, death, state


def moved(seconds: float, leader: int = 2) -> History:
    """A partition that broker 1 led, and that got ``leader`` then; its ISR is that leader's alone."""
    states = (state(0, 1, 0, (1, 2)), state(seconds, leader, 1, (leader,)))
    (story,) = histories(Observed(states=states))
    return story


def fenced(broker: int, noticed: float, **more: object) -> Absence:
    """A broker that a KRaft controller fenced five seconds after its last line; its process lived on."""
    lost = replace(death(broker, noticed, None, None), cause=Cause.LOST_SESSION, noticed=Fact(at(noticed)))
    return replace(lost, spoke=at(noticed - 5), **more)  # type: ignore[arg-type]


def test_a_leader_that_died_unnoticed_leaves_an_outage_until_the_next_one_led() -> None:
    (outage,) = with_restarts(moved(20), departed([death(1, 10, None, None)])).outages
    assert (outage.leader_before, outage.leader_after, outage.shown) == (1, 2, at(20))
    assert isinstance(outage.begin, Bound)
    assert (outage.begin.at_most, outage.end) == (at(10), Fact(at(20), outage.end.lines))


def test_a_new_leader_epoch_of_the_dead_leader_is_no_election() -> None:
    assert with_restarts(moved(20, leader=1), departed([death(1, 10, None, None)])).outages == []


@pytest.mark.parametrize(("elected", "is_outage"), [(20, True), (100, False)])
def test_a_dead_leader_that_was_elected_long_after_its_return_may_have_led_before(
    elected: float, is_outage: bool
) -> None:
    found = with_restarts(moved(elected, leader=1), departed([death(1, 10, 12, 15)])).outages
    assert bool(found) is is_outage


def next_known_from_a_follower(**known: object) -> History:
    """A partition of broker 1 that got broker 2 at an unknown time, by a line 20 seconds after."""
    states = (state(0, 1, 0, (1, 2)), state(20, 2, 1, (2,), decided=None, **known))
    (story,) = histories(Observed(states=states))
    return story


def test_a_leader_that_died_may_have_been_moved_before_unless_the_next_one_says_when_it_led() -> None:
    gone = departed([death(1, 10, None, None)])
    assert not with_restarts(next_known_from_a_follower(led_at=None), gone).outages
    (outage,) = with_restarts(next_known_from_a_follower(), gone).outages
    assert (outage.leader_before, outage.leader_after) == (1, 2)


@pytest.mark.parametrize("cause", [Cause.PLANNED, Cause.STOPPED, Cause.NOT_GRANTED, Cause.UNKNOWN])
def test_a_leader_that_stopped_or_may_have_was_moved_while_it_was_there(cause: Cause) -> None:
    gone = departed([replace(death(1, 10, 30, None), cause=cause)])
    story = next_known_from_a_follower()
    assert with_restarts(story, gone) is story


@pytest.mark.parametrize(("seconds", "is_outage"), [(11, False), (20, True)])
def test_an_election_after_an_orderly_stop_leaves_an_outage_if_clocks_cannot_explain_it(
    seconds: float, is_outage: bool
) -> None:
    gone = departed([replace(death(1, 10, None, None), cause=Cause.STOPPED)])
    assert bool(with_restarts(moved(seconds), gone).outages) is is_outage


def test_a_leader_of_another_cluster_explains_nothing() -> None:
    states = (state(0, 1, 0, (1, 2), controller_epoch=7), state(20, 2, 1, (2,), controller_epoch=5))
    (story,) = histories(Observed(states=states))
    assert with_restarts(story, departed([death(1, 10, None, None)])) is story


def test_an_end_after_the_change_of_leader_explains_nothing() -> None:
    story = moved(20)
    assert with_restarts(story, departed([death(1, 30, None, None)])) is story


def test_a_leader_that_was_fenced_led_until_its_last_own_line_at_least() -> None:
    others = [fenced(3, 10), fenced(1, 200)]
    (outage,) = with_restarts(moved(10), departed([*others, fenced(1, 10)])).outages
    assert isinstance(outage.begin, Bound)
    assert (outage.begin.at_least, outage.begin.at_most) == (at(5), at(10))


def test_a_broker_alone_in_sync_that_was_fenced_and_unfenced_led_nothing_meanwhile() -> None:
    states = (state(0, 1, 0, (1,)), state(20, 1, 2, (1,)))
    (story,) = histories(Observed(states=states))
    assert len(story.gaps) == 1
    # Nothing shows the return of the first, so it proves nothing.
    found = with_restarts(story, departed([fenced(1, 10), fenced(1, 10, returned=Fact(at(19)))]))
    (outage,) = found.outages
    assert isinstance(outage.end, Bound | Fact)
    assert (outage.leader_before, outage.leader_after, found.gaps) == (1, 1, [])


def twice() -> History:
    """A partition that has no leader, then broker 2 for two seconds, then none, then broker 3."""
    states = (
        state(0, 1, 0),
        state(10, NO_LEADER, 1, removed=1),
        state(20, 2, 2, led_at=None),
        state(22, NO_LEADER, 3, removed=2),
        state(30, 3, 4),
    )
    (story,) = histories(Observed(states=states))
    return story


def test_a_broker_that_was_gone_when_it_was_elected_never_led() -> None:
    (outage,) = without_dead_leaders(twice(), departed([death(2, 15, 40, 45)])).outages
    assert (outage.leader_before, outage.leader_after, outage.shown) == (1, 3, at(30))


@pytest.mark.parametrize(
    "absence",
    [
        replace(death(2, 15, 40, 45), gone=Unknown("no line")),
        death(2, 15, 40, None),
        replace(death(2, 15, None, 45), cause=Cause.UNKNOWN),
        death(2, 25, 40, 45),
        death(4, 15, 40, 45),
    ],
    ids=["gone unknown", "return unknown", "end unproven", "gone later", "another broker"],
)
def test_a_broker_that_may_have_led_between_two_outages_keeps_them_apart(absence: Absence) -> None:
    story = twice()
    assert without_dead_leaders(story, departed([absence])) is story
