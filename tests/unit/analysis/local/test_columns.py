"""Expressions with nulls, and their evaluation for a row."""

from __future__ import annotations

import pytest

from barnabas.analysis.local.columns import Column, Order, literal, named, ordered, sort

NULL = literal(None)
YES, NO = literal(True), literal(False)  # noqa: FBT003


def value(column: Column) -> object:
    return column.at({"a": 7, "s": {"x": {"y": 1}}, "n": None})


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (YES & NULL, None),
        (NO & NULL, False),
        (NULL & NO, False),
        (YES | NULL, True),
        (NULL | YES, True),
        (NO | NULL, None),
        (~NULL, None),
        (~NO, True),
        (-named("a"), -7),
        (-named("n"), None),
        (named("a") == 7, True),
        (named("a") != 7, False),
        (named("a") == NULL, None),
        (named("a") < 7, False),
        (named("a") <= 7, True),
        (named("a") > 6, True),
        (named("a") >= 8, False),
        (named("n") < 1, None),
        (named("a") + 1, 8),
        (named("a") - 1, 6),
        (10 - named("a"), 3),
        (named("a") * 2 / 4, 3.5),
        (named("a").isin(1, 7), True),
        (named("n").isin(1, 7), None),
        (named("a").between(7, 8), True),
        (named("n").isNull(), True),
        (named("n").isNotNull(), False),
        (named("s.x.y"), 1),
        (named("s")["x"]["y"], 1),
        (named("n.x"), None),
        (named("n")["x"], None),
        (YES.cast("int"), 1),
        (literal(2.9).cast("bigint"), 2),
        (literal([1, None]).cast("array<string>"), ["1", None]),
        (NULL.cast("string"), None),
    ],
)
def test_values_follow_the_rules_of_sql(column: Column, expected: object) -> None:
    assert value(column) == expected
    assert isinstance(value(column), bool) == isinstance(expected, bool)


def test_a_column_has_the_name_of_its_last_part_or_its_alias() -> None:
    assert named("s.x").name == "x"
    assert named("s.x").alias("z").name == "z"
    assert value(named("s.x.y").alias("z")) == 1


def test_rows_are_sorted_with_nulls_as_the_least() -> None:
    rows = [{"a": 1, "b": 1}, {"a": None, "b": 2}, {"a": 2, "b": 3}, {"a": 1, "b": 4}]
    assert [row["b"] for row in sort(rows, ordered(["a", named("b").desc()]))] == [2, 4, 1, 3]
    assert [row["b"] for row in sort(rows, [Order(named("a"), is_descending=True)])] == [3, 1, 4, 2]
    assert [row["b"] for row in sort(rows, [named("a").asc_nulls_first()])] == [2, 1, 4, 3]


def test_what_needs_another_column_says_so() -> None:
    with pytest.raises(TypeError, match="expected an aggregate"):
        named("a").over(None)
    with pytest.raises(TypeError, match="must follow"):
        named("a").when(YES, 1)
