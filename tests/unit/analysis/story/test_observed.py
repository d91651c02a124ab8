"""The lines about brokers, found without a look at all lines, and what follows from a lack of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.analysis.reading.events.broker_kinds import BrokerKind, Contact
from barnabas.analysis.story.brokers import absences
from barnabas.analysis.story.causes import last_of_process
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


@pytest.mark.parametrize(("until", "expected"), [(1, None), (1.5, 1), (3, 1), (3.5, 3)])
def test_the_last_line_of_a_broker_that_has_started_is_found(until: float, expected: float | None) -> None:
    seen = Observed(spoken={2: [at(1), at(2), at(3)]}, served={2: [at(1), at(3)]})
    assert seen.last_served(2, at(until)) == (None if expected is None else at(expected))
    assert seen.last_served(1, at(until)) is None


def test_a_line_after_a_loss_may_be_of_the_next_process() -> None:
    seen = Observed(spoken={2: [at(2), at(6), at(9)]}, served={2: [at(2)]})
    assert [seen.has_spoken_since(2, at(time)) for time in (9, 9.1)] == [True, False]
    assert not seen.has_spoken_since(1, at(0))
    assert last_of_process(2, None, at(8), seen) == at(2)
    assert last_of_process(2, None, at(9.1), seen) == at(9)


@pytest.mark.parametrize(
    ("kind", "time", "text", "expected"),
    [
        (BrokerKind.NODE_STARTING, 9, "Registered signal handlers for TERM, INT, HUP", 6),
        (BrokerKind.NODE_STARTING, 6.5, "Registered signal handlers for TERM, INT, HUP", 2),
        (BrokerKind.NODE_STARTING, 9, "[ControllerServer id=2] Starting controller", 2),
        (BrokerKind.STARTING, 9, "[BrokerServer id=2] Transition from SHUTDOWN to STARTING", 2),
        (BrokerKind.PREVIOUS_STOP_UNCLEAN, 9, "Recovering 9 logs from /d", 2),
        (BrokerKind.START_FAILED, 9, "Fatal error during KafkaServer startup", None),
        (None, 9, "", 6),
    ],
)
def test_a_line_that_the_next_process_may_have_written_is_not_of_the_one_before(
    kind: BrokerKind | None, time: float, text: str, expected: float | None
) -> None:
    seen = Observed(spoken={2: [at(2), at(6)]}, served={2: [at(2)]})
    start = None if kind is None else broker_line(time, kind, 2)
    if start is not None:
        start = start._replace(line=start.line._replace(text=text))
    first = at(8)
    assert last_of_process(2, start, first, seen) == (None if expected is None else at(expected))
