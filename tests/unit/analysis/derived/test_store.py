"""The derived tables in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import DataFrame

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
