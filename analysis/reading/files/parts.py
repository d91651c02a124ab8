"""Parquet files that Spark's tasks write themselves, without Spark's writer.

Each attempt of a task writes a file of its own name into a temporary folder. At the end the driver moves the
files of successful attempts into the table and removes all others.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import to_arrow_schema

from barnabas.analysis.reading.events.tables import EVENTS_CODED, FILES

_ASIDE = "_temporary"
_DONE = "_SUCCESS"
_EMPTY = "part-empty.parquet"
_WRITTEN = "part-0.parquet"
_DICTIONARIES = [field.name for field in EVENTS_CODED if pa.types.is_dictionary(field.type)]


class PartWriter:
    """A writer of one file of the table ``events``; without rows no file is created.

    Args:
        folder: The table's folder, after ``prepare``.
        name: The file's name, unique among all attempts of all tasks.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / _ASIDE / name
        self._writer: pq.ParquetWriter | None = None
        self._is_whole = False

    @property
    def name(self) -> str | None:
        """Return the file's name; None if no file was created or writing failed."""
        return self._path.name if self._is_whole else None

    def write(self, rows: pa.RecordBatch) -> None:
        """Append rows of ``EVENTS_CODED``."""
        if self._writer is None:
            self._writer = _open(self._path)
        self._writer.write_batch(rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.close()
            self._is_whole = error is None


def _open(path: Path) -> pq.ParquetWriter:
    # Write statistics only for columns that queries filter by range, and no dictionaries for numbers that
    # hardly repeat.
    return pq.ParquetWriter(
        path, EVENTS_CODED, compression="snappy", use_dictionary=_DICTIONARIES, write_statistics=["time"],
        store_schema=False,
    )  # fmt: skip


def write_files(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Write the table ``files``, replacing an existing one."""
    write_table(folder, pa.Table.from_pylist(rows, to_arrow_schema(FILES)))


def write_table(folder: Path, rows: pa.Table) -> None:
    """Write a table into a folder in one file, replacing an existing one."""
    write_batches(folder, rows.schema, rows.to_batches())


def write_batches(folder: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Write the batches of a table into a folder in one file, replacing an existing one."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    with pq.ParquetWriter(folder / _WRITTEN, schema, store_schema=False) as writer:
        for batch in batches:
            writer.write_batch(batch)
    (folder / _DONE).touch()


def join(folders: Sequence[Path], folder: Path) -> None:
    """Move the rows of tables that ``write_batches`` wrote into one table, replacing an existing one."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    for number, each in enumerate(folders):
        (each / _WRITTEN).rename(folder / f"part-{number}.parquet")
        shutil.rmtree(each)
    (folder / _DONE).touch()


def prepare(folder: Path, *, keep: bool = False) -> None:
    """Prepare the folder of a table that tasks will write.

    Args:
        folder: The table's folder.
        keep: Whether to keep the rows of an existing table.
    """
    if folder.exists():
        shutil.rmtree(folder / _ASIDE if keep else folder, ignore_errors=keep)
    (folder / _ASIDE).mkdir(parents=True)


def commit(folder: Path, names: Iterable[str | None], former: str | None = None) -> None:
    """Move the named files into the table and remove the others that tasks wrote.

    Args:
        folder: The table's folder, after ``prepare``.
        names: ``PartWriter.name`` of each successful attempt, once or more often: an attempt may read
            several files.
        former: A glob of files in the table that the named ones replace; None for none.
    """
    for path in folder.glob(former) if former else ():
        path.unlink()
    for name in set(names):
        if name is not None:
            (folder / _ASIDE / name).rename(folder / name)
    if not any(folder.glob("*.parquet")):
        # A table without rows still needs a file that holds the schema.
        _open(folder / _EMPTY).close()
    shutil.rmtree(folder / _ASIDE)
    (folder / _DONE).touch()
