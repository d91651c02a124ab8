"""``--follow``: a stream that appends to the table ``events`` what is added to the logs.

After each batch the functions of the batch run compute everything else anew, so that the same lines give the
same tables. A batch that is done again after a crash replaces its own files and nothing else.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from analysis.growing import NAME, GrowingLogsSource
from analysis.scan import Reading

CHECKPOINT = "_checkpoint"
"""The folder beside the tables that says how far each log was read."""

NOTES = "_unread"
"""The folder beside the tables that says what could not be read."""

_STAGE = "_stage"

REST_S = 3.0
"""Longer than a stack trace takes to be written."""

TRIGGER_S = 2.0
"""A batch begins no sooner than so long after the one before."""


def follow(
    spark: SparkSession,
    paths: Sequence[str | Path],
    folder: Path,
    on_events: Callable[[], None],
    *,
    reading: Reading,
    rest_s: float | None = None,
) -> StreamingQuery:
    """Start the stream; what an earlier one with the same folder had read is not read again.

    Args:
        spark: The session.
        paths: Folders, whose logs are found as they come, files and globs.
        folder: Where ``events`` and the checkpoints are.
        on_events: Called after each batch that brought something.
        reading: How the logs are read.
        rest_s: A log that nobody wrote to for so long is read to its end; None for ``REST_S``.
    """
    spark.dataSource.register(GrowingLogsSource)
    table = folder / "events"
    table.mkdir(parents=True, exist_ok=True)

    def take(batch: DataFrame, number: int) -> None:
        append(batch, number, table)
        on_events()

    return (
        spark.readStream.format(NAME)
        .option("paths", "\n".join(str(Path(path).absolute()) for path in paths))
        .option("notes", str((folder / NOTES).absolute()))
        .option("zone", str(reading.zone))
        .option("broker", "" if reading.broker is None else str(reading.broker))
        .option("rest_s", str(REST_S if rest_s is None else rest_s))
        .load()
        .writeStream.foreachBatch(take)
        .option("checkpointLocation", str((folder / CHECKPOINT).absolute()))
        .trigger(processingTime=f"{TRIGGER_S} seconds")
        .start()
    )


def append(batch: DataFrame, number: int, table: Path) -> None:
    """Put the rows of a batch into the table, in place of what the same batch wrote before."""
    stage = table.parent / _STAGE
    batch.write.mode("overwrite").parquet(str(stage.absolute()))
    for former in table.glob(f"batch-{number:08}-*.parquet"):
        former.unlink()
    for index, part in enumerate(sorted(stage.glob("part-*.parquet"))):
        part.rename(table / f"batch-{number:08}-{index:04}.parquet")
    shutil.rmtree(stage)
