"""Functions, as Spark evaluates them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from barnabas.analysis.local import functions as sf
from barnabas.analysis.local.columns import Column
from barnabas.analysis.local.frames import Frame

AT = datetime(1969, 12, 31, 23, 59, 59, 999_500)  # noqa: DTZ001  (times of the tables have no zone)
ROW: dict[str, Any] = {"n": None, "l": [3, 1, 3], "e": [], "t": "ab12c3\nd", "i": 7, "at": AT, "f": 2.25}


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (sf.size("l"), 3),
        (sf.size("n"), None),
        (sf.array_sort("l"), [1, 3, 3]),
        (sf.array_distinct("l"), [3, 1]),
        (sf.array_except("l", sf.array("i", sf.lit(3))), [1]),
        (sf.array_except("n", "l"), None),
        (sf.array_contains("l", 1), True),
        (sf.array_join(sf.col("l").cast("array<string>"), "-"), "3-1-3"),
        (sf.flatten(sf.array("l", "e")), [3, 1, 3]),
        (sf.element_at("l", 1), 3),
        (sf.element_at("e", 1), None),
        (sf.get("l", sf.lit(1)), 1),
        (sf.get("l", sf.lit(-1)), None),
        (sf.slice("l", 1, 2), [3, 1]),
        (sf.filter("l", lambda each: each > 1), [3, 3]),
        (sf.exists("l", lambda each: (each > 2) & (each < sf.col("i"))), True),
        (sf.exists("e", lambda each: each > 2), False),
        (sf.exists("n", lambda each: each > 2), None),
        (sf.greatest("n", "i", sf.lit(3)), 7),
        (sf.least("n", "i", sf.lit(3)), 3),
        (sf.least("n"), None),
        (sf.floor("f"), 2),
        (sf.floor(-sf.col("f")), -3),
        (sf.round("f", 1), 2.3),
        (sf.concat("i", sf.lit("x")), "7x"),
        (sf.concat("i", "n"), None),
        (sf.concat_ws("-", "i", "n", sf.lit("x")), "7-x"),
        (sf.printf(sf.lit("%s has %d of %d"), sf.lit("x"), "i", "n"), "x has 7 of null"),
        (sf.substring("t", 1, 2), "ab"),
        (sf.substring_index("t", "\n", 1), "ab12c3"),
        (sf.regexp_replace("t", r"\d+", "#"), "ab#c#\nd"),
        (sf.startswith("t", sf.lit("ab")), True),
        (sf.endswith("n", sf.lit("ab")), None),
        (sf.date_trunc("second", "at"), AT.replace(microsecond=0)),
        (sf.date_trunc("minute", "at"), AT.replace(second=0, microsecond=0)),
        (sf.unix_millis("at"), -1),
        (sf.unix_seconds("at"), -1),
        (sf.coalesce("n", "i"), 7),
        (sf.when(sf.col("n") > 1, "a").when(sf.col("i") > 1, "b").otherwise("c"), "b"),
        (sf.when(sf.col("n") > 1, "a"), None),
        (sf.when(sf.col("n") > 1, "a").otherwise("c"), "c"),
        (sf.struct("i", sf.col("f").alias("g")), {"i": 7, "g": 2.25}),
    ],
)
def test_a_value_of_a_row(column: Column, expected: object) -> None:
    assert column.at(ROW) == expected


ROWS = [{"v": 2, "by": 1}, {"v": None, "by": 3}, {"v": 5, "by": 1}, {"v": 2, "by": None}]


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
        (sf.collect_list("v"), [2, 5, 2]),
        (sf.collect_set("v"), [2, 5]),
        (sf.min_by("v", "by"), 5),
        (sf.max_by("v", "by"), None),
        (sf.first("v", ignorenulls=True), 2),
        (sf.last("by", ignorenulls=True), 1),
        (sf.max(sf.struct("by", "v")), {"by": 3, "v": None}),
        (sf.min(sf.lit(None)), None),
        (sf.sum(sf.lit(None)), None),
    ],
)
def test_a_value_of_a_group(column: Column, expected: object) -> None:
    frame = Frame(["v", "by"], ROWS).groupBy(sf.lit(0).alias("k")).agg(column.alias("x"))
    assert frame.rows() == [{"k": 0, "x": expected}]


def test_without_ignoring_nulls_there_is_no_edge() -> None:
    with pytest.raises(ValueError, match="ignorenulls"):
        sf.last("v", ignorenulls=False)


def test_a_frame_is_broadcast_already() -> None:
    frame = Frame(["v"], [])
    assert sf.broadcast(frame) is frame
