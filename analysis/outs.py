"""The place of tables and report: a folder of this machine, or one on a file system that only Spark knows.

Both are given as ``--out``. On a cluster a local folder has to be one that all machines see under its name;
a URI (``hdfs://…``, ``s3a://…``) needs nothing but that Spark's executors can reach it.
"""

from __future__ import annotations

import errno
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.derived.store import EVENTS_TABLE
from barnabas.analysis.parts import write_files
from barnabas.analysis.report.document import Document
from barnabas.analysis.report.files import REPORTS, Format, tell
from barnabas.analysis.scan import Reading, save_events, write_events
from barnabas.analysis.sources import Sources, is_uri
from barnabas.analysis.tables import FILES

FILES_TABLE = "files"

_TABLES = (EVENTS_TABLE, FILES_TABLE, *(table.name for table in DERIVED))

_PARTS = ("*.parquet", "*.crc", "_SUCCESS", "_temporary")
"""What the folder of a table holds."""


class OccupiedError(Exception):
    """A folder in the place of a table holds what is none: it would be gone."""


class Out(ABC):
    """Where one run writes; what a former run left there is replaced."""

    @property
    @abstractmethod
    def folder(self) -> str | Path:
        """What the tables lie in."""

    @abstractmethod
    def write_events(self, spark: SparkSession, sources: Sources, reading: Reading) -> list[dict[str, Any]]:
        """Read the logs into the tables ``events`` and ``files``; gives the rows of the latter."""

    @abstractmethod
    def tell(self, spark: SparkSession, document: Document, form: Format) -> None:
        """Write the report in all its forms, and print one of them."""


class LocalOut(Out):
    """A folder of this machine.

    Args:
        folder: Made where it is not there.

    Raises:
        OSError: It cannot be made, or nothing can be written in it.
        OccupiedError: A folder in it has the name of a table, and is none.
    """

    def __init__(self, folder: Path) -> None:
        # Executors may have another working directory.
        self._folder = folder.absolute()
        self._folder.mkdir(parents=True, exist_ok=True)
        if not os.access(self._folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
        for name in _TABLES:
            _refuse_others(self._folder / name)

    @property
    def folder(self) -> Path:
        """As in ``Out``."""
        return self._folder

    def write_events(self, spark: SparkSession, sources: Sources, reading: Reading) -> list[dict[str, Any]]:
        """Every task writes its own rows, without Spark."""
        tallies = write_events(spark, sources, self._folder / EVENTS_TABLE, reading)
        write_files(self._folder / FILES_TABLE, tallies)
        return tallies

    def tell(self, spark: SparkSession, document: Document, form: Format) -> None:  # noqa: ARG002
        """As in ``Out``."""
        tell(document, self._folder, form)


class RemoteOut(Out):
    """A folder on any file system that Spark knows.

    Args:
        uri: With its scheme.
    """

    def __init__(self, uri: str) -> None:
        self._uri = uri.rstrip("/")

    @property
    def folder(self) -> str:
        """As in ``Out``."""
        return self._uri

    def write_events(self, spark: SparkSession, sources: Sources, reading: Reading) -> list[dict[str, Any]]:
        """Spark writes the rows: slower than tasks themselves, and to wherever it can."""
        tallies = save_events(spark, sources, f"{self._uri}/{EVENTS_TABLE}", reading)
        files = spark.createDataFrame(_values(tallies), FILES).coalesce(1)
        files.write.mode("overwrite").parquet(f"{self._uri}/{FILES_TABLE}")
        return tallies

    def tell(self, spark: SparkSession, document: Document, form: Format) -> None:
        """The files are made on this machine, and copied."""
        with tempfile.TemporaryDirectory(prefix="barnabas-report-") as scratch:
            tell(document, Path(scratch), form, shown=self._uri)
            _copy(spark, [Path(scratch) / name for name in REPORTS], self._uri)


def out_at(place: str | Path) -> Out:
    """Where a run writes that was given this ``--out``.

    Raises:
        OSError: A local folder cannot be made or written to.
        OccupiedError: What lies in it is not a former run's.
    """
    if not str(place):
        raise FileNotFoundError(errno.ENOENT, "no folder is named")
    return RemoteOut(str(place)) if is_uri(place) else LocalOut(Path(place))


def _refuse_others(table: Path) -> None:
    if not table.exists():
        return
    found = table.iterdir() if table.is_dir() else iter([table])
    other = next((path for path in found if not any(fnmatch(path.name, part) for part in _PARTS)), None)
    if other is not None:
        raise OccupiedError(
            f"cannot write the table {str(table)!r}: {str(other)!r} is no part of one; expected an --out in "
            f"which {table.name!r} is a former run's table, or not there"
        )


def _values(rows: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in FILES.names) for row in rows]


def _copy(spark: SparkSession, files: Sequence[Path], folder: str) -> None:
    java = spark._jvm  # noqa: SLF001  (PySpark opens no other door to Hadoop's file systems)
    if java is None:
        raise RuntimeError("the session has no Java process to copy the report with")
    target = java.org.apache.hadoop.fs.Path(folder)
    settings = java.org.apache.spark.sql.SparkSession.active().sparkContext().hadoopConfiguration()
    system = target.getFileSystem(settings)
    for file in files:
        system.copyFromLocalFile(False, True, java.org.apache.hadoop.fs.Path(file.as_uri()), target)  # noqa: FBT003  (as Java takes it)
