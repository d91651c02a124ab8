"""Conditions that are written as SQL."""

from __future__ import annotations

import pyarrow as pa
import pytest

from barnabas.analysis.local.conditions import condition
from barnabas.analysis.local.frames import Frame

ROW = Frame.of(
    pa.Table.from_pylist(
        [{"a": 1, "b": None, "s": {"x": 3}, "l": [1, 2], "t": "x", "is_a": True, "android": False}],
        pa.schema([
            ("a", pa.int32()), ("b", pa.int32()), ("s", pa.struct([("x", pa.int32())])),
            ("l", pa.list_(pa.int32())), ("t", pa.string()), ("is_a", pa.bool_()), ("android", pa.bool_()),
        ]),
    )
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a is not null and b is null", True),
        ("a = 1 or b = 1", True),
        ("not is_a or android", False),
        ("not (a = 1 and b = 1)", None),
        ("a = 1 or a = 2 and a = 3", True),
        ("(a = 1 or a = 2) and a = 3", False),
        ("s.x > a + 1", True),
        ("a + 2 - 1 != 2", False),
        ("size(l) > 0 and not array_contains(l, a)", False),
        ("t = 'x'", True),
        ("a <= 1 and a >= 1 and a < 2", True),
        ("is_a", True),
    ],
)
def test_a_condition_means_what_it_means_in_sql(text: str, expected: object) -> None:
    assert ROW.select(condition(text).alias("holds")).rows() == [{"holds": expected}]


@pytest.mark.parametrize("text", ["a ~ 1", "a = ", "upper(t) = 'X'", "(a = 1", "a = 1 b", "a is 1", ") a"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="cannot evaluate"):
        condition(text)
