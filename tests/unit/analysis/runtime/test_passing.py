"""Results of tasks on their way to the driver."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from barnabas.analysis.runtime import passing
from barnabas.analysis.runtime.passing import received, sent

ROWS = pa.table({"a": ["x", None, "y"], "b": [[1, 2], [], None]})


@pytest.mark.parametrize("result", [None, 5, (ROWS, 3), ROWS])
def test_a_small_result_is_sent_as_it_is(result: object, tmp_path: Path) -> None:
    assert sent(result, tmp_path) is result
    assert received(result) is result
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("rows", [ROWS, ROWS.slice(0, 0)])
def test_many_rows_go_through_a_file_that_is_removed(
    rows: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passing, "_BYTES_MAX", -1)
    one, other = sent(rows, tmp_path), sent(rows, tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([one, other])
    assert received(one).equals(rows)
    assert received(other).equals(rows)
    assert not any(tmp_path.iterdir())
