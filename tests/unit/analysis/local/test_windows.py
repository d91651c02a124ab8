"""Frames of windows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from barnabas.analysis.local import functions as sf
from barnabas.analysis.local.columns import Column
from barnabas.analysis.local.frames import Frame
from barnabas.analysis.local.windows import Aggregate, Placed, Window

FRAME = Frame.of(
    pa.table({
        "place": [0, 1, 2, 3, 4],
        "k": ["a", "a", "b", "a", "a"],
        "t": [2, 1, 1, 2, 3],
        "v": [20, 10, 5, None, 30],
    })
)  # fmt: skip
BY_TIME = Window.partitionBy("k").orderBy("t", "place")


def over(column: Column) -> list[object]:
    """The values for the rows of FRAME, in its order."""
    return [row["x"] for row in FRAME.withColumn("x", column).orderBy("place").rows()]


def test_a_running_sum_includes_rows_of_the_same_moment() -> None:
    assert over(sf.sum("v").over(Window.partitionBy("k").orderBy("t"))) == [30, 10, 5, 30, 60]


def test_without_an_order_the_frame_is_the_partition() -> None:
    assert over(sf.max("v").over(Window.partitionBy("k"))) == [30, 30, 5, 30, 30]


def test_a_window_without_partitions_has_one() -> None:
    assert over(sf.count("v").over(Window.orderBy("t"))) == [3, 2, 2, 3, 4]


def test_frames_by_rows_have_the_given_rows() -> None:
    before = BY_TIME.rowsBetween(Window.unboundedPreceding, -1)
    after = BY_TIME.rowsBetween(1, Window.unboundedFollowing)
    near = BY_TIME.rowsBetween(-1, 0)
    assert over(sf.last("v", ignorenulls=True).over(before)) == [10, None, None, 20, 20]
    assert over(sf.first("v", ignorenulls=True).over(after)) == [30, 20, None, 30, None]
    assert over(sf.sum("v").over(near)) == [30, 10, 5, 20, 30]


def test_frames_by_range_have_the_rows_of_equal_order() -> None:
    by_moment = Window.partitionBy("k").orderBy("t")
    equals = by_moment.rangeBetween(Window.currentRow, Window.currentRow)
    later = by_moment.rangeBetween(Window.currentRow, Window.unboundedFollowing)
    assert over(sf.sum("v").over(equals)) == [20, 10, 5, 20, 30]
    assert over(sf.sum("v").over(later)) == [50, 60, 5, 50, 30]


def test_a_frame_by_a_distance_of_values_is_refused() -> None:
    with pytest.raises(ValueError, match="not by the distance -1"):
        BY_TIME.rangeBetween(-1, 0)


def test_a_frame_without_rows_has_no_sum_and_an_empty_list() -> None:
    before = BY_TIME.rowsBetween(Window.unboundedPreceding, -1)
    assert over(sf.sum("v").over(before))[2] is None
    assert over(sf.collect_list("v").over(before))[2] == []
    assert over(sf.count("v").over(before))[2] == 0


def test_places_in_a_partition() -> None:
    assert over(sf.lag("v").over(BY_TIME)) == [10, None, None, 20, None]
    assert over(sf.lag("v", 2).over(BY_TIME)) == [None, None, None, 10, 20]
    assert over(sf.lead("v").over(BY_TIME)) == [None, 20, None, 30, None]
    assert over(sf.row_number().over(BY_TIME)) == [2, 1, 1, 3, 4]


def test_a_window_is_over_the_values_of_another_one() -> None:
    begins = sf.coalesce(sf.col("t") > sf.lag("t").over(BY_TIME), sf.lit(col=False)).cast("int")
    frame = FRAME.withColumn("begins", begins)
    assert over(begins) == [1, 0, 0, 0, 1]
    run = frame.withColumn("x", sf.sum("begins").over(Window.partitionBy("k").orderBy("t")))
    assert [row["x"] for row in run.orderBy("place").rows()] == [1, 0, 0, 1, 2]


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (Window(), ""),
        (Window.partitionBy("k"), 'PARTITION BY "k"'),
        (Window.orderBy("t"), 'ORDER BY "t" ASC NULLS FIRST'),
        (
            Window.partitionBy("k").orderBy(sf.desc("t")).rowsBetween(-2, Window.unboundedFollowing),
            'PARTITION BY "k" ORDER BY "t" DESC NULLS LAST ROWS BETWEEN 2 PRECEDING AND UNBOUNDED FOLLOWING',
        ),
    ],
)
def test_a_window_is_written_as_sql(window: Window, expected: str) -> None:
    assert window.sql == expected


def test_what_is_made_of_a_call_is_made_of_the_call_over_the_window() -> None:
    doubled = Aggregate("sum(v)", lambda call: f"2 * {call}")
    assert doubled.sql == "2 * sum(v)"
    assert over(doubled.over(Window.partitionBy("k"))) == [120, 120, 10, 120, 120]
    assert over(Placed("ntile(2)").over(BY_TIME)) == [1, 1, 1, 2, 2]


def test_a_double_over_a_window_is_cut_off_by_a_cast() -> None:
    assert over(sf.median("v").over(Window.partitionBy("t")).cast("bigint")) == [20, 7, 7, 20, 30]
