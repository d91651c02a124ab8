"""The output of a run, given as ``--out``: a local folder, or one on a file system that only Spark knows.

On a Spark cluster a local folder must be visible to all machines under the same path. A URI (``hdfs://…``,
``s3a://…``) must only be reachable for Spark's executors.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.derived.store import EVENTS_TABLE, cluster_folders
from barnabas.analysis.reading.events.tables import FILES
from barnabas.analysis.reading.files.parts import write_files
from barnabas.analysis.report.document import Document
from barnabas.analysis.report.files import REPORTS, Format, print_reports, save_reports
from barnabas.analysis.scan import Reading, save_events, write_events, write_few_events
from barnabas.analysis.sources import Sources, is_uri

FILES_TABLE = "files"

_TABLES = (EVENTS_TABLE, FILES_TABLE, *(table.name for table in DERIVED))

_UNFINISHED = "_unfinished"
"""The folder inside a local output for what a run writes, until all of it moves into place."""

_PARTS = ("*.parquet", "*.crc", "_SUCCESS", "_temporary")
"""The names of files in a table's folder."""


class OccupiedError(Exception):
    """An error for a folder with a table's name and other files in it, which writing would delete."""


class Output(ABC):
    """The output of one run, which replaces that of an earlier run in the same place."""

    @property
    @abstractmethod
    def folder(self) -> str | Path:
        """The folder of the tables while the run goes on."""

    @abstractmethod
    def write_events(self, spark: SparkSession, sources: Sources, reading: Reading) -> list[dict[str, Any]]:
        """Read the logs into the tables ``events`` and ``files``, and return the rows of ``files``."""

    @abstractmethod
    def write_report(
        self, spark: SparkSession, documents: Sequence[Document], form: Format
    ) -> Callable[[], None]:
        """Write the report in all forms, and return a function that prints one of them."""

    @abstractmethod
    def finish(self) -> None:
        """Move what this run has written into the place of an earlier run's output."""

    @abstractmethod
    def discard(self) -> None:
        """Remove what this run has written without ``finish``, where the file system can move folders."""


