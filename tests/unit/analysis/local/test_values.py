"""Values in Spark's order, and as keys."""

from __future__ import annotations

from barnabas.analysis.local.values import frozen, order_key


def test_null_comes_before_all_and_structs_are_compared_field_by_field() -> None:
    values = [{"a": 2, "b": None}, None, {"a": 1, "b": "x"}, {"a": 1, "b": None}]
    assert sorted(values, key=order_key) == [
        None,
        {"a": 1, "b": None},
        {"a": 1, "b": "x"},
        {"a": 2, "b": None},
    ]


def test_the_shorter_of_two_arrays_that_begin_alike_comes_first() -> None:
    assert sorted([[1, 2], [1], [None, 3], []], key=order_key) == [[], [None, 3], [1], [1, 2]]


def test_equal_values_are_equal_keys() -> None:
    assert frozen([{"a": [1, 2]}]) == frozen([{"a": [1, 2]}])
    assert len({frozen([1]), frozen([2]), frozen([1])}) == 2
