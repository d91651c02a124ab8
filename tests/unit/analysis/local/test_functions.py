"""Functions, as Spark evaluates them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

from barnabas.analysis.local import functions as sf
from barnabas.analysis.local.columns import Column
from barnabas.analysis.local.frames import Frame
from barnabas.analysis.local.windows import Window

AT = datetime(1969, 12, 31, 23, 59, 59, 999_500)  # noqa: DTZ001  (times of the tables have no zone)
INT, INTS = pa.int32(), pa.list_(pa.int32())
ROW = Frame.of(
    pa.Table.from_pylist(
        [{"l": [3, 1, 3], "e": [], "t": "ab12c3\nd", "i": 7, "at": AT, "f": 2.25}],
        pa.schema([
            ("n", INT), ("nl", INTS), ("nt", pa.string()), ("l", INTS), ("e", INTS), ("t", pa.string()),
            ("i", INT), ("at", pa.timestamp("us")), ("f", pa.float64()),
        ]),
    )
)  # fmt: skip


HAS_THREE = sf.exists("l", lambda each: each == 3)


def value(column: Column) -> Any:
    (row,) = ROW.select(column.alias("value")).rows()
    return row["value"]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (sf.col("i"), 7),
        (sf.lit("x"), "x"),
        (sf.size("l"), 3),
        (sf.size("e"), 0),
        (sf.size("nl"), None),
        (sf.array("i", sf.lit(3)), [7, 3]),
        (sf.array(), []),
        (sf.array_sort("l"), [1, 3, 3]),
        (sf.array_sort(sf.array_distinct("l")), [1, 3]),
        (sf.array_except("l", sf.array("i", sf.lit(3))), [1]),
        (sf.array_except("l", "e"), [3, 1]),
        (sf.array_except("nl", "l"), None),
        (sf.array_except("l", "nl"), None),
        (sf.array_contains("l", 1), True),
        (sf.array_contains("l", sf.col("i")), False),
        (sf.array_contains("nl", 1), None),
        (sf.array_join(sf.col("l").cast("array<string>"), "-"), "3-1-3"),
        (sf.flatten(sf.array("l", "e")), [3, 1, 3]),
        (sf.element_at("l", 1), 3),
        (sf.element_at("e", 1), None),
        (sf.get("l", sf.lit(1)), 1),
        (sf.get("l", sf.lit(-1)), None),
        (sf.get("l", sf.lit(-2)), None),
        (sf.get("l", sf.lit(3)), None),
        (sf.slice("l", 1, 2), [3, 1]),
        (sf.slice("l", 3, 2), [3]),
        (sf.filter("l", lambda each: each > 1), [3, 3]),
        (sf.exists("l", lambda each: (each > 2) & (each < sf.col("i"))), True),
        (sf.exists("e", lambda each: each > 2), False),
        (sf.exists("nl", lambda each: each > 2), None),
        (sf.exists("l", lambda one: sf.exists("l", lambda other: one + other == 6)), True),
        (sf.exists("l", lambda one: sf.exists("l", lambda other: one + other == 5)), False),
        (sf.exists("l", lambda one: HAS_THREE & (one == 1)), True),
        (sf.greatest("n", "i", sf.lit(3)), 7),
        (sf.least("n", "i", sf.lit(3)), 3),
        (sf.least("n"), None),
        (sf.floor("f"), 2),
        (sf.floor(-sf.col("f")), -3),
        (sf.round("f", 1), 2.3),
        (sf.round(sf.col("i") * 100 / 3, 1), 233.3),
        # As a double, 1.005 is a little less.
        (sf.round(sf.lit(1005) / 1000, 2), 1.01),
        (sf.concat("i", sf.lit("x")), "7x"),
        (sf.concat("i", "nt"), None),
        (sf.printf(sf.lit("%s has %d of %d"), sf.lit("x"), "i", "n"), "x has 7 of null"),
        (sf.printf(sf.lit("it's %s"), sf.lit("it's %d")), "it's it's %d"),
        (sf.substring("t", 1, 2), "ab"),
        (sf.substring("nt", 1, 2), None),
        (sf.substring_index("t", "\n", 1), "ab12c3"),
        (sf.substring_index("t", "'", 1), "ab12c3\nd"),
        (sf.regexp_replace("t", r"\d+", "#"), "ab#c#\nd"),
        (sf.startswith("t", sf.lit("ab")), True),
        (sf.startswith("t", sf.lit("b")), False),
        (sf.endswith("t", sf.lit("\nd")), True),
        (sf.endswith("nt", sf.lit("ab")), None),
        (sf.date_trunc("second", "at"), AT.replace(microsecond=0)),
        (sf.date_trunc("minute", "at"), AT.replace(second=0, microsecond=0)),
        (sf.unix_millis("at"), -1),
        (sf.unix_seconds("at"), -1),
        (sf.coalesce("n", "i"), 7),
        (sf.coalesce("n", sf.lit(None)), None),
        (sf.when(sf.col("n") > 1, "a").when(sf.col("i") > 1, "b").otherwise("c"), "b"),
        (sf.when(sf.col("n") > 1, "a"), None),
        (sf.when(sf.col("n") > 1, "a").otherwise("c"), "c"),
        (sf.struct("i", sf.col("f").alias("g")), {"i": 7, "g": 2.25}),
    ],
)
def test_a_value_of_a_row(column: Column, expected: object) -> None:
    assert value(column) == expected


ROWS = Frame.of(
    pa.Table.from_pylist(
        [{"v": 2, "by": 1}, {"v": None, "by": 3}, {"v": 5, "by": -1}, {"v": 2, "by": None}],
        pa.schema([("v", INT), ("by", INT)]),
    )
)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (sf.min("v"), 2),
        (sf.max("v"), 5),
        (sf.sum("v"), 9),
        (sf.median("v"), 2.0),
        (sf.count("*"), 4),
        (sf.count("v"), 3),
        (sf.count_if(sf.col("v") > 2), 1),
        (sf.count_distinct("v"), 2),
        (sf.array_sort(sf.collect_list("v")), [2, 2, 5]),
        (sf.array_sort(sf.collect_set("v")), [2, 5]),
        (sf.collect_set(sf.when(sf.col("v") > 5, "x")), []),
        (sf.min_by("v", "by"), 5),
        (sf.max_by("v", "by"), None),
        (sf.max_by("v", sf.struct("v", "by")), 5),
        (sf.min_by("by", sf.struct("v", "by")), 3),
        (sf.min(sf.struct("by", "v")), {"by": None, "v": 2}),
        (sf.max(sf.struct("by", "v")), {"by": 3, "v": None}),
        (sf.max(sf.when(sf.col("v") == 2, sf.struct("v", "by"))), {"v": 2, "by": 1}),
        (sf.max(sf.array("v", "by")), [5, -1]),
        (sf.min(sf.lit(None).cast("int")), None),
        (sf.sum(sf.lit(None).cast("int")), None),
    ],
)
def test_a_value_of_a_group(column: Column, expected: object) -> None:
    grouped = ROWS.groupBy(sf.lit(0).alias("k")).agg(column.alias("x"))
    assert grouped.rows() == [{"k": 0, "x": expected}]


def test_orders_put_nulls_last() -> None:
    for order in (sf.desc("by"),):
        assert [row["by"] for row in ROWS.orderBy(order).rows()] == [3, 1, -1, None]


def test_a_condition_on_elements_is_the_same_text_each_time() -> None:
    def text() -> str:
        made = sf.filter("l", lambda one: sf.exists("l", lambda other: one < other))
        return made.sql + sf.array_except("l", "e").sql

    assert text() == text()


def test_an_element_becomes_a_row() -> None:
    assert sf.explode("l").name == "col"
    assert sorted(row["x"] for row in ROW.select(sf.explode("l").alias("x")).rows()) == [1, 3, 3]


def test_edges_and_places_are_those_of_windows() -> None:
    frame = ROWS.where("by is not null")
    for column, expected in (
        (sf.first("v", ignorenulls=True), [5, 5, 5]),
        (sf.last("v", ignorenulls=True), [5, 2, 2]),
        (sf.lag("v"), [None, 5, 2]),
        (sf.lead("v", 2), [None, None, None]),
        (sf.row_number(), [1, 2, 3]),
    ):
        over = frame.withColumn("x", column.over(Window.orderBy("by"))).orderBy("by")
        assert [row["x"] for row in over.rows()] == expected


def test_without_ignoring_nulls_there_is_no_edge() -> None:
    for edge in (sf.first, sf.last):
        with pytest.raises(ValueError, match="ignorenulls"):
            edge("v", ignorenulls=False)


def test_a_frame_is_broadcast_already() -> None:
    assert sf.broadcast(ROWS) is ROWS
