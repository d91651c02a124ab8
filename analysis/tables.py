"""The typed table of everything that the logs say: one pass over each line.

Spark reads the files as text, cut at lines that begin with a bracket, so that an entry and its stack trace
arrive together and no split of a file can part them; one Arrow function types them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import arrow_udf

from analysis.grammar import RECORD_SEPARATOR, read_record
from analysis.sources import LOG_NAMES, Sources

_COLUMNS: tuple[tuple[str, str, pa.DataType], ...] = (
    ("time", "timestamp_ntz", pa.timestamp("us")),
    ("level", "string", pa.string()),
    ("role", "string", pa.string()),
    ("broker", "int", pa.int32()),
    ("controller", "int", pa.int32()),
    ("controller_epoch", "int", pa.int32()),
    ("kind", "string", pa.string()),
    ("topic", "string", pa.string()),
    ("partition", "int", pa.int32()),
    ("replica", "int", pa.int32()),
    ("from", "string", pa.string()),
    ("to", "string", pa.string()),
    ("leader", "int", pa.int32()),
    ("leader_epoch", "int", pa.int32()),
    ("isr", "array<int>", pa.list_(pa.int32())),
    ("version", "int", pa.int32()),
    ("correlation_id", "int", pa.int32()),
    ("count", "int", pa.int32()),
    ("duration_ms", "bigint", pa.int64()),
    ("error", "string", pa.string()),
    ("details", "map<string,string>", pa.map_(pa.string(), pa.string())),
    ("trace", "string", pa.string()),
    ("raw", "string", pa.string()),
    ("understood", "boolean", pa.bool_()),
)
"""What one line gives: the column, its type in Spark and in Arrow.

``time`` is the broker's local time, the log names no zone. ``broker`` is who wrote the line; ``controller``
and ``controller_epoch`` are the controller's own in a controller's line, the sender's in a broker's.
``leader`` is -1 for none, -2 while a topic is deleted. ``version`` is zkVersion. ``details`` holds what has
no column.
"""

_DDL = "array<struct<" + ",".join(f"`{name}`:{ddl}" for name, ddl, _ in _COLUMNS) + ">>"
_ARROW = pa.list_(pa.struct([pa.field(name, arrow) for name, _, arrow in _COLUMNS]))

# Its type hints ask for an evaluation type that it then warns of: the hints of the function decide.
_ARROW_UDF: Callable[..., Callable[[Column], Column]] = arrow_udf


def events(spark: SparkSession, sources: Sources) -> DataFrame:
    """Every entry of the files, typed: the columns above, and where the entry stands.

    Where it stands is ``source`` (the file), ``block`` (the first byte of the split it was read in) and
    ``row`` (rising within the split): ordered by these, a file's entries have their order again, also where
    clocks went back.
    """
    return _records(spark, sources).select(sf.inline(_typed()(sf.col("record"))), "source", "block", "row")


def _records(spark: SparkSession, sources: Sources) -> DataFrame:
    frames = []
    if sources.files:
        frames.append(_scan(spark, sources.files))
    if sources.folders:
        frames.append(_scan(spark, sources.folders, pathGlobFilter=LOG_NAMES, recursiveFileLookup=True))
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.union(frame)
    return whole


def _scan(spark: SparkSession, paths: tuple[str, ...], **options: str | bool) -> DataFrame:
    # Bytes, not text: a log may hold any, and decoding decides what becomes of those that are no UTF-8.
    return (
        spark.read.options(**options)
        .option("lineSep", RECORD_SEPARATOR)
        .text(list(paths))
        .select(
            sf.col("value").cast("binary").alias("record"),
            sf.col("_metadata.file_path").alias("source"),
            sf.col("_metadata.file_block_start").alias("block"),
            sf.monotonically_increasing_id().alias("row"),
        )
    )


def _typed() -> Callable[[Column], Column]:
    def typed(records: pa.Array) -> pa.Array:
        rows: list[list[dict[str, Any]]] = [read_record(record) for record in records.to_pylist()]
        return pa.array(rows, type=_ARROW)

    return _ARROW_UDF(typed, _DDL)
