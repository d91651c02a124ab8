"""Stencils say of a line what the grammar says, whatever its digits are; what they cannot say they leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC

import numpy as np
import pytest

from analysis import lessons
from analysis import stencils as under_test
from analysis.bytewise import Text
from analysis.columns import Columns
from analysis.entries import NO_TIME, Heads, find_lines, no_heads
from analysis.grammar import Row, message_columns
from analysis.shapes import Value, find_values
from analysis.stencils import Stencils
from analysis.times import Clock

AT = "[2026-11-21 03:12:45,{:03}] INFO "
END = " (state.change.logger)"
LED = (
    "[Broker id={0}] Leader t.{1}-x-{2} starts at leader epoch {2} from offset {3} with high watermark {3} "
    "ISR [{0},{1}] addingReplicas [] removingReplicas []. Previous leader epoch was -{0}."
)
MARKED = "[Controller id={0} epoch={2}] Mark replicas a-{1},b-{0} on broker {1} as offline"


def read(stencils: Stencils, *lines: str) -> tuple[list[int], list[Row], Heads]:
    """The lines that have a stencil, and what columns these get; all others get an empty row."""
    data = "".join(f"{line}\n" for line in lines).encode()
    text = Text(data)
    where = find_lines(text, len(data))
    heads, columns = no_heads(where), Columns(len(lines))
    found = stencils.find(text, where)
    stencils.read(text, where, Clock(UTC), found, heads)
    stencils.fill(text, where, found, np.arange(len(lines)), columns)
    names = {name for line in (LED, MARKED) for name in message_columns(line.format(1, 2, 3, 4))}
    told = {name: columns.finish(name).to_pylist() for name in names}
    rows = [
        {name: told[name][row] for name in names if told[name][row] is not None} for row in range(len(lines))
    ]
    return found.chosen.tolist(), rows, heads


def entry(message: str, number: int = 0) -> str:
    return f"{AT.format(number)}{message}{END}"


def meant(message: str) -> Row:
    row = message_columns(message)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in row.items()}


@pytest.mark.parametrize("form", [LED, MARKED])
def test_a_stencil_reads_every_number(form: str) -> None:
    values = [(1, 2, 3, 4), (3, 1, 7, 0), (2, 2, 9, 9), (9, 8, 7, 6)]
    messages = [form.format(*each) for each in values]
    chosen, rows, heads = read(Stencils(), *(entry(each, number) for number, each in enumerate(messages)))
    assert chosen == [0, 1, 2, 3]
    assert rows == [meant(each) for each in messages]
    assert (np.diff(heads.time) == 1000).all()


def test_numbers_of_another_length_are_another_stencil() -> None:
    stencils = Stencils()
    small, large = (LED.format(1, 2, 3, offset) for offset in (4, 1234567890123456))
    assert read(stencils, *[entry(small)] * 3, entry(large))[0] == [0, 1, 2]
    chosen, rows, _ = read(stencils, *[entry(large)] * 2, entry(small))
    assert chosen == [0, 1, 2]
    assert rows == [meant(large), meant(large), meant(small)]


@pytest.mark.parametrize(
    "line",
    [
        entry(LED.format(1, 2, 3, 12345678901234567)),  # no number of ours
        entry(LED.format(1234567890, 2, 3, 4)),  # may be none of 32 bits
        entry(LED.format(10001, 20002, 3, 4)),  # the digits of the ISR are too far apart
        entry("[Broker id=1] Danced around t-0"),
        entry(LED.format(1, 2, 3, 4)).replace(END, " (kafka.server.ReplicaManager)"),
        f"broker-1 | {entry(LED.format(1, 2, 3, 4))}",
        entry(LED.format(1, 2, 3, 4)).replace("t.", "t\u00e4"),
    ],
)
def test_what_a_stencil_cannot_say_is_left_to_others(line: str) -> None:
    stencils = Stencils()
    for _ in range(2):
        assert read(stencils, *[line] * 4)[0] == []


def test_a_digit_between_the_values_belongs_to_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    def values(message: str) -> tuple[Row, list[Value]] | None:
        told = find_values(message)
        return told and (told[0], told[1][:-1])

    monkeypatch.setattr(lessons, "find_values", values)
    assert read(Stencils(), *[entry(LED.format(1, 2, 3, 4))] * 4)[0] == []


def test_lines_below_an_entry_are_known_to_have_no_header() -> None:
    stencils = Stencils()
    data = b"\tat kafka.X.main(X.scala:1)\n" * 3
    text = Text(data)
    found = stencils.find(text, find_lines(text, len(data)))
    assert (found.others().tolist(), found.chosen.tolist()) == ([], [])


def test_a_day_that_does_not_exist_has_no_time() -> None:
    good, bad = entry(LED.format(1, 2, 3, 4)), entry(LED.format(1, 2, 3, 4)).replace("11-21", "11-31")
    _, _, heads = read(Stencils(), good, good, good, bad)
    assert heads.found.tolist() == [True] * 4
    assert (heads.time == NO_TIME).tolist() == [False, False, False, True]


def test_a_text_that_is_no_such_value_loses_its_stencil(monkeypatch: pytest.MonkeyPatch) -> None:
    def values(message: str) -> tuple[Row, list[Value]] | None:
        told = find_values(message)
        return told and (told[0], [replace(value, read=picky(value)) for value in told[1]])

    monkeypatch.setattr(lessons, "find_values", values)
    lines = [entry(LED.format(1, broker, 3, 4)) for broker in (2, 3, 7, 4)]
    chosen, rows, _ = read(Stencils(), *lines)
    assert chosen == [0, 1, 3]
    assert rows[2] == {}


def picky(value: Value) -> Callable[[str], Row | None]:
    return lambda text: None if "7" in text else value.read(text)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "_STENCILS_MAX", 1)
    stencils = Stencils()
    assert read(stencils, *[entry(LED.format(1, 2, 3, 4))] * 3)[0] == [0, 1, 2]
    assert read(stencils, *[entry(MARKED.format(1, 2, 3))] * 3)[0] == []
