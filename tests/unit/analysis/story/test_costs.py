"""Costs: partitions without a leader, grouped by how that ended, with a duration that holds for each."""

from __future__ import annotations

from datetime import timedelta

import pytest

from barnabas.analysis.story.certainty import Bound, Duration, Fact, Instant, Unknown, moment
from barnabas.analysis.story.costs import Cost, Ending, costs_of
from barnabas.analysis.story.partitions import Outage
from tests.unit.analysis.story.rows import at

NEVER = Unknown("no line")


def outage(partition: int, begin: Instant, end: Instant, leader: int | None = 2, **more: object) -> Outage:
    return Outage(("t", partition, 0), begin, end, 1, leader, **more)  # type: ignore[arg-type]


def cost(*outages: Outage) -> Cost:
    (found,) = costs_of((1, each) for each in outages)
    return found


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


@pytest.mark.parametrize(
    ("one", "ending"),
    [
        (outage(0, Fact(at(0)), Fact(at(5))), Ending.MOVED),
        (outage(0, Fact(at(0)), moment(at(5), None, (), "")), Ending.ELECTED),
        (outage(0, Fact(at(0)), NEVER), Ending.ELECTED),
        (outage(0, Fact(at(0)), Fact(at(5)), leader=1), Ending.RETURNED),
        (outage(0, Fact(at(0)), moment(at(5), None, (), ""), leader=1), Ending.ELECTED_AGAIN),
        (outage(0, Fact(at(0)), NEVER, leader=1), Ending.ELECTED_AGAIN),
        (outage(0, Fact(at(0)), Fact(at(5)), deleted=True), Ending.DELETED),
        (outage(0, Fact(at(0)), NEVER, leader=None), Ending.NOT_SHOWN),
        (outage(0, Fact(at(0)), NEVER, leader=None, lasting=at(90)), Ending.LASTING),
    ],
)
def test_an_outage_ends_in_one_of_seven_ways(one: Outage, ending: Ending) -> None:
    assert cost(one).ending is ending


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((Fact(at(5)), Fact(at(5))), Fact(seconds(5))),
        ((Fact(at(5)), Fact(at(7))), Bound(seconds(5), seconds(7))),
        ((Fact(at(5)), moment(at(6), at(9), (), "")), Bound(seconds(5), seconds(9))),
        ((Fact(at(5)), moment(at(6), None, (), "")), Bound(seconds(5), None)),
        ((NEVER, NEVER), Unknown("the logs do not show when it ended")),
        ((Fact(at(5)), NEVER), Unknown("the logs do not show when all of them ended")),
    ],
)
def test_a_duration_holds_for_each_partition(ends: tuple[Instant, Instant], expected: Duration) -> None:
    # Of those of which no line shows who led next, some ends may be bounded, and others not.
    found = cost(*(outage(number, Fact(at(0)), end, leader=None) for number, end in enumerate(ends)))
    assert found.duration == expected
    assert found.partitions == ("t-0", "t-1")


def test_clocks_that_differ_are_named_where_the_end_is_known() -> None:
    found = cost(*(outage(number, Fact(at(0)), Fact(at(5)), is_mixed=True) for number in range(2)))
    assert found.duration == Unknown("the clocks of brokers differ")


def test_what_lasts_at_the_end_of_the_logs_comes_first() -> None:
    found = costs_of(
        [
            (1, outage(0, Fact(at(0)), Fact(at(5)))),
            (1, outage(1, Fact(at(0)), NEVER, leader=None, lasting=at(90))),
            (1, outage(2, Fact(at(0)), NEVER, leader=None)),
        ]
    )
    assert [(each.partitions, each.lasting) for each in found] == [
        (("t-1",), at(90)), (("t-0",), None), (("t-2",), None),
    ]  # fmt: skip


def test_the_longest_come_first() -> None:
    found = costs_of(
        [(1, outage(0, Fact(at(0)), Fact(at(5)))), (2, outage(1, Fact(at(0)), Fact(at(50)), leader=2))]
    )
    assert [each.partitions for each in found] == [("t-1",), ("t-0",)]
