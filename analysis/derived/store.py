"""The derived tables as Parquet, in the folder of the table ``events`` that they are computed from.

A run over files and ``--follow`` both call ``derive``, so the same lines give the same tables.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from barnabas.analysis.derived.catalog import DERIVED, Table
from barnabas.analysis.derived.schemas import DERIVED_ARROW
from barnabas.analysis.reading.events.tables import EVENTS, EVENTS_ARROW
from barnabas.analysis.reading.files.parts import write_table
from barnabas.analysis.runtime.engine import framed, rows_of
from barnabas.analysis.runtime.threads import threads

EVENTS_TABLE = "events"

_FEW = 20_000
"""The most rows of ``events`` that become part of Spark's plans, instead of being read from files.

Spark then evaluates filters while it plans, and drops what is empty: most plans need no job at all.
"""

_SMALL = 2_000
"""The most rows of a derived table that become part of Spark's plans, which then read no files."""

_AT_ONCE = 3
"""The number of tables that are computed at the same time; one alone leaves most of a machine idle."""

_Keep = Callable[[str, DataFrame], DataFrame]
"""A function that writes a table of this name, and returns it as it is read back."""


def derive(spark: SparkSession, folder: str | Path) -> dict[str, DataFrame]:
    """Compute each derived table from ``folder/events`` and write it into ``folder``, replacing older ones.

    Args:
        spark: The session.
        folder: The local folder or URI that holds the table ``events`` as Parquet.

    Returns:
        All tables by name, ``events`` too, as they are read from the folder.
    """
    if isinstance(folder, Path) and _count(folder / EVENTS_TABLE) <= _FEW:
        stored = pq.read_table(folder / EVENTS_TABLE, schema=EVENTS_ARROW)
        return _derived(spark.createDataFrame(stored, EVENTS), _keeping_here(spark, folder))

    def keep(name: str, rows: DataFrame) -> DataFrame:
        rows.write.mode("overwrite").parquet(_path(folder, name))
        # Read the table back, so that tables computed from it do not compute it again.
        kept = _stored(spark, folder, name, rows.schema)
        if isinstance(folder, Path) and _count(folder / name) <= _SMALL:
            found = pq.read_table(folder / name, schema=DERIVED_ARROW[name])
            return spark.createDataFrame(found, kept.schema)
        return kept

    return _derived(_stored(spark, folder, EVENTS_TABLE, EVENTS), keep)


def derive_here(folder: Path) -> dict[str, DataFrame]:
    """Compute and write the tables as ``derive`` does, of few lines, within ``engine.in_this_process``."""
    tables = {EVENTS_TABLE: framed(pq.read_table(folder / EVENTS_TABLE, schema=EVENTS_ARROW))}
    for table in DERIVED:
        made = table.of(tables)
        write_table(folder / table.name, pa.Table.from_pylist(rows_of(made), DERIVED_ARROW[table.name]))
        tables[table.name] = made
    return tables


def _derived(events: DataFrame, keep: _Keep) -> dict[str, DataFrame]:
    tables: dict[str, Future[DataFrame]] = {EVENTS_TABLE: Future()}
    tables[EVENTS_TABLE].set_result(events)

    def make(table: Table) -> DataFrame:
        return keep(table.name, table.of({name: tables[name].result() for name in table.needs}))

    # Each table comes after those it needs, so the first that is not finished never waits.
    with threads(_AT_ONCE) as pool:
        for table in DERIVED:
            tables[table.name] = pool.submit(make, table)
    return {name: table.result() for name, table in tables.items()}


def _count(table: Path) -> int:
    """Return the number of rows of a local table."""
    return sum(int(pq.read_metadata(part).num_rows) for part in table.glob("*.parquet"))


def _keeping_here(spark: SparkSession, folder: Path) -> _Keep:
    """Return a function that writes few rows in this process, which is faster than a job that writes."""

    def keep(name: str, rows: DataFrame) -> DataFrame:
        found = rows.toArrow()
        write_table(folder / name, found)
        kept = spark.createDataFrame(found, rows.schema)
        # One partition needs no exchange; of no rows, Spark drops all that would be done with them.
        return kept.coalesce(1) if found.num_rows else kept

    return keep


def _stored(spark: SparkSession, folder: str | Path, name: str, schema: StructType) -> DataFrame:
    # With a given schema, Spark runs no job that looks for one in the files.
    return spark.read.schema(schema).parquet(_path(folder, name))


def _path(folder: str | Path, name: str) -> str:
    return f"{folder if isinstance(folder, str) else folder.absolute()}/{name}"
