"""The derived tables in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from barnabas.analysis.derived import store
from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.runtime.engine import in_tasks


@pytest.mark.spark
def test_tables_lie_beside_the_events_and_replace_former_ones(
    story: Mapping[str, DataFrame], stored: Path
) -> None:
    assert {folder.name for folder in stored.iterdir()} == {"events", *(table.name for table in DERIVED)}
    for table in DERIVED[:3]:
        computed = table.of(story)
        assert computed.columns == story[table.name].columns
        assert sorted(map(str, computed.collect())) == sorted(map(str, story[table.name].collect()))


@pytest.mark.spark
@pytest.mark.parametrize("by", ["spark", "tasks"])
def test_all_engines_write_the_same_tables(
    spark: SparkSession, stored: Path, tmp_path: Path, by: str
) -> None:
    (tmp_path / "events").symlink_to(stored / "events")
    if by == "spark":
        store.derive(spark, tmp_path)
    else:
        with in_tasks(spark, tmp_path / "aside"):
            store.derive_here(tmp_path)
    for table in DERIVED:
        here, there = (spark.read.parquet(str(folder / table.name)) for folder in (stored, tmp_path))
        assert here.schema == there.schema, table.name
        assert sorted(map(str, here.collect())) == sorted(map(str, there.collect())), table.name


def test_a_table_of_few_rows_is_known_by_its_files(tmp_path: Path) -> None:
    assert store.has_few(tmp_path, 0)
    for number in (2, 3):
        pq.write_table(pa.table({"a": list(range(number))}), tmp_path / f"{number}.parquet")
    assert [store.has_few(tmp_path, most) for most in (4, 5)] == [False, True]
