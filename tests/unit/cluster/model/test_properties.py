import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.properties import parse_properties, render_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", {"a": "1"}),
        ("a = 1 ", {"a": "1 "}),
        ("a: 1", {"a": "1"}),
        ("a 1", {"a": "1"}),
        ("a", {"a": ""}),
        ("  # no\n! no\n\na=1", {"a": "1"}),
        ("a=1,\\\n   2", {"a": "1,2"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\r\nb=2\r\n", {"a": "1", "b": "2"}),
        ("a\\=b=c=d", {"a=b": "c=d"}),
        ("a=\\u00e9\\t\\q", {"a": "é\tq"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=1\\", {"a": "1"}),
        ("a=#1", {"a": "#1"}),
        ("listeners=PLAINTEXT://:9092", {"listeners": "PLAINTEXT://:9092"}),
    ],
)
def test_what_java_reads(text, expected):
    assert parse_properties(text) == expected


_TEXT = st.text(st.characters(max_codepoint=0x2FFF), max_size=12)


@given(st.dictionaries(_TEXT.filter(bool), _TEXT, max_size=4))
def test_what_is_written_is_read_back(values):
    assert parse_properties(render_properties(values, "two\nlines")) == values


def test_a_leading_space_of_a_value_is_escaped_as_java_does():
    assert render_properties({"a": "  b c"}) == "a=\\  b c\n"


def test_a_value_outside_the_basic_plane_is_written_as_java_would():
    assert render_properties({"a": "😀"}) == "a=\\uD83D\\uDE00\n"
