"""The columns, as every table after them relies on."""

from __future__ import annotations

from pyspark.sql.pandas.types import from_arrow_schema

from barnabas.analysis.reading.events.tables import COLUMNS, EVENTS, EVENTS_ARROW


def test_spark_and_arrow_agree_on_every_column() -> None:
    assert from_arrow_schema(EVENTS_ARROW, prefer_timestamp_ntz=True) == EVENTS


def test_a_column_has_one_name_and_a_doc() -> None:
    assert len({column.name for column in COLUMNS}) == len(COLUMNS)
    assert all(column.doc.endswith(".") for column in COLUMNS)
