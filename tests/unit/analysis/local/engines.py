"""Spark and ``analysis.local``, for tests that compare them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import Window as SparkWindow
from pyspark.sql import functions as spark_functions
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from barnabas.analysis.local import database
from barnabas.analysis.local import functions as local_functions
from barnabas.analysis.local.windows import Window as LocalWindow


class Engine(NamedTuple):
    """The functions and windows of one engine."""

    sf: Any
    window: Any


SPARK = Engine(spark_functions, SparkWindow)
LOCAL = Engine(local_functions, LocalWindow)


@contextmanager
def optimized() -> Iterator[None]:
    """Evaluate each query of the block as one over many rows, however few they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "_FEW", -1)
        yield


WAYS = {"prepared": nullcontext, "optimized": optimized}
"""The ways in which ``analysis.local`` evaluates queries: over few rows, and over many."""


def schema_of_spark(schema: pa.Schema) -> StructType:
    """The schema, with times that have no zone as those of the tables."""
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def type_name(kind: pa.DataType) -> str:
    """The name of a type, whatever the elements of arrays are called and whether null was ruled out."""
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{field.name}: {type_name(field.type)}' for field in kind)}>"
    if pa.types.is_list(kind):
        return f"list<{type_name(kind.value_type)}>"
    return str(kind)
