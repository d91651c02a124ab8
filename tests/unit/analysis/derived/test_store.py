"""The derived tables in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from analysis.derived.catalog import DERIVED
from analysis.derived.store import derive


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_tables_lie_beside_the_events_and_replace_former_ones(
    spark: SparkSession, story: Mapping[str, DataFrame], tmp_path: Path
) -> None:
    story["events"].write.parquet(str(tmp_path / "events"))
    story["lives"].limit(1).write.parquet(str(tmp_path / "lives"))
    seen: list[str] = []
    tables = derive(spark, tmp_path, seen.append)
    assert seen == [table.name for table in DERIVED]
    for name in seen:
        assert sorted(map(str, tables[name].collect())) == sorted(map(str, story[name].collect())), name
