"""The database that evaluates queries."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from barnabas.analysis.local import database
from barnabas.analysis.local.database import fetched, first, kept, running
from barnabas.analysis.local.queries import Given, Query

NUMBERS = pa.table({"a": [3, 1, 2]})
LARGE = Query("SELECT count(*) AS rows FROM (SELECT DISTINCT hash(range) AS h FROM range(1000000))")
"""A query whose distinct values need more than 20 MB."""


def test_rows_are_fetched() -> None:
    rows = fetched(Query("SELECT a + 1 AS b FROM ", Given(NUMBERS), " ORDER BY a"))
    assert rows.to_pydict() == {"b": [2, 3, 4]}


def test_first_rows_come_with_the_number_of_all() -> None:
    rows, count = first(Query("FROM ", Given(NUMBERS), " ORDER BY a"), 2)
    assert (rows.to_pydict(), count) == ({"a": [1, 2]}, 3)


def test_rows_are_kept_with_the_given_columns_and_types(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    schema = pa.schema([("b", pa.string()), ("a", pa.int32())])
    for rows in (NUMBERS, NUMBERS.slice(1)):
        kept(Query("SELECT a, 'x' AS b, 0 AS c FROM ", Given(rows)), folder, schema)
        (file,) = folder.glob("*.parquet")
        assert pq.read_schema(file).remove_metadata() == schema
        # An older table was replaced.
        assert pq.read_table(file).to_pydict() == {"b": ["x"] * rows.num_rows, "a": rows["a"].to_pylist()}


def test_a_value_beyond_its_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(pa.ArrowInvalid):
        kept(Query("SELECT 2147483648 AS a"), tmp_path / "table", pa.schema([("a", pa.int32())]))


def test_queries_go_through_the_function_of_the_block(tmp_path: Path) -> None:
    calls: list[str] = []

    def run(function: Any, *arguments: Any) -> Any:
        calls.append(arguments[0])
        return function(*arguments)

    with running(run):
        fetched(Query("SELECT 1 AS a"))
        first(Query("SELECT 2 AS a"), 1)
        with running(lambda function, *arguments: None):
            assert fetched(Query("SELECT 3 AS a")) is None
        kept(Query("SELECT 4 AS a"), tmp_path / "table", pa.schema([("a", pa.int32())]))
    fetched(Query("SELECT 5 AS a"))
    assert calls == ["SELECT 1 AS a", "SELECT 2 AS a", "SELECT 4 AS a"]
    assert pq.read_table(tmp_path / "table").to_pydict() == {"a": [4]}


def test_after_an_error_queries_are_evaluated_here_again() -> None:
    def run(function: Any, *arguments: Any) -> Any:
        raise OSError("no task")

    with pytest.raises(OSError, match="no task"), running(run):
        fetched(Query("SELECT 1 AS a"))
    assert fetched(Query("SELECT 1 AS a")).num_rows == 1


def test_threads_share_no_tables() -> None:
    def evaluate(number: int) -> int:
        rows = pa.table({"a": [number] * 1000})
        return int(fetched(Query("SELECT sum(a) AS s FROM ", Given(rows)))["s"][0].as_py())

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(evaluate, range(40))) == [number * 1000 for number in range(40)]


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(database, "_MEMORY", "20MB")
    database._database.cache_clear()
    yield
    database._database.cache_clear()


def test_rows_beyond_the_memory_go_to_files(little_memory: None) -> None:
    assert fetched(LARGE).to_pydict() == {"rows": [1_000_000]}
    with database._database().cursor() as connection:
        connection.sql("SET max_temp_directory_size = '0KB'")
    with pytest.raises(duckdb.OutOfMemoryException):
        fetched(LARGE)


def test_the_working_directory_gets_no_files(
    little_memory: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fetched(LARGE)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_loaded_from_elsewhere() -> None:
    setting = Query("SELECT current_setting('autoinstall_known_extensions') AS a")
    assert fetched(setting).to_pydict() == {"a": [False]}
