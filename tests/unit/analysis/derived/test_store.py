"""The derived tables in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from barnabas.analysis.derived import store
from barnabas.analysis.derived.catalog import DERIVED


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
@pytest.mark.parametrize("small", [0, store._SMALL])
def test_few_rows_and_many_give_the_same_tables(
    spark: SparkSession, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    (tmp_path / "events").symlink_to(stored / "events")
    monkeypatch.setattr(store, "_FEW", 0)
    monkeypatch.setattr(store, "_SMALL", small)
    tables = store.derive(spark, tmp_path)
    for table in DERIVED:
        few, many = (spark.read.parquet(str(folder / table.name)) for folder in (stored, tmp_path))
        assert few.schema == many.schema, table.name
        assert sorted(map(str, few.collect())) == sorted(map(str, many.collect())), table.name
        assert tables[table.name].schema == many.schema, table.name
