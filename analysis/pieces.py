"""The pieces of files that a task reads: splits of local files, and files that Spark reads elsewhere.

Only Spark's Java reads Hadoop's file systems. Its text source cuts a plain log where a line begins with a
bracket. All other files are fetched whole: a task puts the rows of a file together again on its own disk, and
reads it there as a local one.
"""

from __future__ import annotations

import functools
import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from barnabas.analysis.reading.events.entries import Entry
from barnabas.analysis.reading.metadata.log import read_log
from barnabas.analysis.reading.metadata.segments import FOLDER, PROPERTIES, is_segment
from barnabas.analysis.reading.splits import BLOCK_BYTES, Split, blocks

Block = bytes | list[Entry]
"""The text of whole entries, or entries of a log that is not text."""

Pieces = Iterator[tuple[str, int, Iterator[Block]]]
"""The splits that a task reads, each as its file, its first byte, and its blocks of whole entries."""

_HEAD_SEPARATOR = "\n["
"""The separator at which Spark's text source cuts a log, and which it removes."""

COMPRESSED = (".gz", ".gzip", ".zst", ".zstd", ".bz2")
"""The endings of names by which Spark's text source would decompress files."""

_CODECS = "io.compression.codecs"
_AS_IT_IS = "org.apache.hadoop.io.compress.PassthroughCodec"
_PASSED = ("io.compress.passthrough.extension", "org.apache.hadoop.shaded.io.compress.passthrough.extension")
"""The setting of the ending that this codec takes, and its name in the jars that Spark comes with."""

_FETCHERS = 64
"""The most tasks that fetch files; Spark runs as many at a time as it has cores."""


def contents(split: Split) -> Iterator[Block]:
    """Read a split of a local file, or the metadata log for which it stands.

    Raises:
        OSError: The file cannot be read; the blocks returned before are valid.
        DamagedError: The file is damaged; likewise.
    """
    path = Path(split.path)
    return read_log(path) if is_segment(path) else blocks(split)


def pieces_of(splits: Sequence[Split], blocks_of: Callable[[Split], Iterator[Block]]) -> Pieces:
    """Return the pieces of splits of local files, read by a function."""
    for split in splits:
        yield Path(split.path).as_uri(), split.start, blocks_of(split)


def line_records(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Return the text of logs of any file system, cut before brackets, for ``pieces_of_lines``."""
    records = spark.read.option("lineSep", _HEAD_SEPARATOR).text(list(paths))
    # Bytes instead of text: a log may hold bytes that are not UTF-8, which ``blocks.clean`` counts.
    return records.select(
        sf.col("value").cast("binary").alias("record"),
        sf.col("_metadata.file_path").alias("source"),
        sf.col("_metadata.file_block_start").alias("block"),
    )


def pieces_of_lines(batches: Iterator[pa.RecordBatch]) -> Pieces:
    """Return the pieces of logs from rows of ``line_records``."""
    for (source, block), rows in itertools.groupby(_rows(batches), key=lambda row: row[1:]):
        yield source, block, _joined((record for record, _, _ in rows), is_first=block == 0)


def _joined(records: Iterator[bytes], *, is_first: bool) -> Iterator[bytes]:
    held: list[bytes] = []
    size = 0
    for number, record in enumerate(records):
        held.append(record if is_first and number == 0 else b"[" + record)
        size += len(held[-1]) + 1
        if size >= BLOCK_BYTES:
            yield b"\n".join(held) + b"\n"
            held, size = [], 0
    if held:
        yield b"\n".join(held) + b"\n"


def whole_records(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Return the bytes of files of any file system, cut at line feeds, for ``pieces_of_files``.

    All rows of a file, or of a metadata log, are in one task, in the order of the file. They are never in the
    memory of Java at once, however large the file is.
    """
    by_ending: dict[str, list[str]] = {}
    for path in paths:
        ending = next((each for each in COMPRESSED if path.endswith(each)), "")
        by_ending.setdefault(ending, []).append(path)
    records = functools.reduce(
        DataFrame.union, (_undecoded(spark, own, ending) for ending, own in by_ending.items())
    )
    log = sf.regexp_extract("source", f"^(.*/{FOLDER})/[^/]*$", 1)
    # It stands beside the folder of a metadata log, and names the cluster.
    beside = sf.regexp_extract("source", f"^(.*/){PROPERTIES}$", 1)
    return (
        records.withColumns(
            {
                "whole": sf.when(log != "", log)
                .when(beside != "", sf.concat(beside, sf.lit(FOLDER)))
                .otherwise(sf.col("source")),
                # It grows within a block, which one task reads.
                "number": sf.monotonically_increasing_id(),
            }
        )
        .repartition(min(len(paths), _FETCHERS), "whole")
        .sortWithinPartitions("whole", "source", "block", "number")
        .select("record", "whole", "source", "size")
    )


def _undecoded(spark: SparkSession, paths: Sequence[str], ending: str) -> DataFrame:
    """Return the bytes of files, cut at line feeds, without the decompression for the ending of their names.

    At damage Spark would fail, and the report with it.
    """
    source = spark.read.option("lineSep", "\n")
    if ending:
        source = source.options(**{_CODECS: _AS_IT_IS}, **dict.fromkeys(_PASSED, ending))
    return source.text(list(paths)).select(
        sf.col("value").cast("binary").alias("record"),
        sf.col("_metadata.file_path").alias("source"),
        sf.col("_metadata.file_size").alias("size"),
        sf.col("_metadata.file_block_start").alias("block"),
    )


def pieces_of_files(batches: Iterator[pa.RecordBatch]) -> Pieces:
    """Return the pieces of files from rows of ``whole_records``; a file stays until the next is asked for."""
    for whole, rows in itertools.groupby(_rows(batches), key=lambda row: row[1]):
        with tempfile.TemporaryDirectory(prefix="barnabas-fetched-") as scratch:
            is_metadata = whole.rpartition("/")[2] == FOLDER
            folder = Path(scratch) / FOLDER if is_metadata else Path(scratch)
            folder.mkdir(exist_ok=True)
            fetched = [
                (source, _fetched(folder, source, size, (record for record, *_ in records)))
                for (source, size), records in itertools.groupby(rows, key=lambda row: row[2:])
            ]
            # A metadata log's first segment stands for it.
            source, path = next(each for each in fetched if not is_metadata or is_segment(each[1]))
            yield source, 0, contents(Split(str(path), 0, path.stat().st_size))


def _fetched(folder: Path, source: str, size: int, records: Iterator[bytes]) -> Path:
    """Write a file of records that line feeds separated, and return its path."""
    name = source.rpartition("/")[2]
    path = (folder.parent if name == PROPERTIES else folder) / name
    with path.open("wb") as file:
        for number, record in enumerate(records):
            file.write(b"\n" + record if number else record)
        if file.tell() == size - 1:
            # Spark's text source does not say whether the last record has a line feed.
            file.write(b"\n")
    return path


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    return (row for batch in batches for row in zip(*(column.to_pylist() for column in batch), strict=True))
