"""The lines about brokers, found without a look at all lines."""

from __future__ import annotations

import pytest

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.observed import Observed
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
