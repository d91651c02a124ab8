"""The database that evaluates queries."""

from __future__ import annotations

import pickle
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


@pytest.mark.parametrize("rows", [NUMBERS, pa.concat_tables([NUMBERS] * 50_000)])
@pytest.mark.parametrize("most", [0, 2, 4, 150_000])
def test_first_rows_come_with_the_number_of_all(rows: pa.Table, most: int) -> None:
    found, count = first(Query("FROM ", Given(rows), " ORDER BY a"), most)
    assert (found["a"].to_pylist(), count) == (sorted(rows["a"].to_pylist())[:most], rows.num_rows)


def test_first_rows_do_not_carry_the_rest_of_their_batch() -> None:
    found, _ = first(Query("SELECT repeat('a', 100) AS a FROM range(50000)"), 2)
    assert len(pickle.dumps(found)) < 10_000


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
        with running(lambda function, *arguments: None):
            assert fetched(Query("SELECT 3 AS a")) is None
        kept(Query("SELECT 4 AS a"), tmp_path / "table", pa.schema([("a", pa.int32())]))
    fetched(Query("SELECT 5 AS a"))
    assert calls == ["SELECT 1 AS a", "SELECT 4 AS a"]
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


SUM = ("SELECT sum(a) AS s FROM ", " WHERE a > 0")


def sum_of(rows: pa.Table) -> Any:
    return fetched(Query(SUM[0], Given(rows), SUM[1]))["s"].to_pylist()


def test_a_query_over_few_rows_is_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[Any] = []
    schema_of = database._Source.__arrow_c_schema__
    # DuckDB asks for the schema of a source when it plans a query.
    monkeypatch.setattr(
        database._Source, "__arrow_c_schema__", lambda source: planned.append(source) or schema_of(source)
    )
    database._prepared.cache_clear()
    found = [sum_of(pa.table({"a": list(range(-2, number))})) for number in range(3, 9)]
    assert found == [[sum(range(number))] for number in range(3, 9)]
    assert {*planned} == {planned[0]}
    once = len(planned)
    sum_of(NUMBERS)
    assert len(planned) == once
    database._prepared.cache_clear()
    sum_of(NUMBERS)
    assert len(planned) == 2 * once


def test_a_query_over_columns_of_other_types_is_another() -> None:
    assert [sum_of(pa.table({"a": pa.array([1, 2], kind)})) for kind in (pa.int32(), pa.float64())] == [
        [3],
        [3.0],
    ]


def test_a_query_over_few_rows_is_evaluated_again_after_an_error() -> None:
    query = "SELECT CASE WHEN a > 2 THEN error('too large') ELSE a END AS b FROM "
    with pytest.raises(duckdb.Error, match="too large"):
        fetched(Query(query, Given(NUMBERS)))
    assert fetched(Query(query, Given(NUMBERS.slice(1)))).to_pydict() == {"b": [1, 2]}


@pytest.mark.parametrize("number", [database._FEW, database._FEW + 1])
def test_many_rows_are_those_of_few(tmp_path: Path, number: int) -> None:
    rows = pa.table({"a": list(range(number))})
    query = Query("SELECT a + 1 AS b FROM ", Given(rows), " WHERE a > 1 ORDER BY a")
    expected = {"b": list(range(3, number + 1))}
    assert fetched(query).to_pydict() == expected
    kept(query, tmp_path / "table", pa.schema([("b", pa.int32())]))
    assert pq.read_table(tmp_path / "table").to_pydict() == expected


def test_only_many_rows_are_optimized() -> None:
    setting = "SELECT current_setting('enable_optimizer') AS a FROM "
    few, many = (pa.table({"b": list(range(number))}) for number in (1, database._FEW + 1))
    assert [fetched(Query(setting, Given(rows)))["a"][0].as_py() for rows in (few, many)] == [False, True]


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
