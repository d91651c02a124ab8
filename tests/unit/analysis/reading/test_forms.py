"""Forms give the grammar's columns for any numbers, and leave other lines to the grammar."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC

import numpy as np
import pytest

from barnabas.analysis.reading import forms as under_test
from barnabas.analysis.reading.columns import Columns
from barnabas.analysis.reading.events.entries import Row
from barnabas.analysis.reading.fields import Field, find_fields
from barnabas.analysis.reading.forms import Form, Forms, learn, read_heads
from barnabas.analysis.reading.grammar import message_columns
from barnabas.analysis.reading.heads import NO_TIME, Heads, no_heads
from barnabas.analysis.reading.text import Text
from barnabas.analysis.reading.times import Clock

AT = "[2026-11-21 03:12:45,{:03}] INFO "
END = " (state.change.logger)"
LED = (
    "[Broker id={0}] Leader t.{1}-x-{2} starts at leader epoch {2} from offset {3} with high watermark {3} "
    "ISR [{0},{1}] addingReplicas [] removingReplicas []. Previous leader epoch was -{0}."
)
MARKED = "[Controller id={0} epoch={2}] Mark replicas a-{1},b-{0} on broker {1} as offline"


def read(forms: Forms, *lines: str) -> tuple[list[int], list[Row], Heads]:
    """The lines that are read by their forms, and what columns these get; all others get an empty row."""
    text = Text("".join(f"{line}\n" for line in lines).encode())
    heads, columns = no_heads(text), Columns(len(lines))
    found = forms.find(text)
    read_heads(text, found, Clock(UTC), heads)
    forms.fill(text, found, np.arange(len(lines)), columns)
    names = {name for line in (LED, MARKED) for name in message_columns(line.format(1, 2, 3, 4))}
    told = {name: columns.finish(name).to_pylist() for name in names}
    rows = [
        {name: told[name][row] for name in names if told[name][row] is not None} for row in range(len(lines))
    ]
    return found.lines.tolist(), rows, heads


def entry(message: str, number: int = 0) -> str:
    return f"{AT.format(number)}{message}{END}"


def meant(message: str) -> Row:
    row = message_columns(message)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in row.items()}


@pytest.mark.parametrize("form", [LED, MARKED])
def test_a_form_reads_numbers_of_any_length(form: str) -> None:
    values = [(1, 2, 3, 4), (3, 1, 7, 0), (20, 2, 900, 9), (9, 812345678, 7, 60_000_000_000)]
    messages = [form.format(*each) for each in values]
    lines, rows, heads = read(Forms(), *(entry(each, number) for number, each in enumerate(messages)))
    assert lines == [0, 1, 2, 3]
    assert rows == [meant(each) for each in messages]
    assert (np.diff(heads.time) == 1000).all()


def test_the_grammar_reads_one_line_of_each_form(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def asking(line: str) -> Form | None:
        asked.append(line)
        return learn(line)

    monkeypatch.setattr(under_test, "learn", asking)
    forms = Forms()
    for _ in range(2):
        read(forms, *(entry(LED.format(1, 2, 3, offset)) for offset in range(5)))
    assert len(asked) == 1


def test_a_form_is_learned_when_it_comes_again() -> None:
    forms = Forms()
    assert read(forms, entry(LED.format(1, 2, 3, 4)))[0] == []
    assert read(forms, entry(LED.format(1, 2, 3, 5)))[0] == [0]


@pytest.mark.parametrize(
    "line",
    [
        entry("[Broker id=1] Danced around t-0"),
        entry(LED.format(1, 2, 3, 4)).replace(END, " (kafka.server.ReplicaManager)"),
        f"broker-1 | {entry(LED.format(1, 2, 3, 4))}",
        entry(LED.format(1, 2, 3, 4)).replace("t.", "t\u00e4"),
        entry(LED.format(1, 2, 3, 4)).replace("2026", "12026"),
        entry(LED.format(1, 2, 3, "9" * 300)),
    ],
)
def test_a_line_without_a_usable_form_is_left_to_the_grammar(line: str) -> None:
    forms = Forms()
    for _ in range(2):
        assert read(forms, *[line] * 4)[0] == []
    # Nor where a line of the same form was learned before.
    forms, good = Forms(), entry(LED.format(1, 2, 3, 4))
    for lines in ([good, good], [good, line, good]):
        chosen, rows, _ = read(forms, *lines)
        assert [rows[index] for index in chosen] == [meant(LED.format(1, 2, 3, 4))] * 2


@pytest.mark.parametrize("taken", ["last", "widened"])
def test_a_number_outside_the_fields_belongs_to_the_rule(monkeypatch: pytest.MonkeyPatch, taken: str) -> None:
    def fields(message: str) -> tuple[Row, list[Field]]:
        row, (*others, last) = find_fields(message)
        inside = replace(last, span=(last.span[0], last.span[1] - 1), read=lambda _: {})
        return row, others if taken == "last" else [*others, inside]

    monkeypatch.setattr(under_test, "find_fields", fields)
    assert learn(entry(LED.format(1, 2, 3, 4)).replace("-1.", "-10.")) is None


def test_lines_below_an_entry_are_known_to_have_no_header() -> None:
    found = Forms().find(Text(b"\tat kafka.X.main(X.scala:1)\n" * 3))
    assert (found.alone.tolist(), found.lines.tolist()) == ([], [])


def test_a_day_that_does_not_exist_has_no_time() -> None:
    good, bad = entry(LED.format(1, 2, 3, 4)), entry(LED.format(1, 2, 3, 4)).replace("11-21", "11-31")
    _, _, heads = read(Forms(), good, good, good, bad)
    assert heads.found.tolist() == [True] * 4
    assert (heads.time == NO_TIME).tolist() == [False, False, False, True]


def test_the_caches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "_FORMS_MAX", 1)
    monkeypatch.setattr(under_test, "_TEXTS_MAX", 1)
    forms = Forms()
    for message in (LED, MARKED, LED, MARKED):
        for number in range(3):
            lines, rows, _ = read(forms, *[entry(message.format(1, number, 3, 4))] * 3)
            assert (lines, rows) == ([0, 1, 2], [meant(message.format(1, number, 3, 4))] * 3)
