"""Partitions, times and offsets of --reset-offsets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.command_line.parser import ToolError, UsageError
from barnabas.tools.consumer_groups.offset_resets import (
    cut_to_range,
    format_plan,
    parse_date_time,
    parse_duration,
    parse_plan,
    parse_topic,
    shifted,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
S = 1_000_000_000


def test_topics_and_their_partitions() -> None:
    assert parse_topic("t") == ("t", None)
    assert parse_topic("t:0,12") == ("t", [0, 12])
    with pytest.raises(UsageError, match='For input string: "a"'):
        parse_topic("t:0,a")


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1970-01-01T00:00:00.000", 0),
        ("1970-01-01T00:00:00.005", 5),
        ("1970-01-01T00:00:00.000Z", 0),
        ("1970-01-01T02:00:00.000+02", 0),
        ("1970-01-01T02:30:00.007+02:30", 7),
        ("1969-12-31T23:00:00.000-01:00", 0),
        ("2026-11-22T22:08:48.984", 1795385328984),
    ],
)
def test_times(text: str, milliseconds: int) -> None:
    assert parse_date_time(text) == milliseconds


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("2020", "Error parsing timestamp. It does not contain a 'T' according to ISO8601 format"),
        ("2020-01-01T", "Error parsing timestamp. It does not contain a 'T' according to ISO8601 format"),
        ("2020-01-01T10:00", 'Unparseable date: "2020-01-01T10:00Z"'),
        ("2020-02-30T10:00:00.000", 'Unparseable date: "2020-02-30T10:00:00.000Z"'),
        ("2020-02-03T10:00:00.000+99", 'Unparseable date: "2020-02-03T10:00:00.000+99"'),
    ],
)
def test_what_is_no_time(text: str, complaint: str) -> None:
    with pytest.raises(ToolError) as refused:
        parse_date_time(text)
    assert str(refused.value) == complaint


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("PT20.345S", 20 * S + 345_000_000),
        ("PT15M", 900 * S),
        ("p2dT3h4m", ((2 * 24 + 3) * 60 + 4) * 60 * S),
        ("P-6H".replace("P", "PT"), -6 * 3600 * S),
        ("-PT-6H+3M", (6 * 60 - 3) * 60 * S),
        ("PT-0.5S", -S // 2),
        ("PT1,000000001S", S + 1),
    ],
)
def test_durations(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize("text", ["", "P", "PT", "2020", "P1DT", "P1Y", "PT1D", "PT.5S", "P1D "])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ToolError, match="Text cannot be parsed to a Duration"):
        parse_duration(text)


def test_a_plan_is_written_as_jackson_does() -> None:
    assert format_plan({"g": {T0: 1, T1: 22}}, with_group=False) == "t,0,1\nt,1,22\n"
    long = TopicPartition("a" * 25, 0)
    assert format_plan({"a b": {T0: 1}, 'q"': {long: 2}}, with_group=True) == (
        f'"a b",t,0,1\n"q""",{long.topic!s},0,2\n'.replace(long.topic, f'"{long.topic}"')
    )
    assert format_plan({"a" * 24: {T0: 1}}, with_group=True) == f"{'a' * 24},t,0,1\n"


@given(
    st.dictionaries(
        st.text("aé -,\"'", min_size=1),
        st.dictionaries(
            st.builds(TopicPartition, st.text("aZ9._-", min_size=1, max_size=30), st.integers(0, 99)),
            st.integers(0, 2**63 - 1),
            min_size=1,
        ),
        max_size=3,
    )
)
def test_a_plan_comes_back_as_it_was_written(plan: dict[str, dict[TopicPartition, int]]) -> None:
    assert parse_plan(format_plan(plan, with_group=True), None) == plan


def test_a_plan_of_one_group_needs_no_name() -> None:
    assert parse_plan("t,0,1\nt,1,2\n", "g") == {"g": {T0: 1, T1: 2}}
    assert parse_plan("h,t,0,1\n", "g") == {"h": {T0: 1}}
    assert parse_plan("", "g") == {}


@pytest.mark.parametrize(
    ("text", "group"),
    [("t,a,b", "g"), ("x", "g"), ("t,0,1", None), ("t,0,1\ng,t,0,1", "g"), ("a,b,c,d,e", None)],
)
def test_what_is_no_plan(text: str, group: str | None) -> None:
    with pytest.raises(ToolError, match="in the reset plan; expected "):
        parse_plan(text, group)


def test_offsets_are_cut_to_what_the_log_has() -> None:
    starts, ends = {T0: 3, T1: 3}, {T0: 9, T1: 9}
    assert cut_to_range({T0: 3, T1: 9}, starts, ends) == ({T0: 3, T1: 9}, [])
    assert cut_to_range({T0: 2, T1: 10}, starts, ends) == (
        {T0: 3, T1: 9},
        [
            "New offset (2) is lower than earliest offset for topic partition t-0. Value will be set to 3",
            "New offset (10) is higher than latest offset for topic partition t-1. Value will be set to 9",
        ],
    )


def test_offsets_are_shifted_from_what_is_committed() -> None:
    assert shifted([T0, T1], {T0: 5, T1: 6}, -2) == {T0: 3, T1: 4}
    complaint = "^Cannot shift offset for partition t-1 since there is no current committed offset$"
    with pytest.raises(UsageError, match=complaint):
        shifted([T0, T1], {T0: 5}, 1)
