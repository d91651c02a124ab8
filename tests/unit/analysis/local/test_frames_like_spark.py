"""Spark and ``analysis.local`` give the same frames: columns, rows and types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from barnabas.analysis.local.frames import Frame
from tests.unit.analysis.local.engines import LOCAL, SPARK, WAYS, schema_of_spark, type_name

LEFT = pa.Table.from_pylist(
    [
        {"k": 1, "a": "x", "l": [5, None, 6], "s": {"x": 1, "y": None}},
        {"k": 2, "a": "it's ü😀", "l": [], "s": {"x": None, "y": "z"}},
        {"k": 2, "a": "it's ü😀", "l": [], "s": {"x": None, "y": "z"}},
        {"k": None, "a": "z", "l": None, "s": None},
        {"k": -4, "a": None, "l": [5], "s": {"x": None, "y": None}},
    ],
    pa.schema([
        ("k", pa.int32()), ("a", pa.string()), ("l", pa.list_(pa.int32())),
        ("s", pa.struct([("x", pa.int32()), ("y", pa.string())])),
    ]),
)  # fmt: skip
RIGHT = pa.Table.from_pylist(
    [
        {"k": 1, "n": 10, "b": 2**40},
        {"k": 1, "n": 11, "b": None},
        {"k": 3, "n": 2, "b": 0},
        {"k": None, "n": 13, "b": -1},
    ],
    pa.schema([("k", pa.int32()), ("n", pa.int32()), ("b", pa.int64())]),
)

Case = Callable[[Any, Any, Any], Any]

CASES: dict[str, Case] = {
    "inner join": lambda sf, left, right: left.join(right, "k"),
    "left join": lambda sf, left, right: left.join(right, "k", "left"),
    "full join": lambda sf, left, right: left.join(right, ["k"], "full"),
    "semi join": lambda sf, left, right: left.join(right, ["k"], "left_semi"),
    "anti join": lambda sf, left, right: left.join(right, "k", "left_anti"),
    "join with one's own": lambda sf, left, right: left.join(left.select("k", "a"), ["k", "a"]),
    "join by a condition": lambda sf, left, right: left.join(
        right.select("n"), (sf.col("k") < sf.col("n")) & (sf.col("n") < 11)
    ),
    "distinct": lambda sf, left, right: left.distinct(),
    "duplicates": lambda sf, left, right: left.select("k", "s").dropDuplicates(["k", "s"]),
    "explode": lambda sf, left, right: left.select("k", sf.explode("l").alias("each")),
    "explode in place": lambda sf, left, right: left.withColumn("l", sf.explode("l")),
    "explode an expression": lambda sf, left, right: right.withColumn(
        "each", sf.explode(sf.array("n", sf.col("n") + 1))
    ),
    "explode structs": lambda sf, left, right: left.select(
        sf.explode(sf.array(sf.struct("k", "a"), sf.struct(sf.lit(0).alias("k"), "a"))).alias("each")
    ).select("each.k", "each"),
    "filter": lambda sf, left, right: left.where(sf.col("k") > 0),
    "filter by null": lambda sf, left, right: left.where(sf.lit(None).cast("int") > 0),
    "filter by a field": lambda sf, left, right: left.where("s.x is null and s is not null"),
    "filter by SQL": lambda sf, left, right: left.where(
        "k - 1 >= 0 and (a = 'x' or not size(l) > 0) and (k != 7 or a is null)"
    ),
    "filter by an element": lambda sf, left, right: left.where("array_contains(l, 5) and k + 1 < 3"),
    "union": lambda sf, left, right: right.union(right.select("n", "k", "b")),
    "union widens": lambda sf, left, right: right.select("n").union(right.select("b")),
    "union by names": lambda sf, left, right: right.unionByName(right.select("b", "k", "n")),
    "union with missing columns": lambda sf, left, right: left.unionByName(right, allowMissingColumns=True),
    "columns": lambda sf, left, right: right.withColumns({"k": sf.col("n") + 1, "m": sf.col("k")}),
    "renamed": lambda sf, left, right: left.withColumnRenamed("a", "c").drop("k", "none"),
    "field": lambda sf, left, right: left.select("s.x", sf.col("s")["y"].alias("z")),
    "all and one": lambda sf, left, right: right.select("*", sf.lit("it's").alias("new")),
    "first": lambda sf, left, right: right.orderBy(sf.desc("n")).limit(2).withColumn("m", -sf.col("n")),
    "first of first": lambda sf, left, right: right.orderBy("n").limit(3).limit(1),
    "ordered first": lambda sf, left, right: right.orderBy("n").limit(3).orderBy(sf.desc("n")).limit(1),
    "none": lambda sf, left, right: right.limit(0),
    "groups": lambda sf, left, right: right.groupBy(sf.coalesce("k", sf.lit(0)).alias("key")).agg(
        sf.count("*").alias("rows"), sf.sum("b").alias("all")
    ),
    "groups by a struct": lambda sf, left, right: left.groupBy("s").agg(sf.count("*").alias("rows")),
    "groups by a name of another column": lambda sf, left, right: right.groupBy(sf.col("n").alias("k")).agg(
        sf.max("k").alias("most")
    ),
    "groups of no rows": lambda sf, left, right: right.limit(0).groupBy("k").agg(sf.sum("n").alias("all")),
    "groups by nothing": lambda sf, left, right: right.groupBy().agg(sf.sum("n").alias("all")),
    "groups by nothing of no rows": lambda sf, left, right: (
        right.limit(0).groupBy().agg(sf.sum("n").alias("all"), sf.count("*").alias("rows"))
    ),
}


def in_order(table: pa.Table) -> list[str]:
    return sorted(str(row) for row in table.to_pylist())


def types(table: pa.Table) -> list[tuple[str, str]]:
    return [(field.name, type_name(field.type)) for field in table.schema]


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_frame_is_that_of_spark(spark: SparkSession, case: Case) -> None:
    left, right = (spark.createDataFrame(rows, schema_of_spark(rows.schema)) for rows in (LEFT, RIGHT))
    expected = case(SPARK.sf, left, right)
    rows, count = expected.toArrow(), expected.count()
    found = case(LOCAL.sf, Frame.of(LEFT), Frame.of(RIGHT))
    assert found.columns == expected.columns
    for way, evaluated in WAYS.items():
        with evaluated():
            assert found.count() == count, way
            assert in_order(found.toArrow()) == in_order(rows), way
            assert types(found.toArrow()) == types(rows), way


ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "ascending": lambda sf, right: right.orderBy("b", "n"),
    "descending": lambda sf, right: right.orderBy(sf.desc("b"), "n"),
    "nulls first": lambda sf, right: right.orderBy(sf.col("k").asc_nulls_first(), sf.col("n").desc()),
    "by an expression": lambda sf, right: right.orderBy(-sf.col("n")),
    "by a struct": lambda sf, right: right.orderBy(sf.struct("k", "b")),
    "by a column that is dropped": lambda sf, right: right.orderBy(sf.desc("k"), "n").drop("k", "n"),
}


@pytest.mark.spark
@pytest.mark.parametrize("case", ORDERS.values(), ids=ORDERS)
def test_an_order_is_that_of_spark(spark: SparkSession, case: Callable[[Any, Any], Any]) -> None:
    expected = case(SPARK.sf, spark.createDataFrame(RIGHT)).toArrow()
    for way, evaluated in WAYS.items():
        with evaluated():
            assert case(LOCAL.sf, Frame.of(RIGHT)).rows() == expected.to_pylist(), way


@pytest.mark.spark
def test_two_columns_of_a_name_are_refused(spark: SparkSession) -> None:
    with pytest.raises(PySparkException):
        spark.createDataFrame(RIGHT).join(spark.createDataFrame(RIGHT), "k").select("n").toArrow()
    with pytest.raises(ValueError, match=r"not \['b', 'n'\]"):
        Frame.of(RIGHT).join(Frame.of(RIGHT), "k")
