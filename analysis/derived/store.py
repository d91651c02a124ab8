"""The derived tables as Parquet, in the folder of the table ``events`` that they are computed from.

A run over files and ``--follow`` compute them alike, so the same lines of one cluster give the same tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from barnabas.analysis.derived.attribution import attributed
from barnabas.analysis.derived.catalog import DERIVED, Table
from barnabas.analysis.derived.clusters import clusters, of_cluster
from barnabas.analysis.derived.lives import PARTITION
from barnabas.analysis.derived.schemas import DERIVED_ARROW
from barnabas.analysis.reading.events.tables import EVENTS, EVENTS_ARROW
from barnabas.analysis.reading.files.parts import join
from barnabas.analysis.runtime.engine import kept, parts, stored
from barnabas.analysis.runtime.threads import threads

EVENTS_TABLE = "events"

_CLUSTER = "cluster-"

_AT_ONCE = 3
"""The number of tables that are computed at the same time; one alone leaves most of a machine idle."""

_PART = 6_000_000
"""The number of lines up to which one query computes a table; for more, several do at the same time."""

_Keep = Callable[[str, Sequence[DataFrame]], DataFrame]
"""A function that writes a table of this name in parts, and returns it as it is read back."""


_Deriving = AbstractContextManager[Mapping[str, DataFrame]]
"""The context in which tables are computed."""


def derive_each(spark: SparkSession, folder: str | Path) -> list[_Deriving]:
    """Compute each derived table from ``folder/events`` and write it into ``folder``, replacing older ones.

    Spark evaluates the tables itself, which any folder that it knows allows. If the lines are of several
    clusters, the tables of each are in a folder of its own (``cluster_folder``).

    The block of a context runs while the tables are computed, which ends with it; an exception in it cancels
    the rest.

    Args:
        spark: The session.
        folder: The local folder or URI that holds the table ``events`` as Parquet.

    Returns:
        A context for each cluster, which gives all tables by name, ``events`` too, as they are read from the
        folder. To ask for a table waits until it is written.
    """

    def apart(number: int, rows: DataFrame) -> _Deriving:
        own = _path(folder, cluster_folder(number))
        rows.write.mode("overwrite").parquet(_path(own, EVENTS_TABLE))
        return _derived_by_spark(spark, own, _stored(spark, own, EVENTS_TABLE, EVENTS))

    events = attributed(_stored(spark, folder, EVENTS_TABLE, EVENTS))
    return _apart(events, apart) or [_derived_by_spark(spark, folder, events)]


def derive_each_here(folder: Path) -> list[_Deriving]:
    """Compute and write the tables of each cluster as ``derive_each`` does, but as ``derive_here``."""

    def apart(number: int, rows: DataFrame) -> _Deriving:
        own = folder / cluster_folder(number)
        own.mkdir(exist_ok=True)
        return _derived_here(own, kept(rows, own / EVENTS_TABLE, EVENTS_ARROW))

    events = attributed(stored(folder / EVENTS_TABLE, EVENTS_ARROW))
    return _apart(events, apart) or [_derived_here(folder, events)]


def _apart(events: DataFrame, apart: Callable[[int, DataFrame], _Deriving]) -> list[_Deriving]:
    """Return the context of each of several clusters; nothing if there is one."""
    return [apart(number, of_cluster(events, spans)) for number, spans in enumerate(clusters(events), 1)]


def _derived_by_spark(spark: SparkSession, folder: str | Path, events: DataFrame) -> _Deriving:
    def keep(name: str, made: Sequence[DataFrame]) -> DataFrame:
        (rows,) = made
        rows.write.mode("overwrite").parquet(_path(folder, name))
        # Read the table back, so that tables computed from it do not compute it again.
        return _stored(spark, folder, name, rows.schema)

    return _derived(events, [events], keep)


def derive_here(folder: Path) -> _Deriving:
    """Compute and write the tables of all lines, as of one cluster, in a local folder, by ``analysis.local``.

    Where its queries run is decided by the block around: ``engine.in_this_process`` or ``engine.in_tasks``.
    """
    return _derived_here(folder, attributed(stored(folder / EVENTS_TABLE, EVENTS_ARROW)))


def _derived_here(folder: Path, events: DataFrame) -> _Deriving:
    def keep(name: str, made: Sequence[DataFrame]) -> DataFrame:
        schema = DERIVED_ARROW[name]
        if len(made) == 1:
            return kept(made[0], folder / name, schema)
        asides = [folder / f"{name}-{number}" for number in range(len(made))]
        with threads(len(made)) as pool:
            for written in [pool.submit(kept, *each, schema) for each in zip(made, asides, strict=True)]:
                written.result()
        join(asides, folder / name)
        return stored(folder / name, schema)

    return _derived(events, parts(events, PARTITION, 1 + _rows(folder / EVENTS_TABLE) // _PART), keep)


def cluster_folder(number: int) -> str:
    """Return the folder of a cluster's tables and report, where the logs are of several; the first is 1."""
    return f"{_CLUSTER}{number}"


def cluster_folders(folder: Path) -> list[Path]:
    """Return what has the name of a ``cluster_folder`` in a local folder."""
    return [path for path in folder.glob(f"{_CLUSTER}*") if path.name.removeprefix(_CLUSTER).isdecimal()]


def has_few(folder: Path, most: int) -> bool:
    """Return whether a table in a local folder has at most so many rows."""
    return _rows(folder) <= most


def _rows(folder: Path) -> int:
    return sum(pq.read_metadata(file).num_rows for file in folder.glob("*.parquet"))


class _Awaited(Mapping[str, DataFrame]):
    def __init__(self, tables: Mapping[str, Future[DataFrame]]) -> None:
        self._tables = tables

    def __getitem__(self, name: str) -> DataFrame:
        return self._tables[name].result()

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


@contextmanager
def _derived(
    events: DataFrame, parted: Sequence[DataFrame], keep: _Keep
) -> Iterator[Mapping[str, DataFrame]]:
    tables: dict[str, Future[DataFrame]] = {EVENTS_TABLE: Future()}
    tables[EVENTS_TABLE].set_result(events)

    def make(table: Table) -> DataFrame:
        needed = {name: tables[name].result() for name in table.needs}
        sources = parted if table.is_by_partition else [events]
        return keep(table.name, [table.of(needed | {EVENTS_TABLE: each}) for each in sources])

    # Each table comes after those it needs, so the first that is not finished never waits.
    with threads(_AT_ONCE) as pool:
        for table in DERIVED:
            tables[table.name] = pool.submit(make, table)
        yield _Awaited(tables)
        for made in tables.values():
            made.result()


def _stored(spark: SparkSession, folder: str | Path, name: str, schema: StructType) -> DataFrame:
    # With a given schema, Spark runs no job that looks for one in the files.
    return spark.read.schema(schema).parquet(_path(folder, name))


def _path(folder: str | Path, name: str) -> str:
    return f"{folder if isinstance(folder, str) else folder.absolute()}/{name}"
