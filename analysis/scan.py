"""The Spark jobs that read files into the table ``events``, in one pass over each line.

A local file is cut into splits of whole entries (``analysis.reading.splits``), and each task reads its own;
of files on other file systems it reads what Spark's text source gives (``analysis.pieces``). In
``write_events`` every task writes its rows itself, because Arrow's Parquet writer is several times faster
than Spark's. Files of failed tasks are ignored.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import AccumulatorParam, TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_schema

from barnabas.analysis.conditions.catalogue import CATALOGUE
from barnabas.analysis.conditions.signs import Signs
from barnabas.analysis.growing import added_blocks
from barnabas.analysis.pieces import (
    Block,
    Pieces,
    contents,
    line_records,
    pieces_of,
    pieces_of_files,
    pieces_of_lines,
    whole_records,
)
from barnabas.analysis.reading.blocks import BlockReader, Origin, Typed, read_entries
from barnabas.analysis.reading.events.tables import EVENTS, EVENTS_ARROW, FILES
from barnabas.analysis.reading.files.encodings import DamagedError
from barnabas.analysis.reading.files.parts import PartWriter, commit, prepare
from barnabas.analysis.reading.metadata.segments import is_segment
from barnabas.analysis.reading.splits import Split, plan
from barnabas.analysis.reading.times import Clock
from barnabas.analysis.runtime.memory import give_back
from barnabas.analysis.sources import STDIN_NAME, Sources, broker_of

SPLIT_BYTES_MAX = 64 * 1024 * 1024
SPLIT_BYTES_MIN = 2 * 1024 * 1024

_FILES_ARROW = to_arrow_schema(FILES)
_PART = pa.field("part", pa.string())
_WRITTEN = st.StructType([*FILES, st.StructField("part", st.StringType())])


@dataclass(frozen=True, slots=True)
class Reading:
    """Settings for reading logs.

    Attributes:
        zone: The brokers' time zone.
        broker: The broker id of lines if neither the line nor the file's path names one.
        split_bytes: The largest size of a split.
        min_insync: min.insync.replicas of the topics; None to take it from the settings in server.log.
        stdin: The file that holds a copy of the standard input, whose path says nothing; None for none.
    """

    zone: tzinfo = UTC
    broker: int | None = None
    split_bytes: int = SPLIT_BYTES_MAX
    min_insync: int | None = None
    stdin: Path | None = None

    def called(self, source: str) -> str:
        """Return the name by which a report calls a file, from its path or its URI."""
        is_stdin = self.stdin is not None and source in {str(self.stdin), self.stdin.as_uri()}
        return STDIN_NAME if is_stdin else source

    def broker_of(self, source: str) -> int | None:
        """Return the broker id in a file's path, else ``broker``."""
        named = broker_of(source)
        return self.broker if named is None else named


AS_WRITTEN = Reading()
"""The default settings: times are in UTC, and files whose path names no broker have none."""


@dataclass(slots=True)
class Tally:
    """The counts of one split: a row of the table ``files``."""

    source: str
    block: int
    broker: int | None
    size: int = 0
    lines: int = 0
    entries: int = 0
    understood: int = 0
    replaced: int = 0
    error: str | None = None

    def add(self, size: int, typed: Typed) -> None:
        """Count the bytes, lines and entries of a block."""
        self.size += size
        self.lines += typed.lines
        self.entries += typed.rows.num_rows
        self.understood += typed.rows["understood"].true_count
        self.replaced += typed.replaced

    def row(self) -> dict[str, Any]:
        """Return the columns of ``FILES``."""
        return {name: getattr(self, name) for name in FILES.names}


Work = Callable[[Pieces], Iterator[pa.RecordBatch]]
"""A function that turns the splits of a task into rows."""


def events(spark: SparkSession, sources: Sources, reading: Reading = AS_WRITTEN) -> DataFrame:
    """Read the table ``events`` (``analysis.reading.events.tables``) from the files."""

    def typed(pieces: Pieces) -> Iterator[pa.RecordBatch]:
        for _, rows in read(pieces, reading):
            if rows is not None:
                yield plain(rows)

    return _run(spark, sources, reading, typed, EVENTS)


def write_events(
    spark: SparkSession, sources: Sources, folder: Path, reading: Reading = AS_WRITTEN
) -> list[dict[str, Any]]:
    """Write the table ``events`` into a folder that all executors see, replacing an older table.

    Returns:
        The rows of the table ``files``, ordered by file and place.
    """
    prepare(folder)
    done = _run(spark, sources, reading, _writing(folder, "part", reading), _WRITTEN)
    rows = [row.asDict() for row in done.collect()]
    commit(folder, [row.pop("part") for row in rows])
    return _ordered(rows)


def write_few_events(sources: Sources, folder: Path, reading: Reading = AS_WRITTEN) -> list[dict[str, Any]]:
    """Write the table ``events`` as ``write_events`` does, of local files, in this process and without Spark.

    Few lines are read before a worker process of Spark has started.
    """
    prepare(folder)
    splits = plan(zip(sources.files, sources.sizes, strict=True), 1, reading.split_bytes, reading.split_bytes)
    written = _writing(folder, "part", reading)(pieces_of(splits, contents))
    rows = [row for batch in written for row in batch.to_pylist()]
    commit(folder, [row.pop("part") for row in rows])
    return _ordered(rows)


