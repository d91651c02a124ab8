"""The logs in folders on the file systems of Hadoop (``hdfs://``, ``s3a://``), looked up by the driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from barnabas.analysis.sources import LOOKED_AT_BYTES, NothingToReadError, logs_among, nothing_in


def remote_logs(spark: SparkSession, folder: str) -> list[str]:
    """List the logs in a folder and all folders below it.

    Raises:
        NothingToReadError: There is none.
    """
    java = spark._jvm  # noqa: SLF001  (PySpark has no other access to Hadoop file systems)
    if java is None:
        raise RuntimeError("the session has no Java process to list the folder with")
    settings = java.org.apache.spark.sql.SparkSession.active().sparkContext().hadoopConfiguration()
    place = java.org.apache.hadoop.fs.Path(folder)
    system = place.getFileSystem(settings)

    def head(path: str) -> bytes:
        stream = system.open(java.org.apache.hadoop.fs.Path(path))
        try:
            return bytes(stream.readNBytes(LOOKED_AT_BYTES))
        finally:
            stream.close()

    found = logs_among(list(_files(system.listFiles(place, True))), head)  # noqa: FBT003  (as Java takes it)
    if not found:
        raise NothingToReadError(nothing_in(folder))
    return found


def _files(listed: Any) -> Iterator[str]:
    while listed.hasNext():
        yield listed.next().getPath().toString()
