"""Clocks that differ: what shows it, and that no bound is claimed across them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.analysis.story.certainty import Bound, Fact, Unknown
from barnabas.analysis.story.clocks import BEHIND, LATE, SLOW, Clocks, Difference, duration_of
from barnabas.analysis.story.incident import Incident
from barnabas.analysis.story.incidents import incidents
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.partitions import Outage
from barnabas.analysis.story.rows import Delay
from tests.unit.analysis.story.cluster import ACTIONS, BROKERS, Cluster, at
from tests.unit.analysis.story.test_truth import contains, holds

_STAMP = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\]", re.MULTILINE)
MS = timedelta(milliseconds=1)
HOUR_MS = 3_600_000
FOUND_MS = LATE // MS + 15 + BEHIND // MS
"""The size of a difference that is found in either direction."""


def delay(controller: int, broker: int, ms: int, led: int | None = None) -> Delay:
    return Delay(controller, broker, ms * MS, None if led is None else led * MS)


def test_a_line_before_its_cause_shows_a_clock_that_is_behind() -> None:
    clocks = Clocks([delay(3, 1, -1_460, -1_460), delay(3, 2, 40, 40)])
    assert clocks.differences == [Difference(1, 3, 1_460 * MS, is_ahead=False)]
    assert not clocks.agree((1, 3))
    assert clocks.agree((2, 3, None, -1))
    # Broker 2 agrees with broker 3.
    assert not clocks.agree((1, 2))
    # Nothing compares broker 4 with anybody.
    assert not clocks.agree((1, 4))
    assert clocks.agree((4, 5))
    assert clocks.agree((1,))


def test_a_leader_that_logs_all_elections_late_may_be_ahead() -> None:
    late = LATE // MS
    assert Clocks([delay(3, 1, late, late)]).differences == [Difference(1, 3, LATE, is_ahead=True)]
    assert Clocks([delay(3, 1, late - 1, late - 1)]).differences == []
    # A follower may start much later than it is told.
    assert Clocks([delay(3, 1, late)]).differences == []
    # It followed another decision soon.
    assert Clocks([delay(3, 1, late - 1, late)]).differences == []
    # Broker 3 would have logged the decisions of broker 1 early.
    assert Clocks([delay(3, 1, late, late), delay(1, 3, 30)]).differences == []


def test_a_broker_that_logs_all_registrations_a_minute_late_may_be_ahead() -> None:
    slow = SLOW // MS
    late = delay(3, 1, slow)._replace(registered=SLOW)
    assert Clocks([late]).differences == [Difference(1, 3, SLOW, is_ahead=True, is_by_registration=True)]
    # An answer may come that late.
    assert Clocks([late._replace(least=SLOW - MS, registered=SLOW - MS)]).differences == []
    # Another line of the broker was soon.
    assert Clocks([late._replace(least=30 * MS)]).differences == []


def test_two_that_are_behind_each_other_are_not_compared_by_the_same_decisions() -> None:
    hour = 60 * 60 * 1_000
    clocks = Clocks([delay(3, 1, -hour, -hour), delay(1, 3, -hour, -hour), delay(3, 2, -30)])
    assert clocks.differences == [Difference(2, 3, 30 * MS, is_ahead=False)]
    assert clocks.agree((1, 3))


def test_a_few_milliseconds_are_no_difference() -> None:
    assert Clocks([delay(3, 1, -(BEHIND // MS))]).differences == []
    assert Clocks([]).agree(BROKERS)


def test_who_agrees_does_not_depend_on_the_order() -> None:
    rows = [delay(1, 2, 5), delay(3, 4, 5), delay(2, 3, 5), delay(5, 1, -100)]
    for delays in (rows, rows[::-1]):
        clocks = Clocks(delays)
        assert clocks.agree((1, 2, 3, 4))
        assert not any(clocks.agree((5, each)) for each in (1, 2, 3, 4))


def test_two_that_agree_with_a_third_may_differ() -> None:
    clocks = Clocks([delay(1, 2, -15), delay(2, 3, -15), delay(1, 3, -30)])
    assert clocks.agree((1, 2))
    assert not clocks.agree((1, 3))


def test_an_outage_by_two_clocks_has_no_duration() -> None:
    begin, end = Fact(at(0)), Bound(at(1_000), at(2_000))
    outage = Outage(("a", 0, 1), begin, end, 1, 2)
    assert duration_of(outage) == Bound(1_000 * MS, 2_000 * MS)
    mixed = Outage(("a", 0, 1), begin, end, 1, 2, is_mixed=True)
    assert isinstance(duration_of(mixed), Unknown)


def shifted(logs: Mapping[str, str], broker: int, ms: int) -> dict[str, str]:
    """The logs, with another clock of one broker."""

    def later(found: re.Match[str]) -> str:
        time = datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S,%f") + ms * MS  # noqa: DTZ007
        return f"[{time.isoformat(' ', timespec='milliseconds').replace('.', ',')}]"

    return {
        name: _STAMP.sub(later, text) if name.startswith(f"broker-{broker}/") else text
        for name, text in logs.items()
    }


def falsehoods(cluster: Cluster, found: Sequence[Incident], by_ms: int) -> Iterator[str]:
    """What the incidents claim and the truth denies.

    A moment is true by the right clock or by the one that is wrong, as a line has the clock of its broker.
    A time without a leader has to be true by the right clock.
    """
    for incident in found:
        for absence in incident.absences:
            times = [at(when) for broker, when in cluster.departures if broker == absence.broker]
            if not any(contains(absence.gone, time + by) for time in times for by in (0 * MS, by_ms * MS)):
                yield f"broker {absence.broker} gone {absence.gone}; truly {times}"
        for cost in incident.costs:
            for name in cost.partitions:
                true = [
                    None if until is None else (until - since) * MS
                    for topic, since, until in cluster.outages
                    if f"{topic}-0" == name
                ]
                if not any(holds(cost.duration, each) for each in true):
                    yield f"{name} had no leader {cost.duration}; truly {true}"


@given(
    script=st.lists(
        st.tuples(st.integers(8_000, 40_000), st.sampled_from(ACTIONS), st.sampled_from(BROKERS)), max_size=6
    ),
    broker=st.sampled_from(BROKERS),
    size=st.integers(FOUND_MS, 5_000) | st.integers(FOUND_MS, 5 * HOUR_MS),
    is_behind=st.booleans(),
)
def test_no_clock_that_is_wrong_makes_a_claim_false(
    script: list[tuple[int, str, int]], broker: int, size: int, is_behind: bool,
    observe: Callable[..., Observed],
) -> None:  # fmt: skip
    """In the logs of this cluster each broker logs an election, the fastest after 15 ms.

    A broker that is behind its controller by less than that and ``BEHIND``, or ahead by less than ``LATE``,
    is not found, so nothing is stated here about it: a clock that is a little ahead looks like a slow
    request. Nor is it stated that a moment is by the right clock: it is by that of one of the lines.
    """
    ms = -size if is_behind else size
    cluster = Cluster()
    cluster.run(script)
    seen = observe(shifted(cluster.logs(set()), broker, ms))
    assert any(broker in (each.broker, each.controller) for each in Clocks(seen.delays).differences)
    assert list(falsehoods(cluster, incidents(seen), ms)) == []


@pytest.mark.parametrize("ms", [0, -10, 300])
def test_clocks_that_hardly_differ_take_nothing_away(ms: int, observe: Callable[..., Observed]) -> None:
    cluster = Cluster()
    cluster.run([(8_000, "kill", 1)])
    (incident, *_) = incidents(observe(shifted(cluster.logs(set()), 2, ms)))
    assert incident.differences == ()
    assert any(isinstance(cost.duration, (Bound, Fact)) for cost in incident.costs)
