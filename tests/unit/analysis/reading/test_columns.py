"""Columns take single rows and many at once, and give what was put last."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from barnabas.analysis.reading.columns import Columns
from barnabas.analysis.reading.events.tables import EVENTS_CODED


def test_what_is_put_last_counts_and_the_rest_is_null() -> None:
    columns = Columns(4)
    columns.put_same(np.array([0, 1, 2]), {"leader": 7, "topic": "a", "isr": (1, 2), "delete": True})
    columns.put_each(np.array([1, 2]), np.array([1, 0]), [{"topic": "b"}, {"leader": -1, "isr": ()}])
    columns.put_row(0, {"topic": "c", "delete": False})
    assert columns.finish("leader").to_pylist() == [7, -1, 7, None]
    assert columns.finish("topic").to_pylist() == ["c", "a", "b", None]
    assert columns.finish("isr").to_pylist() == [[1, 2], [], [1, 2], None]
    assert columns.finish("delete").to_pylist() == [False, True, True, None]


@pytest.mark.parametrize("name", EVENTS_CODED.names)
def test_a_column_that_nobody_filled_has_its_type(name: str) -> None:
    column = Columns(2).finish(name)
    assert (column.type, column.null_count) == (EVENTS_CODED.field(name).type, 2)


def test_numbers_that_are_too_large_are_left_out() -> None:
    columns = Columns(2)
    columns.put_row(0, {"leader": 2**31, "offset": 2**31, "isr": (1, 2**31)})
    assert columns.finish("leader").to_pylist() == [None, None]
    assert columns.finish("offset").to_pylist() == [2**31, None]
    assert columns.finish("isr").to_pylist() == [None, None]
    assert columns.unfit.tolist() == [True, False]


def test_rows_with_a_number_that_is_too_large_are_known_however_it_was_put() -> None:
    columns = Columns(4)
    columns.put_each(
        np.array([0, 2, 3]), np.array([0, 1, 2]), [{"leader": 2**31}, {"leader": 1}, {"count": 1}]
    )
    columns.put_row(1, {"duration_ms": 10**13})
    assert columns.unfit.tolist() == [True, True, False, False]


def test_rows_are_emptied_but_for_some_columns() -> None:
    columns = Columns(2)
    columns.put_same(np.arange(2), {"leader": 1, "topic": "a", "broker": 3})
    columns.empty_all_but(("broker",), np.array([1]))
    assert [columns.finish(name).to_pylist() for name in ("leader", "topic", "broker")] == [
        [1, None], ["a", None], [3, 3],
    ]  # fmt: skip


def test_the_rows_without_a_value_are_known() -> None:
    columns = Columns(3)
    columns.put_row(1, {"broker": 0})
    assert columns.without("broker").tolist() == [0, 2]


def test_a_column_of_texts_is_not_asked_for_numbers() -> None:
    with pytest.raises(TypeError, match="topic"):
        Columns(1).without("topic")


def test_texts_are_kept_once() -> None:
    columns = Columns(3)
    columns.put_same(np.arange(3), {"topic": "a"})
    assert columns.finish("topic").dictionary == pa.array(["a"])


def test_codes_name_values_and_nothing() -> None:
    columns = Columns(4)
    rows, codes = np.array([0, 1, 3]), np.array([1, 2, 0])
    columns.put_known("count", rows, codes, [7, 8, None])
    columns.put_known("topic", rows, codes, ["a", "b", None])
    assert columns.finish("count").to_pylist() == [8, None, None, 7]
    assert columns.finish("topic").to_pylist() == ["b", None, None, "a"]
