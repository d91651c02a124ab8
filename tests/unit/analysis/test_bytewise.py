"""Many places at once say what each says alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.bytewise import MARGIN, Text, chosen_digits, digit_mask

ALPHABET = "0123456789-+ a:/\0"
texts = st.text(ALPHABET, min_size=1, max_size=80)


@st.composite
def spans(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    text = draw(texts)
    ends = st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).map(sorted).map(tuple)
    return text, draw(st.lists(ends, min_size=1, max_size=20))


def places(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2) + MARGIN
    return both[:, 0], both[:, 1]


@given(spans())
def test_numbers_are_read_as_python_reads_them(case: tuple[str, list[tuple[int, int]]]) -> None:
    text, pairs = case
    values, good = Text(text.encode()).integers(*places(pairs))
    for (start, end), value, is_good in zip(pairs, values, good, strict=True):
        spelled = text[start:end]
        digits = spelled.removeprefix("-")
        assert is_good == (digits.isdigit() and len(digits) <= 16)
        if is_good:
            assert value == int(spelled)


@pytest.mark.parametrize("number", [0, 7, -2, 10**7, 99_999_999, 10**8, -(10**9), 10**16 - 1])
def test_numbers_of_every_length(number: int) -> None:
    spelled = str(number)
    values, good = Text(spelled.encode()).integers(*places([(0, len(spelled))]))
    assert (values.tolist(), good.tolist()) == ([number], [True])


@given(spans())
def test_strings_are_slices(case: tuple[str, list[tuple[int, int]]]) -> None:
    text, pairs = case
    assert Text(text.encode()).strings(*places(pairs)).to_pylist() == [text[a:b] for a, b in pairs]


@given(texts, texts)
def test_a_literal_is_found_where_it_stands(text: str, literal: str) -> None:
    everywhere = np.arange(len(text)) + MARGIN
    found = Text((text + "\x01" * len(literal)).encode()).equals(everywhere, literal.encode())
    assert found.tolist() == [text.startswith(literal, at) for at in range(len(text))]


def test_words_are_eight_bytes_from_anywhere() -> None:
    data = bytes(range(1, 60))
    text = Text(data)
    for at in range(40):
        (word,) = text.words(np.array([at + MARGIN], dtype=np.int64))
        assert int(word).to_bytes(8, "little") == data[at : at + 8]
    assert text.slice(MARGIN, MARGIN + 3) == data[:3]


@given(texts)
def test_digits_among_others_make_one_number(text: str) -> None:
    data = text.encode()
    word = np.array([int.from_bytes(data[-8:].rjust(8, b" "), "little")], dtype=np.uint64)
    spelled = "".join(letter if letter.isdigit() else "0" for letter in text[-8:])
    assert chosen_digits(word, np.array([digit_mask(text)], dtype=np.uint64)).tolist() == [int(spelled)]


@given(spans())
def test_a_stencil_is_the_text_with_every_digit_as_0(case: tuple[str, list[tuple[int, int]]]) -> None:
    text, pairs = case
    masked = "".join("0" if letter.isdigit() else letter for letter in text)
    assert Text(text.encode()).stencils(*places(pairs)).to_pylist() == [masked[a:b] for a, b in pairs]
