"""The database that evaluates the queries of frames: DuckDB in memory, wherever ``run`` calls it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from barnabas.analysis.local.queries import Query, written
from barnabas.analysis.reading.files.parts import write_batches

_MEMORY = "512MB"
"""The memory for the rows of a process's queries; more goes to files, which is slower but ends no run."""


_BATCH = 100_000
"""The rows that are written at once."""


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
    with _connected(given) as connection:
        return connection.sql(sql).to_arrow_table()


def _first(sql: str, given: Mapping[str, pa.Table], count: int) -> tuple[pa.Table, int]:
    rows = _rows(sql, given)
    return rows.slice(0, count), rows.num_rows


def _keep(sql: str, given: Mapping[str, pa.Table], folder: Path, schema: pa.Schema) -> None:
    with _connected(given) as connection:
        rows = connection.sql(sql).to_arrow_reader(_BATCH)
        write_batches(folder, schema, (batch.select(schema.names).cast(schema) for batch in rows))


@contextmanager
def _connected(given: Mapping[str, pa.Table]) -> Iterator[duckdb.DuckDBPyConnection]:
    with _database().cursor() as connection:
        for name, rows in given.items():
            connection.register(name, rows)
        yield connection


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(
        config={
            # Nothing is loaded from elsewhere.
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "memory_limit": _MEMORY,
            # By default a folder below the working directory.
            "temp_directory": f"{tempfile.gettempdir()}/barnabas-duckdb-{os.getuid()}",
            # Several queries run at the same time.
            "threads": 1,
        }
    )
