"""Clocks that differ by a second or more: what shows it, and that no bound is claimed across them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

import pytest

from barnabas.analysis.story.certainty import Bound, Fact, Unknown
from barnabas.analysis.story.clocks import BEHIND, LATE, Clocks, Difference, differences_of, duration_of
from barnabas.analysis.story.incidents import incidents
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.partitions import Outage
from barnabas.analysis.story.rows import Delay
from tests.unit.analysis.story.cluster import Cluster, at

MS = timedelta(milliseconds=1)
_STAMP = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\]")


def delay(controller: int, broker: int, least: timedelta, led: timedelta | None = None) -> Delay:
    return Delay(controller, broker, least, led)


def test_a_broker_that_logs_a_decision_before_its_controller_is_behind() -> None:
    early = -BEHIND - MS
    assert differences_of([delay(3, 1, early)]) == [Difference(1, 3, -early, is_ahead=False)]
    assert differences_of([delay(3, 1, -BEHIND)]) == []


def test_a_leader_that_logs_all_elections_late_may_be_ahead() -> None:
    assert differences_of([delay(3, 1, LATE, LATE)]) == [Difference(1, 3, LATE, is_ahead=True)]
    # A follower may start much later than it is told.
    assert differences_of([delay(3, 1, LATE)]) == []
    # It followed another decision soon.
    assert differences_of([delay(3, 1, LATE - MS, LATE)]) == []
    # Broker 3 would have logged the decisions of broker 1 early.
    assert differences_of([delay(3, 1, LATE, LATE), delay(1, 3, 30 * MS)]) == []


def test_two_that_are_behind_each_other_are_not_compared_by_the_same_decisions() -> None:
    hour = timedelta(hours=1)
    assert differences_of([delay(3, 1, -hour, -hour), delay(1, 3, -hour, -hour)]) == []


def test_a_clock_that_is_off_agrees_with_itself_alone() -> None:
    clocks = Clocks([Difference(1, 3, BEHIND, is_ahead=False)])
    assert not clocks.agree((1, 3))
    assert not clocks.agree((1, 2))
    assert clocks.agree((1, None))
    assert clocks.agree((2, 3))


def test_an_outage_by_two_clocks_has_no_duration() -> None:
    begin, end = Fact(at(0)), Bound(at(1_000), at(2_000))
    assert duration_of(Outage(("a", 0, 1), begin, end, 1, 2)) == Bound(1_000 * MS, 2_000 * MS)
    mixed = Outage(("a", 0, 1), begin, end, 1, 2, is_mixed=True)
    assert isinstance(duration_of(mixed), Unknown)


def shifted(logs: Mapping[str, str], broker: int, by: timedelta) -> dict[str, str]:
    """The logs, with another clock of one broker."""

    def later(found: re.Match[str]) -> str:
        time = datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S,%f") + by  # noqa: DTZ007
        return f"[{time.isoformat(' ', timespec='milliseconds').replace('.', ',')}]"

    return {
        name: _STAMP.sub(later, text) if name.startswith(f"broker-{broker}/") else text
        for name, text in logs.items()
    }


@pytest.mark.parametrize("hours", [-2, 2])
def test_a_clock_that_is_hours_off_is_said_and_bounds_nothing(
    hours: int, observe: Callable[..., Observed]
) -> None:
    cluster = Cluster()
    cluster.run([(8_000, "kill", 2)])
    found = incidents(observe(shifted(cluster.logs(set()), 3, timedelta(hours=hours))))
    of_loss = [each for each in found if any(absence.broker == 2 for absence in each.absences)]
    assert {difference.broker for each in of_loss for difference in each.differences} == {3}
    longest = [
        cost.duration for each in found for cost in each.costs if not isinstance(cost.duration, Unknown)
    ]
    assert not any(isinstance(each, Fact) and each.value > timedelta(hours=1) for each in longest)
    assert not any(
        isinstance(each, Bound) and (each.at_least or timedelta()) > timedelta(hours=1) for each in longest
    )


@pytest.mark.parametrize("ms", [0, -10, 300])
def test_clocks_that_hardly_differ_take_nothing_away(ms: int, observe: Callable[..., Observed]) -> None:
    cluster = Cluster()
    cluster.run([(8_000, "kill", 1)])
    (incident, *_) = incidents(observe(shifted(cluster.logs(set()), 2, ms * MS)))
    assert incident.differences == ()
    assert any(isinstance(cost.duration, (Bound, Fact)) for cost in incident.costs)
