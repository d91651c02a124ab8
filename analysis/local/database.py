"""The database that evaluates the queries of frames: DuckDB in memory, wherever ``run`` calls it.

DuckDB plans a query of the analysis in 10 to 40 ms, and evaluates it over a dozen rows in 3. So a query over
few rows is prepared once in a process, and evaluated each time with other rows. Its optimizer is off: DuckDB
plans a prepared query again each time if the optimizer may have looked at the rows.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb
import pyarrow as pa

from barnabas.analysis.local.queries import Query, reads_files, written
from barnabas.analysis.reading.files.parts import write_batches

_MEMORY = "256MB"
"""The memory for the rows of a process's queries; more goes to files, which is slower but ends no run."""


_BATCH = 100_000
"""The rows that are written at once."""

_FEW = 4_000
"""The most rows of a query that is prepared."""

_PREPARED = 256
"""The most prepared queries of a process; of a run, some 60 are used."""


def _here(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


class _Place:
    run = staticmethod(_here)


_place = _Place()


@contextmanager
def running(run: Callable[..., Any]) -> Iterator[None]:
    """Evaluate the queries of the block with ``run``, which calls a function in some process."""
    former, _place.run = _place.run, run
    try:
        yield
    finally:
        _place.run = former


def is_here() -> bool:
    """Return whether queries are evaluated in this process, which is for few rows."""
    return _place.run is _here


def fetched(query: Query) -> pa.Table:
    """Return the rows of a query. Any thread may call it."""
    rows: pa.Table = _place.run(_rows, *written(query))
    return rows


def first(query: Query, count: int) -> tuple[pa.Table, int]:
    """Return the first rows of a query, and the number of all."""
    found: tuple[pa.Table, int] = _place.run(_first, *written(query), count)
    return found


def kept(query: Query, folder: Path, schema: pa.Schema) -> None:
    """Write the rows of a query into a folder as Parquet, replacing an older table."""
    _place.run(_keep, *written(query), folder, schema)


def _rows(sql: str, given: Mapping[str, pa.Table]) -> pa.Table:
    if _is_few(sql, given):
        return _prepared(sql, *((name, rows.schema) for name, rows in given.items())).rows(given)
    with _connected(given) as connection:
        return connection.sql(sql).to_arrow_table()


def _first(sql: str, given: Mapping[str, pa.Table], count: int) -> tuple[pa.Table, int]:
    """Evaluate a query once; only its first rows are held, whatever the number of all."""
    kept: list[pa.RecordBatch] = []
    number = 0
    with _batches(sql, given) as batches:
        for batch in batches:
            if number < count:
                kept.append(batch.slice(0, count - number))
            number += batch.num_rows
        found = pa.Table.from_batches(kept, batches.schema)
        # A copy: of a slice, all rows of its batch would travel to the process that asked.
        return found.take(pa.array(range(found.num_rows), pa.int64())), number


def _keep(sql: str, given: Mapping[str, pa.Table], folder: Path, schema: pa.Schema) -> None:
    with _batches(sql, given) as rows:
        write_batches(folder, schema, (batch.select(schema.names).cast(schema) for batch in rows))


@contextmanager
def _batches(sql: str, given: Mapping[str, pa.Table]) -> Iterator[pa.RecordBatchReader]:
    if _is_few(sql, given):
        yield _rows(sql, given).to_reader()
        return
    with _connected(given) as connection:
        yield connection.sql(sql).to_arrow_reader(_BATCH)


@contextmanager
def _connected(given: Mapping[str, pa.Table]) -> Iterator[duckdb.DuckDBPyConnection]:
    with _database().cursor() as connection:
        for name, rows in given.items():
            connection.register(name, rows)
        yield connection


def _is_few(sql: str, given: Mapping[str, pa.Table]) -> bool:
    amounts = [rows.num_rows for rows in given.values()]
    return bool(amounts) and sum(amounts) <= _FEW and not reads_files(sql)


class _Source:
    """The rows that a prepared query reads under a name; Arrow's protocol gives them to DuckDB each time."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self.rows = schema.empty_table()

    def __arrow_c_schema__(self) -> Any:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.rows.__arrow_c_stream__(requested_schema)


class _Prepared:
    """A prepared query, on a connection of its own.

    Args:
        sql: The query.
        schemas: The schemas of the tables in memory by the names that the query has for them.
    """

    def __init__(self, sql: str, schemas: Mapping[str, pa.Schema]) -> None:
        self._lock = Lock()
        self._connection = _database_of_few().cursor()
        self._sources = {name: _Source(schema) for name, schema in schemas.items()}
        for name, source in self._sources.items():
            self._connection.register(name, source)
        self._connection.execute(f"PREPARE query AS {sql}")

    def rows(self, given: Mapping[str, pa.Table]) -> pa.Table:
        """Evaluate the query over other rows."""
        with self._lock:
            for name, source in self._sources.items():
                source.rows = given[name]
            return self._connection.sql("EXECUTE query").to_arrow_table()


@lru_cache(_PREPARED)
def _prepared(sql: str, *schemas: tuple[str, pa.Schema]) -> _Prepared:
    return _Prepared(sql, dict(schemas))


_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    # Nothing is loaded from elsewhere.
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    # By default a folder below the working directory.
    "temp_directory": f"{tempfile.gettempdir()}/barnabas-duckdb-{os.getuid()}",
}


@cache
def _database() -> duckdb.DuckDBPyConnection:
    # Several queries run at the same time, so one has one thread.
    return duckdb.connect(config=_SETTINGS | {"memory_limit": _MEMORY, "threads": 1})


@cache
def _database_of_few() -> duckdb.DuckDBPyConnection:
    # DuckDB begins each aggregation by clearing 2 MB for one or two threads, and 256 KB for more. All three
    # are external: DuckDB starts none of them, and the thread that asks for a query evaluates it alone.
    threads = {"threads": 3, "external_threads": 3}
    return duckdb.connect(config=_SETTINGS | threads | {"memory_limit": _MEMORY, "enable_optimizer": False})
