"""The engine of the tables and the answers: Spark, or for few lines ``analysis.local`` in this process.

``sf`` and ``Window`` have the names of PySpark's; which engine they belong to is decided when a function is
called. One process uses one engine at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from barnabas.analysis.local import functions as local_functions
from barnabas.analysis.local.frames import Frame
from barnabas.analysis.local.windows import Window as LocalWindow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Window
    from pyspark.sql import functions as sf
else:
    from pyspark.sql import Window as SparkWindow
    from pyspark.sql import functions as spark_functions

    class _Either:
        def __init__(self, spark: Any, local: Any) -> None:
            self._spark = spark
            self._local = local

        def __getattr__(self, name: str) -> Any:
            return getattr(self._local if _engine.is_local else self._spark, name)

    sf = _Either(spark_functions, local_functions)
    Window = _Either(SparkWindow, LocalWindow)

__all__ = ["Window", "first_of", "framed", "held", "in_this_process", "matching", "rows_of", "sf"]


class _Engine:
    is_local = False


_engine = _Engine()


@contextmanager
def in_this_process() -> Iterator[None]:
    """Use the engine of this process, without Spark, for all columns and frames built in the block."""
    former, _engine.is_local = _engine.is_local, True
    try:
        yield
    finally:
        _engine.is_local = former


def framed(rows: pa.Table) -> DataFrame:
    """Return a frame of this process with the rows."""
    frame = Frame(rows.column_names, rows.to_pylist())
    return cast("DataFrame", frame)


def rows_of(frame: DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame of either engine; values of Spark come through Arrow."""
    local: Any = frame
    if isinstance(local, Frame):
        return local.rows()
    rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return rows


def first_of(frame: DataFrame, rows: int, counted: int) -> tuple[list[dict[str, Any]], int]:
    """Return the first rows of a frame of either engine, and the number of all.

    Args:
        frame: The frame.
        rows: The most rows to return.
        counted: The number of rows up to which one query gives both. It brings so many rows here, which
            costs less than to compute them again for their number.
    """
    local: Any = frame
    if isinstance(local, Frame):
        return local.limit(rows).rows(), local.count()
    found = frame.limit(counted + 1).toArrow()
    return found.slice(0, rows).to_pylist(), found.num_rows if found.num_rows <= counted else frame.count()


@contextmanager
def held(frame: DataFrame) -> Iterator[DataFrame]:
    """Keep the rows of a frame of either engine, once computed, until the end of the block."""
    local: Any = frame
    if isinstance(local, Frame):
        yield frame
        return
    frame.persist()
    try:
        yield frame
    finally:
        frame.unpersist()


def matching(frame: DataFrame, keys: pa.Table) -> DataFrame:
    """Select the rows of a frame of either engine whose values are in ``keys``, which is small."""
    local: Any = frame
    is_local = isinstance(local, Frame)
    few = framed(keys) if is_local else sf.broadcast(frame.sparkSession.createDataFrame(keys))
    return frame.join(few, keys.column_names, "left_semi")
