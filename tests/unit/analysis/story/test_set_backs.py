"""Clocks that were set back: what shows it, and what looks alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from barnabas.analysis.story.certainty import Line
from barnabas.analysis.story.incidents import incidents
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.sentences.incidents import headline
from barnabas.analysis.story.set_backs import SURELY, Step, set_backs_of

T0 = datetime(2024, 3, 5, 10)  # noqa: DTZ001  (times of logs have no zone)
SECOND = timedelta(seconds=1)


def step(
    before: float, after: float, following: float | None, *, first: float = -3600, last: float = 0
) -> Step:
    line = Line("broker-1/server.log", 0, 7, "", 1)
    later = None if following is None else T0 + following * SECOND
    return Step(
        1, T0 + first * SECOND, T0 + before * SECOND, T0 + after * SECOND, later, T0 + last * SECOND, line
    )


def test_lines_that_go_back_and_stay_there_show_a_clock_that_was_set_back() -> None:
    (found,) = set_backs_of([step(30, 25, 28, last=40)])
    assert (found.broker, found.before, found.after) == (1, T0 + 30 * SECOND, T0 + 25 * SECOND)


def test_one_late_line_of_a_thread_shows_none() -> None:
    assert set_backs_of([step(30, 25, 31, last=40)]) == []
    assert set_backs_of([step(30, 25, None, last=25)]) == []


def test_one_line_that_is_a_minute_back_shows_one() -> None:
    least = SURELY / SECOND
    assert len(set_backs_of([step(30, 30 - least, None, last=30 - least)])) == 1


def test_a_file_of_others_with_the_newest_first_shows_none() -> None:
    newest_first = [
        step(3600, -3600, -3500, first=0, last=-7000),
        step(0, -7200, -7100, first=0, last=-7000),
    ]
    assert set_backs_of(newest_first) == []


def test_a_file_whose_lines_are_grouped_shows_none() -> None:
    assert set_backs_of([step(60, 10, 20, first=0, last=60)]) == []
    assert len(set_backs_of([step(60, 31, 32, first=0, last=60)])) == 1


def test_the_largest_step_of_a_broker_stands_for_it() -> None:
    steps = [step(30, 25, 26, last=100), step(60, 50, 51, last=100)]
    (found,) = set_backs_of(steps)
    assert found.before - found.after == 10 * SECOND


WINTER = """\
[2024-10-27 00:59:50,000] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)
[2024-10-27 01:00:05,000] INFO Terminating process due to signal SIGTERM (org.apache.kafka.common.utils.LoggingSignalHandler)
[2024-10-27 01:00:09,000] INFO [KafkaServer id=1] shut down completed (kafka.server.KafkaServer)
"""  # noqa: E501


def test_times_of_an_hour_that_occurred_twice_may_be_an_hour_off(observe: Callable[..., Observed]) -> None:
    seen = observe({"broker-1/server.log": WINTER})
    hour = (datetime(2024, 10, 27), datetime(2024, 10, 27, 2))  # noqa: DTZ001
    (before,), (then,) = incidents(seen), incidents(replace(seen, repeated=[hour]))
    assert not before.is_doubled
    assert headline(then).text == (
        f"{headline(before).text[:-1]}; its times are of an hour that clocks showed twice, so each may be an "
        "hour off, and their order another."
    )