def append_events(
    spark: SparkSession, added: list[Split], folder: Path, reading: Reading, batch: int
) -> list[dict[str, Any]]:
    """Append the additions to logs to the table ``events``, replacing earlier rows of the same batch.

    Batch 0 replaces the table of an earlier run.

    Returns:
        As ``write_events``.
    """
    prepare(folder, keep=batch > 0)
    name = f"batch-{batch:08}"
    done = _run_splits(spark, added, added_blocks, _writing(folder, name, reading), _WRITTEN)
    rows = [row.asDict() for row in done.collect()]
    commit(folder, [row.pop("part") for row in rows], former=f"{name}-*")
    return _ordered(rows)


def _writing(folder: Path, name: str, reading: Reading) -> Work:
    """Return work that writes a task's rows to a file of the table, and returns its rows of ``files``."""

    def written(pieces: Pieces) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        attempt = context.taskAttemptId() if context is not None else 0
        tallies: list[Tally] = []
        with PartWriter(folder, f"{name}-{attempt:06}.parquet") as part:
            for tally, rows in read(pieces, reading):
                if rows is None:
                    tallies.append(tally)
                else:
                    part.write(rows)
        give_back()
        yield pa.RecordBatch.from_pylist(
            [tally.row() | {"part": part.name} for tally in tallies], _FILES_ARROW.append(_PART)
        )

    return written


def save_events(
    spark: SparkSession, sources: Sources, uri: str, reading: Reading = AS_WRITTEN
) -> list[dict[str, Any]]:
    """Write the table ``events`` with Spark, to any URI that it knows, replacing an older table.

    Returns:
        As ``write_events``.
    """
    # Spark adds to an accumulator once for each task of a write, however often it retried the task.
    tallies = spark.sparkContext.accumulator([], _Rows())

    def typed(pieces: Pieces) -> Iterator[pa.RecordBatch]:
        for tally, rows in read(pieces, reading):
            if rows is None:
                tallies.add([tally.row()])
            else:
                yield plain(rows)

    _run(spark, sources, reading, typed, EVENTS).write.mode("overwrite").parquet(uri)
    return _ordered(tallies.value)


class _Rows(AccumulatorParam[list[dict[str, Any]]]):
    """An accumulator of the rows of ``files`` that tasks report."""

    def zero(self, value: list[dict[str, Any]]) -> list[dict[str, Any]]:  # noqa: ARG002
        return []

    def addInPlace(  # noqa: N802 (Spark's own name)
        self, value1: list[dict[str, Any]], value2: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        return value1 + value2


def _ordered(tallies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(tallies, key=lambda row: (row["source"], row["block"]))


def read(pieces: Pieces, reading: Reading) -> Iterator[tuple[Tally, pa.RecordBatch | None]]:
    """Read the rows of splits; the last item of each split is its tally with no rows.

    If a split cannot be read to its end, its tally holds the error, and reading continues with the next
    split.
    """
    reader = _reader(reading)
    for file, block, texts in pieces:
        source = reading.called(file)
        tally = Tally(source, block, reading.broker_of(source))
        try:
            for text in texts:
                origin = Origin(source, block, tally.lines + 1, tally.broker)
                if isinstance(text, bytes):
                    typed, size = reader.read(text, origin), len(text)
                else:
                    typed, size = read_entries(text, origin), sum(len(entry.raw) for entry in text)
                tally.add(size, typed)
                yield tally, typed.rows
        except (OSError, DamagedError) as error:
            tally.error = str(error)
            if isinstance(error, DamagedError) and tally.lines and not is_segment(Path(file)):
                # An encoded file is one piece, so its lines are counted from its begin.
                tally.error += f"; nothing was read after line {tally.lines:,}"
        yield tally, None


@functools.lru_cache(maxsize=1)
def _reader(reading: Reading) -> BlockReader:
    """Return the reader of this worker process, which its tasks share so that forms are learned once."""
    return BlockReader(Clock(reading.zone), broker_of, Signs(CATALOGUE).read)


def plain(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Decode the dictionary-encoded columns of rows, which Spark does not accept."""
    arrays = [
        array.dictionary_decode() if pa.types.is_dictionary(array.type) else array for array in rows.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=EVENTS_ARROW)


def _run(
    spark: SparkSession,
    sources: Sources,
    reading: Reading,
    work: Work,
    schema: st.StructType,
) -> DataFrame:
    frames = []
    if sources.files:
        known = zip(sources.files, sources.sizes, strict=True)
        parallel = spark.sparkContext.defaultParallelism
        splits = plan(known, parallel, reading.split_bytes, min(SPLIT_BYTES_MIN, reading.split_bytes))
        frames.append(_run_splits(spark, splits, contents, work, schema))
    if sources.lines:
        found = line_records(spark, sources.lines)
        frames.append(found.mapInArrow(lambda batches: work(pieces_of_lines(batches)), schema))
    if sources.whole:
        found = whole_records(spark, sources.whole)
        frames.append(found.mapInArrow(lambda batches: work(pieces_of_files(batches)), schema))
    return functools.reduce(DataFrame.union, frames)


def _run_splits(
    spark: SparkSession,
    splits: list[Split],
    blocks_of: Callable[[Split], Iterator[Block]],
    work: Work,
    schema: st.StructType,
) -> DataFrame:
    """Run one task for each split of a local file."""

    def pieces(batches: Iterator[pa.RecordBatch]) -> Pieces:
        for batch in batches:
            yield from pieces_of([splits[number] for number in batch.column(0).to_pylist()], blocks_of)

    numbers = spark.range(0, len(splits), 1, max(len(splits), 1))
    return numbers.mapInArrow(lambda batches: work(pieces(batches)), schema)
