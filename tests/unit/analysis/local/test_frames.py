"""Frames: joins, groups, unions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from barnabas.analysis.local import functions as sf
from barnabas.analysis.local.frames import Frame


def frame(**columns: list[Any]) -> Frame:
    return Frame.of(pa.table(columns))


LEFT = frame(k=[1, 2, None], a=["x", "y", "z"])
RIGHT = frame(k=[1, 1, 3, None], b=[10, 11, 12, 13])


def values(frame: Frame) -> list[tuple[Any, ...]]:
    assert frame.toArrow().column_names == frame.columns
    return [tuple(row.values()) for row in frame.rows()]


def in_order(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=str)


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
    assert in_order(values(LEFT.join(RIGHT, "k", how))) == in_order(expected)


def test_a_join_by_a_condition_has_all_columns() -> None:
    joined = LEFT.join(frame(n=[1, 2]), sf.col("k") < sf.col("n"))
    assert joined.columns == ["k", "a", "n"]
    assert values(joined) == [(1, "x", 2)]


def test_a_frame_joins_itself() -> None:
    assert values(LEFT.join(LEFT.select("k"), ["k"]).orderBy("k")) == [(1, "x"), (2, "y")]


def test_two_columns_of_a_name_are_refused() -> None:
    for on in ("b", sf.lit(col=True)):
        with pytest.raises(ValueError, match=r"not \["):
            RIGHT.join(RIGHT, on)
    assert RIGHT.join(RIGHT, "b", "left_semi").count() == 4


def test_a_group_has_its_keys_and_aggregates() -> None:
    grouped = RIGHT.groupBy(sf.coalesce("k", sf.lit(0)).alias("key")).agg(
        sf.count("*").alias("rows"), sf.when(sf.min("b") > 11, sf.max("b")).alias("late")
    )
    assert in_order(values(grouped)) == [(0, 1, 13), (1, 2, None), (3, 1, 12)]


def test_a_key_may_have_the_name_of_another_column() -> None:
    grouped = RIGHT.groupBy(sf.col("b").alias("k")).agg(sf.max("k").alias("most"))
    assert in_order(values(grouped)) == [(10, 1), (11, 1), (12, 3), (13, None)]


def test_without_keys_all_rows_are_one_group() -> None:
    assert values(RIGHT.groupBy().agg(sf.sum("b").alias("all"))) == [(46,)]
    assert values(RIGHT.limit(0).groupBy().agg(sf.sum("b").alias("all"))) == [(None,)]


def test_rows_of_unions_are_found_by_place_or_by_name() -> None:
    turned = frame(b=[1], k=[2])
    first = RIGHT.orderBy("b").limit(1)
    assert in_order(values(first.union(turned))) == [(1, 10), (1, 2)]
    assert in_order(values(first.unionByName(turned))) == [(1, 10), (2, 1)]
    missing = LEFT.where("k = 1").unionByName(turned, allowMissingColumns=True)
    assert in_order(values(missing)) == [(1, "x", None), (2, None, 1)]
    with pytest.raises(ValueError, match="expected the columns"):
        LEFT.unionByName(turned)
    with pytest.raises(ValueError, match="expected as many columns"):
        LEFT.union(turned.select("b"))


def test_a_list_becomes_rows() -> None:
    lists = frame(k=[1, 2, 3], l=[[5, 6], [], None])
    assert in_order(values(lists.select("k", sf.explode("l").alias("each")))) == [(1, 5), (1, 6)]
    assert in_order(values(lists.withColumn("l", sf.explode("l")))) == [(1, 5), (1, 6)]


def test_columns_are_added_renamed_and_dropped() -> None:
    changed = LEFT.withColumns({"k": sf.col("k") + 1, "new": sf.col("k")}).withColumnRenamed("a", "c")
    assert changed.columns == ["k", "c", "new"]
    assert values(changed.where("c = 'x'")) == [(2, "x", 1)]
    assert changed.drop("c", "new").columns == ["k"]
    assert in_order(values(changed.drop("c", "new"))) == [(2,), (3,), (None,)]
    assert in_order(values(LEFT.drop("a").union(RIGHT.where("b > 11").drop("b")))) == in_order(
        [(1,), (2,), (None,), (3,), (None,)]
    )
    assert LEFT.select("*", sf.col("k").alias("j")).columns == ["k", "a", "j"]
    assert LEFT.select("k", sf.lit(1)).columns == ["k", "column1"]


def test_equal_rows_are_one() -> None:
    rows = frame(l=[[1], [1], [1]], n=[1, 1, 2])
    assert rows.distinct().count() == 2
    (row,) = values(rows.dropDuplicates(["l"]))
    assert row in (([1], 1), ([1], 2))


def test_a_condition_that_is_null_selects_nothing() -> None:
    assert values(LEFT.where("k > 1")) == [(2, "y")]
    assert values(LEFT.where(sf.col("k") < 2).orderBy(sf.desc("a"))) == [(1, "x")]


def test_an_order_outlives_a_column_and_a_limit() -> None:
    ordered = RIGHT.orderBy(sf.desc("b"))
    assert values(ordered.drop("b")) == [(None,), (3,), (1,), (1,)]
    assert values(ordered.limit(2)) == [(None, 13), (3, 12)]
    assert values(ordered.limit(2).limit(3)) == [(None, 13), (3, 12)]
    assert values(ordered.limit(3).limit(1)) == [(None, 13)]
    assert values(ordered.limit(2).orderBy("b")) == [(3, 12), (None, 13)]
    assert values(ordered.drop("b").limit(1).withColumn("n", sf.lit(0))) == [(None, 0)]


def test_a_frame_is_kept_in_a_folder(tmp_path: Path) -> None:
    schema = pa.schema([("b", pa.int32()), ("k", pa.int64())])
    kept = RIGHT.kept(tmp_path / "table", schema)
    assert kept.columns == ["b", "k"]
    assert in_order(values(kept)) == [(10, 1), (11, 1), (12, 3), (13, None)]
    assert kept.toArrow().schema.types == schema.types
    assert pq.read_table(tmp_path / "table").num_rows == 4
    again = Frame.stored(tmp_path / "table", schema)
    assert in_order(values(again)) == in_order(values(kept))


def test_collected_rows_are_copies() -> None:
    (row,) = frame(l=[[1]]).collect()
    row.asDict(recursive=True)["l"].append(2)
    assert row.asDict() == {"l": [1]}


def test_parts_have_all_rows_and_equal_ones_together() -> None:
    rows = Frame.of(pa.table({"a": [None, *range(20)] * 2, "b": ["x", None, "y"] * 14}))
    assert rows.parts(["a"], 1) == [rows]
    parts = [part.rows() for part in rows.parts(["a", "b"], 3)]
    assert in_order(row for part in parts for row in part) == in_order(rows.rows())
    keys = [{(row["a"], row["b"]) for row in part} for part in parts]
    assert all(keys)
    assert sum(map(len, keys)) == len(set.union(*keys))
