"""From files to the table ``events``: one pass over each line.

Spark reads the files as text, cut at lines that begin with a bracket, so that an entry and its stack trace
arrive together and no split of a file can part them; one Arrow function types them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from analysis.grammar import RECORD_SEPARATOR, Row, read_record
from analysis.sources import LOG_NAMES, Sources
from analysis.tables import EVENTS, EVENTS_ARROW


def events(spark: SparkSession, sources: Sources) -> DataFrame:
    """Every entry of the files, typed (``analysis.tables``)."""
    return _records(spark, sources).mapInArrow(_typed, EVENTS)


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
        )
    )


def _typed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    place: tuple[str, int] | None = None
    line = 1
    for batch in batches:
        rows: list[Row] = []
        for each in batch.to_pylist():
            if place != (each["source"], each["block"]):
                place, line = (each["source"], each["block"]), 1
            for row in read_record(each["record"]):
                rows.append(row | {"source": place[0], "block": place[1], "line": line})
                line += row["raw"].count("\n") + 1
        yield pa.RecordBatch.from_pylist(rows, schema=EVENTS_ARROW)
