"""What is said of a line by its form is what the grammar says of the line itself."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from analysis import lessons as under_test
from analysis.lessons import Lesson, Lessons, Told, find_lesson

SAMPLES = sorted((Path(__file__).parents[2] / "data" / "state-change").glob("*per-kind.log"))
LED = (
    "[2026-11-21 03:12:45,001] INFO [Broker id=1] Leader t-{} starts at leader epoch {} from offset {} with "
    "high watermark 9 ISR [{}] addingReplicas [] removingReplicas []. Previous leader epoch was -1. "
    "(state.change.logger)"
)
FIRST = LED.format(3, 7, 12, "1,2")


def comparable(lesson: Lesson | None) -> object:
    """All but the functions, of which each lesson has its own; None too where a number is too long."""
    if lesson is None or not all(told.is_short for told in lesson.told):
        return None
    told = [(each.span, each.digits, each.digits_max, each.columns, each.meaning) for each in lesson.told]
    return lesson.level, lesson.constants, told


def read(told: Told, line: str) -> object:
    return None if told.read is None else told.read(line[slice(*told.span)])


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_lines_of_one_form_say_the_same(sample: Path) -> None:
    dice = random.Random(sample.name)

    def another(found: re.Match[str]) -> str:
        return str(dice.randrange(10 ** dice.randint(1, 11)))

    lessons, learned = Lessons(), 0
    for line in sample.read_text().splitlines():
        lessons.of(line)
        for _ in range(8):
            other = line[:26] + re.sub(r"\d+", another, line[26:])
            said, meant = lessons.of(other), find_lesson(other)
            assert comparable(said) == comparable(meant), other
            if said is not None and meant is not None:
                learned += 1
                for one, same in zip(said.told, meant.told, strict=True):
                    assert read(one, other) == read(same, other)
    assert learned > len(sample.read_text().splitlines())


def test_the_grammar_is_asked_once_for_each_form(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def asking(line: str) -> Lesson | None:
        asked.append(line)
        return find_lesson(line)

    monkeypatch.setattr(under_test, "find_lesson", asking)
    lessons = Lessons()
    lines = [FIRST, LED.format(10, 123, 4, "1,20"), LED.format(0, 0, 0, "9")]
    told = [lessons.of(line) for line in lines]
    assert asked == [lines[0], lines[2]]
    assert told[1] is not None
    assert [lines[1][slice(*each.span)] for each in told[1].told] == [
        "1", "10", "123", "4", "9", "[1,20]", "-1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        LED.format(3, 7, 12345678901234567, "1,2"),  # no number of ours
        LED.format(3, 1234567890, 4, "1,2"),  # may be none of 32 bits
        LED.format(3, 7, 4, "10001,20002"),  # the digits are too far apart
        FIRST.replace("2026", "12026"),  # another layout of the same form
        FIRST.replace("Leader", "Dancer"),
        FIRST.replace("state.change.logger", "kafka.server.ReplicaManager"),
    ],
)
def test_what_its_numbers_cannot_tell_is_left_to_others(line: str) -> None:
    lessons = Lessons()
    for _ in range(2):
        assert lessons.of(FIRST) is not None
        assert lessons.of(line) is None


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "_FORMS_MAX", 1)
    lessons = Lessons()
    for line in (FIRST, LED.format(0, 0, 0, "9"), FIRST):
        assert comparable(lessons.of(line)) == comparable(find_lesson(line)) is not None
