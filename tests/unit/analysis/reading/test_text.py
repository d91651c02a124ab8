"""A text as an array says what its bytes say one by one."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from barnabas.analysis.reading.text import Text

texts = st.text("0123456789-a :é\r\n", max_size=80).map(lambda text: f"{text}\n")


@given(texts)
def test_lines_end_before_their_ends_of_line(text: str) -> None:
    found = Text(text.encode())
    lines = text.split("\n")[:-1]
    assert [found.line(line) for line in range(len(found))] == [line.removesuffix("\r") for line in lines]


@given(texts)
def test_a_form_is_the_line_with_each_number_as_one_0(text: str) -> None:
    forms = Text(text.encode()).forms().to_pylist()
    assert forms == [re.sub(r"\d+", "0", line) + "\n" for line in text.split("\n")[:-1]]


@given(texts)
def test_numbers_are_the_runs_of_digits_of_each_line(text: str) -> None:
    data = text.encode()
    numbers = Text(data).numbers()
    found = [number.span() for number in re.finditer(rb"\d+", data)]
    assert list(zip(numbers.start.tolist(), numbers.end.tolist(), strict=True)) == found
    starts = np.cumsum([0, *(len(line) + 1 for line in data.split(b"\n")[:-2])])
    assert numbers.first.tolist() == [sum(begin < start for begin, _ in found) for start in starts]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20))
def test_strings_are_the_pieces_between_places(gaps: list[tuple[int, int]]) -> None:
    text = "abcdefghij" * 21 + "\n"
    borders = np.cumsum(np.array(gaps).ravel())
    start, end = borders[::2], borders[1::2]
    found = Text(text.encode()).strings(start, end).to_pylist()
    assert found == [text[a:b] for a, b in zip(start.tolist(), end.tolist(), strict=True)]


def test_of_no_places_there_are_no_strings() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert Text(b"a\n").strings(none, none).to_pylist() == []
