"""The engine of the tables and the answers: Spark, or ``analysis.local`` in its tasks or in this process.

``sf`` and ``Window`` have the names of PySpark's; which engine they belong to is decided when a function is
called. One process uses one engine at a time.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from pyspark.sql import SparkSession

from barnabas.analysis.local import functions as local_functions
from barnabas.analysis.local.database import running
from barnabas.analysis.local.frames import Frame
from barnabas.analysis.local.windows import Window as LocalWindow
from barnabas.analysis.runtime.memory import give_back
from barnabas.analysis.runtime.passing import received, sent

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

__all__ = [
    "Window", "alike", "first_of", "framed", "held", "in_tasks", "in_this_process", "kept", "matching",
    "parts", "rows_of", "settled", "sf", "stored",
]  # fmt: skip


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


@contextmanager
def in_tasks(spark: SparkSession, aside: Path) -> Iterator[None]:
    """Use ``analysis.local`` for all columns and frames of the block, and tasks of Spark for its queries.

    Args:
        spark: The session.
        aside: A folder that all executors see, for many rows on their way to this process: Java would hold
            several copies of them. It is removed after the block.
    """
    aside.mkdir(parents=True, exist_ok=True)

    def run(function: Callable[..., Any], *arguments: Any) -> Any:
        def task(_: int) -> Any:
            done = sent(function(*arguments), aside)
            give_back()
            return done

        return received(spark.sparkContext.parallelize([0], 1).map(task).collect()[0])

    try:
        with in_this_process(), running(run):
            yield
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def framed(rows: pa.Table) -> DataFrame:
    """Return a frame of this process with the rows."""
    return cast("DataFrame", Frame.of(rows))


def stored(folder: Path, schema: pa.Schema) -> DataFrame:
    """Return a frame of ``analysis.local`` with the rows of a table in a local folder."""
    return cast("DataFrame", Frame.stored(folder, schema))


def settled(frame: DataFrame) -> DataFrame:
    """Compute the rows of a frame of ``analysis.local`` once, however many others are made from it."""
    local = cast("Frame", frame)
    return framed(local.toArrow())


def parts(frame: DataFrame, names: Sequence[str], count: int) -> list[DataFrame]:
    """Split a frame of ``analysis.local``; rows that are equal in some columns are in the same part."""
    local = cast("Frame", frame)
    return cast("list[DataFrame]", local.parts(names, count))


def kept(frame: DataFrame, folder: Path, schema: pa.Schema) -> DataFrame:
    """Write the rows of a frame of ``analysis.local`` into a folder, and return them as they are there."""
    local = cast("Frame", frame)
    return cast("DataFrame", local.kept(folder, schema))


def rows_of(frame: DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame of either engine; values of Spark come through Arrow."""
    rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return rows


def first_of(frame: DataFrame, rows: int, counted: int) -> tuple[list[dict[str, Any]], int]:
    """Return the first rows of a frame of either engine, and the number of all.

    Args:
        frame: The frame.
        rows: The most rows to return.
        counted: The number of rows up to which one query of Spark gives both. It brings so many rows here,
            which costs less than to compute them again for their number.
    """
    local: Any = frame
    if isinstance(local, Frame):
        found, number = local.first(rows)
        return found.to_pylist(), number
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


def alike(frame: DataFrame, rows: pa.Table) -> DataFrame:
    """Return a frame of the same engine as another one, with these rows."""
    local: Any = frame
    return framed(rows) if isinstance(local, Frame) else frame.sparkSession.createDataFrame(rows)


def matching(frame: DataFrame, keys: pa.Table) -> DataFrame:
    """Select the rows of a frame of either engine whose values are in ``keys``, which is small."""
    local: Any = frame
    few = alike(frame, keys) if isinstance(local, Frame) else sf.broadcast(alike(frame, keys))
    return frame.join(few, keys.column_names, "left_semi")
