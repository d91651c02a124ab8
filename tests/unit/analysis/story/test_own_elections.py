"""The elections of a broker as the controller, by time."""

from __future__ import annotations

from datetime import datetime

import pytest

from barnabas.analysis.story.own_elections import OwnElections
from barnabas.analysis.story.rows import Controller


def at(second: int) -> datetime:
    return datetime.fromisoformat(f"2026-11-21 10:00:{second:02}")


ELECTIONS = OwnElections(
    Controller(broker, epoch, at(epoch * 10)) for broker, epoch in ((1, 3), (2, 2), (1, 1))
)


@pytest.mark.parametrize(
    ("broker", "second", "last", "following"),
    [(1, 9, None, 1), (1, 10, 1, 3), (1, 29, 1, 3), (1, 30, 3, None), (2, 29, 2, None), (3, 29, None, None)],
)
def test_the_elections_around_a_moment(
    broker: int, second: int, last: int | None, following: int | None
) -> None:
    before, after = ELECTIONS.last(broker, at(second)), ELECTIONS.next(broker, at(second))
    assert (None if before is None else before.epoch) == last
    assert (None if after is None else after.epoch) == following


def test_nobody_has_no_election() -> None:
    assert ELECTIONS.last(None, at(59)) is None
