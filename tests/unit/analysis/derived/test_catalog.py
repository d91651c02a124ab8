"""The list of derived tables."""

from __future__ import annotations

from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.derived.schemas import DERIVED_ARROW


def test_each_table_finds_what_it_needs() -> None:
    known = {"events"}
    for table in DERIVED:
        assert known.issuperset(table.needs), table.name
        known.add(table.name)


def test_the_tables_asked_for_are_there() -> None:
    assert {"leaders", "controllers", "isr", "requests"} <= {t.name for t in DERIVED}


def test_every_table_has_a_schema() -> None:
    assert list(DERIVED_ARROW) == [table.name for table in DERIVED]
