"""Which controller of KRaft is active, by the lines of controllers."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.active_controllers import ActiveControllers
from barnabas.analysis.story.certainty import Line
from barnabas.analysis.story.rows import BrokerLine, Controller

NOON = datetime(2026, 3, 5, 12)  # noqa: DTZ001


def at(minute: int) -> datetime:
    return NOON + timedelta(minutes=minute)


def elected(broker: int, epoch: int, minute: int, by: int | None = None) -> Controller:
    return Controller(broker, epoch, at(minute), (Line("c", 0, epoch, "", by or broker),))


def line(kind: BrokerKind, broker: int, minute: int) -> BrokerLine:
    return BrokerLine(at(minute), kind, "controller", broker, broker, Line("c", 0, minute, "", broker))


@pytest.mark.parametrize(
    ("broker", "minute", "is_active"),
    [
        (1, 0, False),
        (1, 1, True),
        (1, 4, True),
        (1, 5, False),
        (1, 7, False),
        (2, 5, True),
        (2, 9, False),
        (3, 9, False),
    ],
)
def test_a_controller_is_active_from_its_election_to_the_next_one_its_end_or_its_start(
    broker: int, minute: int, *, is_active: bool
) -> None:
    known = [elected(1, 4, 1), elected(2, 5, 5), elected(3, 6, 10, by=4)]
    lines = [line(BrokerKind.NODE_STARTING, 1, 7), line(BrokerKind.CONTROLLER_RESIGNED, 2, 8)]
    assert ActiveControllers(lines, known).is_active(broker, at(minute)) is is_active


def test_a_controller_that_started_may_load_the_log() -> None:
    active = ActiveControllers([line(BrokerKind.NODE_STARTING, 1, 7)], [])
    assert [active.may_load(1, at(minute)) for minute in (6, 7, 17, 18)] == [False, True, True, False]
    assert not active.may_load(2, at(8))
    assert not active.may_load(None, at(8))


def test_another_node_s_line_about_an_election_does_not_date_it() -> None:
    active = ActiveControllers([], [elected(3, 6, 1, by=4)])
    assert not active.is_active(3, at(2))
    assert not active.is_active(None, at(2))
