"""The lines about brokers, found without a look at all lines, and what follows from a lack of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.analysis.reading.events.broker_kinds import BrokerKind, Contact
from barnabas.analysis.story.brokers import absences
from barnabas.analysis.story.certainty import earliest, latest
from barnabas.analysis.story.observed import Observed
from barnabas.cluster.model.statechange import Kind
from tests.unit.analysis.story.rows import at, broker_line

LATE = broker_line(3, BrokerKind.STARTING)
STARTED = broker_line(4, BrokerKind.STARTED)
EARLY = broker_line(1, BrokerKind.STARTING)
OTHER = broker_line(2, BrokerKind.STARTING, broker=2)
OBSERVED = Observed(brokers=(LATE, STARTED, EARLY, OTHER))


def test_lines_about_a_broker_are_returned_kind_by_kind_each_by_time() -> None:
    assert OBSERVED.about(1, BrokerKind.STARTED, BrokerKind.STARTING) == [STARTED, EARLY, LATE]
    assert OBSERVED.about(3, BrokerKind.STARTED) == []


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        (None, None, [EARLY, LATE]),
        (1, 3, [EARLY, LATE]),
        (1.5, None, [LATE]),
        (None, 2.5, [EARLY]),
        (4, None, []),
    ],
)
def test_lines_about_a_broker_are_found_by_their_times(
    since: float | None, until: float | None, expected: object
) -> None:
    edges = (None if since is None else at(since), None if until is None else at(until))
    assert OBSERVED.about_within(1, BrokerKind.STARTING, *edges) == expected
    assert list(OBSERVED.about_within(1, BrokerKind.DIED, *edges)) == []


@pytest.mark.parametrize(("until", "time", "knows_until"), [(None, 9, True), (5, 5, True), (5, 5.1, False)])
def test_a_silence_is_known_as_long_as_all_lines_are(
    until: float | None, time: float, *, knows_until: bool
) -> None:
    seen = Observed(spoken_until=None if until is None else at(until))
    assert seen.knows_until(at(time)) is knows_until


OFFLINE = broker_line(10, Kind.ISR_REMOVAL)._replace(role="controller", broker=3, subject=2)
REFUSED = broker_line(6, BrokerKind.CONTACT_LOST, 3, contact=Contact.REFUSED)._replace(subject=2)
FENCED = broker_line(10, BrokerKind.BROKER_FENCED, 3)._replace(role="controller", subject=2)


def test_a_broker_whose_lines_are_not_all_known_is_not_taken_for_gone() -> None:
    silent = Observed(brokers=(OFFLINE,), spoken={2: [at(1)]})
    (absence,) = absences(silent)
    assert absence.broker == 2
    assert absences(replace(silent, spoken_until=at(9))) == []


def test_a_lost_contact_after_which_a_broker_may_have_written_bounds_nothing() -> None:
    silent = Observed(brokers=(REFUSED, FENCED), spoken={2: [at(1)]})
    (absence,) = absences(silent)
    assert (earliest(absence.gone), latest(absence.gone)) == (at(1), at(6))
    (absence,) = absences(replace(silent, spoken_until=at(9)))
    assert (earliest(absence.gone), latest(absence.gone)) == (at(1), at(10))
