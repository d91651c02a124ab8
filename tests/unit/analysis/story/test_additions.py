"""Controllers, ISRs and unclean elections: added to the incident that they belong to, or one of their own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.analysis.story.additions import (
    with_new_controllers,
    with_shortages,
    with_unclean,
    with_vacancies,
)
from barnabas.analysis.story.certainty import Fact
from barnabas.analysis.story.controllers import Vacancy
from barnabas.analysis.story.elections import UncleanElection
from barnabas.analysis.story.incident import Incident, IncidentKind
from barnabas.analysis.story.minimums import Minimums
from barnabas.analysis.story.observed import Observed, seconds
from barnabas.analysis.story.partitions import histories
from barnabas.analysis.story.rows import Controller, State
from tests.unit.analysis.story.rows import at, death, line, state

GONE = Incident(IncidentKind.DEPARTURE, at(100), at(130), absences=(death(1, 100, 120, 130),))
NO_MINIMUM = Minimums()


@pytest.mark.parametrize(
    ("new", "owner"),
    [
        (Controller(2, 6, at(106)), 0),
        # A minute after the return of the former one, by whoever made it resign.
        (Controller(2, 6, at(200)), None),
        # Another one may have been the controller in epoch 6.
        (Controller(2, 7, at(106)), None),
        # The same broker again is no other controller.
        (Controller(1, 6, at(106)), "none"),
    ],
)
def test_a_new_controller_belongs_to_the_departure_of_the_former(new: Controller, owner: object) -> None:
    found = with_new_controllers([GONE], Observed(controllers=(Controller(1, 5, at(0)), new)))
    if owner == 0:
        assert [each.new.epoch for each in found[0].changes] == [6]
        assert len(found) == 1
    elif owner is None:
        assert found[0] == GONE
        assert [each.kind for each in found[1:]] == [IncidentKind.CONTROLLER]
    else:
        assert found == [GONE]


@pytest.mark.parametrize(("since", "is_alone"), [(110, False), (500, True)])
def test_a_time_without_a_controller_belongs_to_what_happened_then(since: float, is_alone: bool) -> None:
    vacancy = Vacancy(at(since), None, None, (line("lost"),))
    first, *others = with_vacancies([GONE], [vacancy])
    assert (first.vacancies, [each.vacancies for each in others]) == (
        ((), [(vacancy,)]) if is_alone else ((vacancy,), [])
    )


@pytest.mark.parametrize(("seconds", "is_alone"), [(110, False), (500, True)])
def test_an_unclean_election_belongs_to_what_happened_then(seconds: float, is_alone: bool) -> None:
    election = UncleanElection(("t", 0, 0), 2, 3, (1,), Fact(at(seconds)), (line("elected"),))
    first, *others = with_unclean([GONE], [election])
    assert (first.unclean, [each.unclean for each in others]) == (
        ((), [(election,)]) if is_alone else ((election,), [])
    )


def short(partition: int, since: float, until: float | None) -> list[State]:
    """The states of a partition that loses one of two replicas in sync, and gets it back at ``until``."""
    found = [
        state(0, 2, 0, (1, 2), version=0, replicas=(1, 2)),
        state(since, 2, 0, (2,), version=1, replicas=(1, 2)),
    ]
    if until is not None:
        found.append(state(until, 2, 0, (1, 2), version=2, replicas=(1, 2)))
    return [each._replace(partition=partition) for each in found]


def shortages(*states: list[State]) -> list[Incident]:
    stories = histories(Observed(states=[each for some in states for each in some]))
    return with_shortages([GONE], stories, NO_MINIMUM)


def test_replicas_that_fall_out_during_a_departure_are_a_part_of_it() -> None:
    (found,) = shortages(short(0, 101, 130), short(1, 110, 131))
    assert found.shortage is not None
    assert found.shortage.partitions == 2


def test_replicas_that_fall_out_together_are_one_incident_and_later_ones_another() -> None:
    _, together, later = shortages(short(0, 500, 510), short(1, 520, 560), short(2, 600, None))
    assert [each.kind for each in (together, later)] == [IncidentKind.UNDER_REPLICATED] * 2
    assert together.shortage is not None
    assert (together.since, together.until, together.shortage.partitions) == (at(500), at(560), 2)
    assert (later.since, later.until) == (at(600), None)


def test_nothing_belongs_to_another_controller_alone() -> None:
    change = Incident(IncidentKind.CONTROLLER, at(100), at(100))
    vacancy = Vacancy(at(100), at(110), None, (line("lost"),))
    first, second = with_vacancies([change], [vacancy])
    assert (first, second.kind) == (change, IncidentKind.NO_CONTROLLER)


@given(st.lists(st.integers(0, 5_000), max_size=40))
def test_of_each_second_the_first_and_the_last_time_are_kept(milliseconds: list[int]) -> None:
    kept = seconds(at(each / 1000) for each in milliseconds)
    by_second: dict[int, list[int]] = {}
    for each in sorted(milliseconds):
        by_second.setdefault(each // 1000, []).append(each)
    ends = [
        end
        for times in by_second.values()
        for end in (times[:1] if len(times) == 1 else times[:: len(times) - 1])
    ]
    assert kept == [at(each / 1000) for each in ends]
