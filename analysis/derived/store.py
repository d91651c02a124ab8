"""The derived tables as Parquet, in the folder of the table ``events`` that they are computed from.

A run over files and ``--follow`` both call ``derive``, so the same lines give the same tables.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from barnabas.analysis.derived.catalog import DERIVED

EVENTS_TABLE = "events"


def derive(spark: SparkSession, folder: str | Path) -> dict[str, DataFrame]:
    """Compute each derived table from ``folder/events`` and write it into ``folder``, replacing older ones.

    Args:
        spark: The session.
        folder: The local folder or URI that holds the table ``events`` as Parquet.

    Returns:
        All tables by name, ``events`` too, as they are read from the folder.
    """
    tables = {EVENTS_TABLE: _stored(spark, folder, EVENTS_TABLE)}
    for table in DERIVED:
        table.of(tables).write.mode("overwrite").parquet(_path(folder, table.name))
        # Read the table back, so that tables computed from it do not compute it again.
        tables[table.name] = _stored(spark, folder, table.name)
    return tables


def _stored(spark: SparkSession, folder: str | Path, name: str) -> DataFrame:
    return spark.read.parquet(_path(folder, name))


def _path(folder: str | Path, name: str) -> str:
    return f"{folder if isinstance(folder, str) else folder.absolute()}/{name}"
