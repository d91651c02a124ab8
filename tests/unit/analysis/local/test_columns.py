"""Expressions with nulls."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from barnabas.analysis.local.columns import Column, Order, literal, named, ordered, quoted, text
from barnabas.analysis.local.frames import Frame

NULL = literal(None)
YES, NO = literal(value=True), literal(value=False)
AT = datetime(1969, 12, 31, 23, 59, 59, 999_500)  # noqa: DTZ001  (times of the tables have no zone)

ROW = Frame.of(
    pa.Table.from_pylist(
        [{"a": 7, "s": {"x": {"y": 1}}, "n": None, "f": 2.9, "minus": -2.9, "l": [1, None]}],
        pa.schema([
            ("a", pa.int32()), ("s", pa.struct([("x", pa.struct([("y", pa.int32())]))])),
            ("n", pa.struct([("x", pa.int32())])), ("f", pa.float64()), ("minus", pa.float64()),
            ("l", pa.list_(pa.int32())),
        ]),
    )
)  # fmt: skip
NONE = NULL.cast("int")


def value(column: Column) -> Any:
    (row,) = ROW.select(column.alias("value")).rows()
    return row["value"]


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
        (-NONE, None),
        (named("a") == 7, True),
        (named("a") != 7, False),
        (named("a") == NULL, None),
        (named("a") < 7, False),
        (named("a") <= 7, True),
        (named("a") > 6, True),
        (named("a") >= 8, False),
        (NONE < 1, None),
        (named("a") + 1, 8),
        (named("a") - 1, 6),
        (10 - named("a"), 3),
        (named("a") - -1, 8),
        (named("a") * 2 / 4, 3.5),
        (named("a") / NONE, None),
        (NONE / 0, None),
        (named("a").isin(1, 7), True),
        (NONE.isin(1, 7), None),
        (named("a").between(7, 8), True),
        (named("a").between(8, 9), False),
        (NONE.isNull(), True),
        (NONE.isNotNull(), False),
        (named("s.x.y"), 1),
        (named("s")["x"]["y"], 1),
        (named("n.x"), None),
        (named("n")["x"], None),
        (YES.cast("int"), 1),
        ((named("f") / 1).cast("bigint"), 2),
        ((named("minus") / 1).cast("int"), -2),
        (literal("-12").cast("bigint"), -12),
        ((named("a") / 2).cast("bigint"), 3),
        ((-named("a") / 2).cast("bigint"), -3),
        (named("l").cast("array<string>"), ["1", None]),
        (NULL.cast("string"), None),
    ],
)
def test_values_follow_the_rules_of_sql(column: Column, expected: object) -> None:
    assert value(column) == expected
    assert isinstance(value(column), bool) == isinstance(expected, bool)


@pytest.mark.parametrize(
    "each",
    [
        None,
        True,
        0,
        -1,
        2**31,
        -(2**63),
        "",
        "it's",
        'a "b" \\n\n\t$1 {} %s ü😀',
        AT,
        datetime(2026, 11, 21),  # noqa: DTZ001
    ],
)
def test_a_literal_has_its_value(each: object) -> None:
    assert value(literal(each)) == each
    assert value(literal(each).isNull()) == (each is None)


def test_a_time_is_moved_by_a_literal() -> None:
    assert value(literal(AT) + timedelta(microseconds=500)) == datetime(1970, 1, 1)  # noqa: DTZ001
    assert value(literal(AT) - timedelta(days=1)) == AT - timedelta(days=1)


def test_a_literal_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="no literal"):
        literal([1])


def test_a_column_is_a_literal_already() -> None:
    column = named("a")
    assert literal(column) is column
    assert named(column) is column


def test_a_column_has_the_name_of_its_last_part_or_its_alias() -> None:
    assert named("s.x").name == "x"
    assert named("s.x").alias("z").name == "z"
    assert named("s")["x"].name == "x"
    assert named("s.x").cast("string").name == "x"
    assert value(named("s.x.y").alias("z")) == 1


def test_an_alias_is_another_column() -> None:
    column = named("a")
    column.alias("b")
    assert column.name == "a"


@pytest.mark.parametrize("name", ["a b", 'a"b', "select", "it's", "ü😀", "A-b"])
def test_any_name_is_quoted(name: str) -> None:
    frame = ROW.select(named("a").alias(name))
    assert frame.select(Column(quoted(name), name)).rows() == [{name: 7}]
    assert value(Column(text(name))) == name


def test_rows_are_sorted_with_nulls_as_the_least() -> None:
    rows = Frame.of(pa.table({"a": [1, None, 2, 1], "b": [1, 2, 3, 4]}))

    def sort(*orders: Any) -> list[int]:
        return [row["b"] for row in rows.orderBy(*orders).rows()]

    assert sort(*ordered(["a", named("b").desc()])) == [2, 4, 1, 3]
    assert sort(Order(named("a"), is_descending=True), "b") == [3, 1, 4, 2]
    assert sort(named("a").asc_nulls_first(), "b") == [2, 1, 4, 3]


def test_only_what_orders_otherwise_than_duckdb_says_so() -> None:
    assert named("a").is_ordered
    assert not Column("a", order="b").is_ordered


def test_what_needs_another_column_says_so() -> None:
    with pytest.raises(TypeError, match="expected an aggregate"):
        named("a").over(None)
    with pytest.raises(TypeError, match="must follow"):
        named("a").when(YES, 1)
