"""Frames of windows."""

from __future__ import annotations

from barnabas.analysis.local import functions as sf
from barnabas.analysis.local.columns import Column
from barnabas.analysis.local.frames import Frame
from barnabas.analysis.local.windows import Window

FRAME = Frame(
    ["k", "t", "v"],
    [
        {"k": "a", "t": 2, "v": 20},
        {"k": "a", "t": 1, "v": 10},
        {"k": "b", "t": 1, "v": 5},
        {"k": "a", "t": 2, "v": None},
        {"k": "a", "t": 3, "v": 30},
    ],
)
BY_TIME = Window.partitionBy("k").orderBy("t")


def over(column: Column) -> list[object]:
    """The values for the rows of FRAME, in its order."""
    return [row["x"] for row in FRAME.withColumn("x", column).rows()]


def test_a_running_sum_includes_rows_of_the_same_moment() -> None:
    assert over(sf.sum("v").over(BY_TIME)) == [30, 10, 5, 30, 60]


def test_without_an_order_the_frame_is_the_partition() -> None:
    assert over(sf.max("v").over(Window.partitionBy("k"))) == [30, 30, 5, 30, 30]


def test_a_window_without_partitions_has_one() -> None:
    assert over(sf.count("v").over(Window.orderBy("t"))) == [3, 2, 2, 3, 4]


def test_frames_by_rows_have_the_given_rows() -> None:
    before = BY_TIME.rowsBetween(Window.unboundedPreceding, -1)
    after = BY_TIME.rowsBetween(1, Window.unboundedFollowing)
    assert over(sf.last("v", ignorenulls=True).over(before)) == [10, None, None, 20, 20]
    assert over(sf.first("v", ignorenulls=True).over(after)) == [30, 20, None, 30, None]


def test_places_in_a_partition() -> None:
    assert over(sf.lag("v").over(BY_TIME)) == [10, None, None, 20, None]
    assert over(sf.lead("v").over(BY_TIME)) == [None, 20, None, 30, None]
    assert over(sf.row_number().over(BY_TIME)) == [2, 1, 1, 3, 4]


def test_a_window_may_need_another_one() -> None:
    begins = sf.coalesce(sf.col("t") > sf.lag("t").over(BY_TIME), sf.lit(col=False)).cast("int")
    assert over(sf.sum(begins).over(BY_TIME)) == [1, 0, 0, 1, 2]