class LocalOutput(Output):
    """A local folder as output.

    Args:
        folder: The folder, which is created if it does not exist.

    Raises:
        OSError: The folder cannot be created or is not writable.
        OccupiedError: A folder inside has the name of a table but holds other files.
    """

    def __init__(self, folder: Path) -> None:
        # An absolute path, because executors may have another working directory.
        self._folder = folder.absolute()
        self._folder.mkdir(parents=True, exist_ok=True)
        if not os.access(self._folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
        for name in _TABLES:
            _refuse_others(self._folder / name, "table", _PARTS)
        for own in cluster_folders(self._folder):
            _refuse_others(own, "report", (*_TABLES, *REPORTS))
        self._unfinished = self._folder / _UNFINISHED
        # A run that was killed left this folder behind.
        self.discard()

    @property
    def place(self) -> Path:
        """The folder of the tables and the report of a finished run."""
        return self._folder

    @property
    def folder(self) -> Path:
        """Return the folder of the tables while the run goes on."""
        return self._unfinished

    def write_events(self, spark: SparkSession, sources: Sources, reading: Reading) -> list[dict[str, Any]]:
        """Let every task write its own rows, without Spark's writer."""
        return self._with_files(write_events(spark, sources, self.folder / EVENTS_TABLE, reading))

    def write_few_events(self, sources: Sources, reading: Reading) -> list[dict[str, Any]]:
        """Read few lines of local logs in this process, as ``write_events`` does with Spark."""
        return self._with_files(write_few_events(sources, self.folder / EVENTS_TABLE, reading))

    def _with_files(self, tallies: list[dict[str, Any]]) -> list[dict[str, Any]]:
        write_files(self.folder / FILES_TABLE, tallies)
        return tallies

    def write_report(
        self,
        spark: SparkSession,  # noqa: ARG002
        documents: Sequence[Document],
        form: Format,
    ) -> Callable[[], None]:
        """Write the report in all forms, and return a function that prints one of them."""
        return self.save_report(documents, form)

    def save_report(self, documents: Sequence[Document], form: Format) -> Callable[[], None]:
        """Write the report as ``write_report`` does, which needs no Spark."""
        save_reports(documents, self.folder)
        return lambda: print_reports(documents, form, str(self._folder))

    def finish(self) -> None:
        """Move what this run has written into the place of an earlier run's output."""
        tables = (self._folder / name for name in _TABLES)
        for former in (*tables, *cluster_folders(self._folder)):
            if former.is_dir():
                shutil.rmtree(former)
        for part in sorted(self._unfinished.iterdir()):
            part.rename(self._folder / part.name)
        self._unfinished.rmdir()

    def discard(self) -> None:
        """Remove what this run has written without ``finish``."""
        shutil.rmtree(self._unfinished, ignore_errors=True)


class RemoteOutput(Output):
    """A folder on any file system that Spark knows, as output.

    Args:
        uri: The URI with its scheme.
    """

    def __init__(self, uri: str) -> None:
        self._uri = uri.rstrip("/")

    @property
    def folder(self) -> str:
        """Return the folder of the tables, which is the final one from the start."""
        return self._uri

    def write_events(self, spark: SparkSession, sources: Sources, reading: Reading) -> list[dict[str, Any]]:
        """Let Spark write the rows, which is slower but works on any file system."""
        tallies = save_events(spark, sources, f"{self._uri}/{EVENTS_TABLE}", reading)
        files = spark.createDataFrame(_values(tallies), FILES).coalesce(1)
        files.write.mode("overwrite").parquet(f"{self._uri}/{FILES_TABLE}")
        return tallies

    def write_report(
        self, spark: SparkSession, documents: Sequence[Document], form: Format
    ) -> Callable[[], None]:
        """Write the files to a temporary local folder and copy them."""
        with tempfile.TemporaryDirectory(prefix="barnabas-report-") as scratch:
            save_reports(documents, Path(scratch))
            _copy(spark, [*Path(scratch).iterdir()], self._uri)
        return lambda: print_reports(documents, form, self._uri)

    def finish(self) -> None:
        """Do nothing: each table has replaced the former one when Spark committed it."""

    def discard(self) -> None:
        """Do nothing, as ``finish``."""


def output_at(place: str | Path) -> Output:
    """Return the output for a value of ``--out``.

    Raises:
        OSError: A local folder cannot be created or is not writable.
        OccupiedError: A local folder holds files that are not an earlier run's.
    """
    if not str(place):
        raise FileNotFoundError(errno.ENOENT, "no folder is named")
    return RemoteOutput(str(place)) if is_uri(place) else LocalOutput(Path(place))


def _refuse_others(path: Path, what: str, parts: Sequence[str]) -> None:
    """Refuse a folder whose files are not those of an earlier run.

    Args:
        path: The folder, which may not exist.
        what: The word for what is written there.
        parts: The patterns of the names in it.

    Raises:
        OccupiedError: It is no folder, or holds other files.
    """
    if not path.exists():
        return
    found = path.iterdir() if path.is_dir() else iter([path])
    other = next((each for each in found if not any(fnmatch(each.name, part) for part in parts)), None)
    if other is not None:
        raise OccupiedError(
            f"cannot write the {what} {str(path)!r}: {str(other)!r} is not part of one; expected an --out in "
            f"which {path.name!r} is a {what} of an earlier run or does not exist"
        )


def _values(rows: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in FILES.names) for row in rows]


def _copy(spark: SparkSession, files: Sequence[Path], folder: str) -> None:
    java = spark._jvm  # noqa: SLF001  (PySpark has no other access to Hadoop file systems)
    if java is None:
        raise RuntimeError("the session has no Java process to copy the report with")
    target = java.org.apache.hadoop.fs.Path(folder)
    settings = java.org.apache.spark.sql.SparkSession.active().sparkContext().hadoopConfiguration()
    system = target.getFileSystem(settings)
    for file in files:
        system.copyFromLocalFile(False, True, java.org.apache.hadoop.fs.Path(file.as_uri()), target)  # noqa: FBT003  (as Java takes it)
