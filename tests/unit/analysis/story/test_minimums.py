"""Values of min.insync.replicas, and when each held."""

from __future__ import annotations

import pytest

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.minimums import Lack, Minimums, minimums_of
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.partitions import History, histories
from barnabas.analysis.story.rows import BrokerLine, Setting, State
from tests.unit.analysis.story.rows import at, broker_line, line, state

NAME = "min.insync.replicas"


def configured(seconds: float, value: object, topic: str | None = None, broker: int = 1) -> BrokerLine:
    """A line about the settings of a topic, or of a broker; an empty value stands for the brokers'."""
    settings = (f"{NAME}={value}", "broker.rack=a")
    return broker_line(seconds, BrokerKind.CONFIGURED, broker, topic=topic, settings=settings)


def refusal(seconds: float, minimum: int) -> BrokerLine:
    return broker_line(seconds, BrokerKind.WRITES_REFUSED, topic="t", partition=0, minimum=minimum)


def story_of(observed: Observed, partition: int = 0) -> History:
    return [each for each in histories(observed) if each.life[1] == partition][-1]


def values(
    *lines: BrokerLine, leaders: tuple[State, ...] = (state(0, 1, 0, (1, 2)),),
    until: float | None = None, given: int | None = None, settings: tuple[Setting, ...] = (),
) -> list[tuple[float, int | None]]:  # fmt: skip
    """The values of t-0 from second 10 on, with the second at which each begins to hold."""
    observed = Observed(brokers=lines, states=leaders, min_insync=given, settings=settings)
    end = None if until is None else at(until)
    held = minimums_of(observed).held(story_of(observed), at(10), end)
    return [((each.since - at(0)).total_seconds(), each.value) for each in held]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((configured(5, 2), configured(6, 3, "t"), configured(7, 4, "other")), [(10, 3)]),
        ((configured(5, 2), configured(7, 4, "other")), [(10, 2)]),
        ((configured(15, 3, "t"),), [(10, None), (15, 3)]),
        ((configured(5, 2, "t"), configured(15, 3, "t")), [(10, 2), (15, 3)]),
        ((configured(5, 2, "t"), configured(15, 2, "t")), [(10, 2), (15, 2)]),
        ((configured(4, 2), configured(5, 3, "t"), configured(15, "", "t")), [(10, 3), (15, 2)]),
        ((configured(5, 2), configured(15, 1)), [(10, 2), (15, 1)]),
        # What other brokers had helps only where the leader's own setting is in no line.
        ((configured(5, 2, broker=2), configured(15, 1)), [(10, None), (15, 1)]),
        ((configured(5, 2, broker=2),), [(10, 2)]),
        ((configured(5, 2, broker=2), configured(6, 3, broker=3)), [(10, None)]),
        # A refused write proves the value of its time, for as long as the leader's setting may be the same.
        ((configured(5, 2), refusal(12, 3)), [(10, 2), (12, 3)]),
        ((refusal(12, 3), configured(15, 2)), [(10, None), (12, 3), (15, 2)]),
    ],
)
def test_a_value_holds_from_its_line_to_the_next(
    lines: tuple[BrokerLine, ...], expected: list[tuple[float, int | None]]
) -> None:
    assert values(*lines) == expected


def test_each_leader_has_its_own_setting() -> None:
    leaders = (state(0, 1, 0, (1, 2)), state(20, 2, 1, (1, 2)))
    lines = (configured(5, 2, broker=1), configured(5, 3, broker=2))
    assert values(*lines, leaders=leaders) == [(10, 2), (20, 3)]
    assert values(*lines, leaders=leaders, until=20) == [(10, 2)]


def test_the_operator_gives_the_brokers_setting_where_no_line_does() -> None:
    assert values(given=2) == [(10, 2)]
    assert values(configured(5, 3), given=2) == [(10, 3)]
    assert values(configured(15, 3, broker=2), given=2) == [(10, 2)]
    assert values(configured(5, 3, "t"), given=2) == [(10, 3)]


def test_what_a_tool_prints_holds_unless_a_line_shows_another_value() -> None:
    printed = (Setting("t", NAME, "2", line("printed")),)
    assert values(configured(5, 1), settings=printed) == [(10, 2)]
    assert values(configured(15, 2, "t"), settings=printed) == [(10, 2), (15, 2)]
    assert values(configured(15, 3, "t"), settings=printed) == [(10, None), (15, 3)]
    assert values(configured(5, 3, "t"), settings=printed) == [(10, 3)]


def created(seconds: float, partition: int, life: int) -> State:
    return state(seconds, 1, 0, (1, 2), was="NewPartition")._replace(partition=partition, life=life)


@pytest.mark.parametrize(
    ("states", "deleted", "expected"),
    [
        # The topic was created after its setting was logged: the setting is of a topic before.
        ((created(100, 1, 1),), {}, [None]),
        # A partition was added to a topic that exists.
        ((created(100, 1, 1), created(0, 0, 0)), {}, [2]),
        ((created(100, 1, 1), created(1, 0, 1)), {}, [2]),
        # All partitions of the topic were created then.
        ((created(100, 1, 2), created(0, 0, 0), created(100, 0, 1)), {}, [None]),
        ((created(100, 1, 1), created(0, 0, 0)), {("t", 0, 0): at(50)}, [None]),
        ((created(7, 1, 1),), {}, [2]),
    ],
)
def test_a_setting_is_of_one_life_of_the_topic(
    states: tuple[State, ...], deleted: dict[tuple[str, int, int], object], expected: list[int | None]
) -> None:
    observed = Observed(brokers=(configured(5.5, 2, "t"),), states=states, deleted=deleted)  # type: ignore[arg-type]
    held = minimums_of(observed).held(story_of(observed, 1), at(110), None)
    assert [each.value for each in held] == expected


def test_what_a_tool_prints_is_of_the_latest_life() -> None:
    printed = (Setting("t", NAME, "2", line("printed")),)
    states = (state(0, 1, 0, (1, 2)), created(100, 0, 1))
    observed = Observed(states=states, settings=printed, deleted={("t", 0, 0): at(50)})
    minimums = minimums_of(observed)
    first, second = histories(observed)
    assert [each.value for each in minimums.held(first, at(10), at(50))] == [None]
    assert [each.value for each in minimums.held(second, at(110), None)] == [2]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((), Lack.SILENT),
        ((configured(5, 2, "other"),), Lack.SILENT),
        ((configured(30, 2),), Lack.OTHER_TIME),
        ((configured(30, 2, "t"),), Lack.OTHER_TIME),
        ((configured(5, 2, broker=2), configured(5, 3, broker=3)), Lack.DIFFERENT),
        ((configured(5, 2), configured(15, 3)), Lack.DIFFERENT),
        ((configured(5, 2, "t"), configured(15, "", "t")), Lack.DIFFERENT),
        ((configured(15, 2, "t"),), None),
        ((configured(5, 2),), None),
    ],
)
def test_why_no_value_is_known(lines: tuple[BrokerLine, ...], expected: Lack | None) -> None:
    observed = Observed(brokers=lines, states=(state(0, 1, 0, (1, 2)),))
    minimums: Minimums = minimums_of(observed)
    assert minimums.lack("t", minimums.held(story_of(observed), at(10), at(20))) == expected
