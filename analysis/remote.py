"""The logs on the file systems of Hadoop (``hdfs://``, ``s3a://``), looked up by the driver."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from barnabas.analysis.pieces import COMPRESSED
from barnabas.analysis.reading.files.encodings import FIRST_BYTES, encoding_of
from barnabas.analysis.reading.metadata.segments import (
    FOLDER,
    PROPERTIES,
    alone_from,
    chosen,
    is_part,
    is_segment,
)
from barnabas.analysis.runtime.threads import threads
from barnabas.analysis.sources import (
    LOOKED_AT_BYTES,
    NothingToReadError,
    Sources,
    is_log,
    nothing_at,
    nothing_in,
    nothing_of,
    perhaps_logs,
    uncommitted,
)

_LOOKING = 16
"""The number of files that are opened at the same time: each takes some round trips."""


class Form(Enum):
    """The ways to read a log.

    Attributes:
        LINES: Spark's text source cuts it before its entries.
        WHOLE: A task fetches it and reads it from its begin.
    """

    LINES = "lines"
    WHOLE = "whole"


def looked_up(spark: SparkSession, sources: Sources) -> Sources:
    """Look up the files, folders and globs with a scheme.

    Raises:
        NothingToReadError: One of them names nothing, or a folder without logs; or no log can be read.
    """
    found: dict[str, Form] = {}
    segments: dict[str, _Store] = {}
    closed = list(sources.closed)
    for given in sources.remote:
        store = _Store(spark, given)
        files, known = store.files(), len(closed)
        own = {path: store for path in files if is_segment(Path(path))}
        logs = _forms({path: named for path, named in files.items() if path not in own}, store.head, closed)
        if not own and not logs and len(closed) == known:
            raise NothingToReadError(nothing_in(given))
        found |= logs
        segments |= own
    parts, doubts = _metadata(segments)
    found |= dict.fromkeys(parts, Form.WHOLE)
    if not found and not sources.files:
        raise NothingToReadError(nothing_of(closed))
    return replace(
        sources,
        closed=(*closed, *doubts),
        lines=tuple(path for path, form in found.items() if form is Form.LINES),
        whole=tuple(path for path, form in found.items() if form is Form.WHOLE),
    )


def form_of(path: str, head: bytes) -> Form:
    """Return how to read a log that begins with these bytes.

    Spark's text source would decompress a file by its name, and fail at damage.
    """
    is_plain = encoding_of(head[:FIRST_BYTES]) is None and not path.endswith(COMPRESSED)
    return Form.LINES if is_plain else Form.WHOLE


def _forms(files: dict[str, bool], head: Callable[[str], bytes], closed: list[str]) -> dict[str, Form]:
    """Return how to read each of the logs among files; ``closed`` receives those that cannot be read.

    Args:
        files: The files, and whether each was named itself, so that it is a log whatever it begins with.
        head: Returns the first ``LOOKED_AT_BYTES`` of a file.
        closed: Receives a sentence for each file.
    """

    def form(path: str) -> Form | str | None:
        try:
            begin = head(path)
            return form_of(path, begin) if files[path] or is_log(path, begin) else None
        except Py4JJavaError as error:
            return f"{path}: {str(error.java_exception).splitlines()[0]}"

    with threads(_LOOKING) as pool:
        seen = dict(zip(files, pool.map(form, files), strict=True))
    closed.extend(reason for reason in seen.values() if isinstance(reason, str))
    return {path: each for path, each in seen.items() if isinstance(each, Form)}


def _metadata(segments: dict[str, _Store]) -> tuple[list[str], list[str]]:
    """Return the files of the metadata logs to read, and doubts about their ends, as ``find`` does."""
    with tempfile.TemporaryDirectory(prefix="barnabas-metadata-") as scratch:
        copies: dict[Path, str] = {}
        parts: dict[str, list[str]] = {}
        for number, (folder, store) in enumerate(
            {path.rpartition("/")[0]: store for path, store in segments.items()}.items()
        ):
            copy = Path(scratch) / str(number) / FOLDER
            copy.mkdir(parents=True)
            parts[folder] = [path for path in store.beside(folder) if is_part(Path(path))]
            for path in parts[folder]:
                store.copy(path, copy / path.rpartition("/")[2])
                copies[copy / path.rpartition("/")[2]] = path
            for path in store.beside(folder.rpartition("/")[0], PROPERTIES):
                store.copy(path, copy.parent / PROPERTIES)
                parts[folder].append(path)
        local = [path for path in copies if is_segment(path)]
        read = {copies[path].rpartition("/")[0] for path in chosen(local)}
        doubts = [uncommitted(copies[path], offset) for path, offset in alone_from(local)]
    return [path for folder in parts if folder in read for path in parts[folder]], doubts


class _Store:
    """The file system of a path with a scheme, through Spark's Java."""

    def __init__(self, spark: SparkSession, given: str) -> None:
        java = spark._jvm  # noqa: SLF001  (PySpark has no other access to Hadoop file systems)
        if java is None:
            raise RuntimeError("the session has no Java process to look files up with")
        self._given = given
        self._at = java.org.apache.hadoop.fs.Path
        settings = java.org.apache.spark.sql.SparkSession.active().sparkContext().hadoopConfiguration()
        self._system = self._at(given).getFileSystem(settings)

    def files(self) -> dict[str, bool]:
        """Return the files that may be logs, and whether each was named itself, not a folder with it.

        Raises:
            NothingToReadError: The path names nothing.
        """
        found = self._system.globStatus(self._at(self._given))
        if not found:
            raise NothingToReadError(nothing_at(self._given))
        files: dict[str, bool] = {}
        for each in found:
            if each.isDirectory():
                inside = list(_listed(self._system.listFiles(each.getPath(), True)))  # noqa: FBT003  (as Java takes it)
                mine = [path for path in inside if is_segment(Path(path))]
                files = dict.fromkeys((*mine, *perhaps_logs(inside)), False) | files
            else:
                files[each.getPath().toString()] = True
        return files

    def head(self, path: str) -> bytes:
        """Return the first ``LOOKED_AT_BYTES`` of a file."""
        stream = self._system.open(self._at(path))
        try:
            return bytes(stream.readNBytes(LOOKED_AT_BYTES))
        finally:
            stream.close()

    def beside(self, folder: str, name: str = "*") -> list[str]:
        """Return the files in a folder whose names match a glob."""
        found = self._system.globStatus(self._at(self._at(folder), name))
        return [each.getPath().toString() for each in found or () if each.isFile()]

    def copy(self, path: str, target: Path) -> None:
        """Copy a file to this machine."""
        self._system.copyToLocalFile(False, self._at(path), self._at(target.as_uri()), True)  # noqa: FBT003  (as Java takes it)


def _listed(found: Any) -> Iterator[str]:
    while found.hasNext():
        yield found.next().getPath().toString()
