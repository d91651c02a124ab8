"""Frames: joins, groups, unions."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.analysis.local import functions as sf
from barnabas.analysis.local.frames import Frame

LEFT = Frame(["k", "a"], [{"k": 1, "a": "x"}, {"k": 2, "a": "y"}, {"k": None, "a": "z"}])
RIGHT = Frame(["k", "b"], [{"k": 1, "b": 10}, {"k": 1, "b": 11}, {"k": 3, "b": 12}, {"k": None, "b": 13}])


def values(frame: Frame) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in frame.columns) for row in frame.rows()]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("inner", [(1, "x", 10), (1, "x", 11)]),
        ("left", [(1, "x", 10), (1, "x", 11), (2, "y", None), (None, "z", None)]),
        (
            "full",
            [
                (1, "x", 10),
                (1, "x", 11),
                (2, "y", None),
                (None, "z", None),
                (3, None, 12),
                (None, None, 13),
            ],
        ),
        ("left_semi", [(1, "x")]),
        ("left_anti", [(2, "y"), (None, "z")]),
    ],
)
def test_a_join_by_names_never_matches_null(how: str, expected: list[tuple[Any, ...]]) -> None:
    assert values(LEFT.join(RIGHT, "k", how)) == expected


def test_a_join_by_a_condition_has_all_columns() -> None:
    other = Frame(["n"], [{"n": 1}, {"n": 2}])
    assert values(LEFT.join(other, sf.col("k") < sf.col("n"))) == [(1, "x", 2)]


def test_a_group_has_its_keys_and_aggregates() -> None:
    grouped = RIGHT.groupBy(sf.coalesce("k", sf.lit(0)).alias("key")).agg(
        sf.count("*").alias("rows"), sf.when(sf.min("b") > 11, sf.max("b")).alias("late")
    )
    assert values(grouped) == [(1, 2, None), (3, 1, 12), (0, 1, 13)]


def test_a_key_may_have_the_name_of_another_column() -> None:
    grouped = RIGHT.groupBy(sf.col("b").alias("k")).agg(sf.max("k").alias("most"))
    assert values(grouped) == [(10, 1), (11, 1), (12, 3), (13, None)]


def test_rows_of_unions_are_found_by_place_or_by_name() -> None:
    turned = Frame(["b", "k"], [{"b": 1, "k": 2}])
    assert values(RIGHT.limit(1).union(turned)) == [(1, 10), (1, 2)]
    assert values(RIGHT.limit(1).unionByName(turned)) == [(1, 10), (2, 1)]
    assert values(LEFT.limit(1).unionByName(turned, allowMissingColumns=True)) == [
        (1, "x", None),
        (2, None, 1),
    ]
    with pytest.raises(ValueError, match="expected the columns"):
        LEFT.unionByName(turned)


def test_a_list_becomes_rows() -> None:
    lists = Frame(["k", "l"], [{"k": 1, "l": [5, 6]}, {"k": 2, "l": []}, {"k": 3, "l": None}])
    assert values(lists.select("k", sf.explode("l").alias("each"))) == [(1, 5), (1, 6)]
    assert values(lists.withColumn("l", sf.explode("l"))) == [(1, 5), (1, 6)]


def test_columns_are_added_renamed_and_dropped() -> None:
    changed = LEFT.withColumns({"k": sf.col("k") + 1, "new": sf.lit(0)}).withColumnRenamed("a", "c")
    assert (changed.columns, values(changed.limit(1))) == (["k", "c", "new"], [(2, "x", 0)])
    assert changed.drop("c", "new").columns == ["k"]
    assert LEFT.select("*", sf.col("k").alias("j")).columns == ["k", "a", "j"]


def test_equal_rows_are_one() -> None:
    rows = Frame(["l", "n"], [{"l": [1], "n": 1}, {"l": [1], "n": 1}, {"l": [1], "n": 2}])
    assert rows.distinct().count() == 2
    assert values(rows.dropDuplicates(["l"])) == [([1], 1)]


def test_a_condition_that_is_null_selects_nothing() -> None:
    assert values(LEFT.where("k > 1")) == [(2, "y")]
    assert values(LEFT.where(sf.col("k") < 2).orderBy(sf.desc("a"))) == [(1, "x")]


def test_collected_rows_are_copies() -> None:
    frame = Frame(["l"], [{"l": [1]}])
    (row,) = frame.collect()
    row.asDict(recursive=True)["l"].append(2)
    assert row.asDict() == {"l": [1]}
