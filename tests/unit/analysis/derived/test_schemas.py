"""Every derived table has a schema; ``test_engine`` compares them with Spark's."""

from __future__ import annotations

from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.derived.schemas import DERIVED_ARROW


def test_every_table_has_a_schema() -> None:
    assert list(DERIVED_ARROW) == [table.name for table in DERIVED]
