"""Spark and ``analysis.local`` give the same values of the same types for the same rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from barnabas.analysis.local.frames import Frame
from tests.unit.analysis.local.engines import LOCAL, SPARK, WAYS, Engine, schema_of_spark, type_name

SCHEMA = pa.schema([
    ("id", pa.int32()), ("k", pa.string()), ("i", pa.int32()), ("j", pa.int32()), ("big", pa.int64()),
    ("f", pa.float64()), ("t", pa.string()), ("u", pa.string()), ("at", pa.timestamp("us")),
    ("then", pa.timestamp("us")), ("ok", pa.bool_()), ("l", pa.list_(pa.int32())),
    ("m", pa.list_(pa.int32())), ("texts", pa.list_(pa.string())),
    ("s", pa.struct([("x", pa.int32()), ("y", pa.string())])),
    ("deep", pa.struct([("s", pa.struct([("x", pa.int32())]))])),
])  # fmt: skip


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


TABLE = pa.Table.from_pylist(
    [
        {"id": 1, "k": "a", "i": 7, "j": 2, "big": 2**40, "f": 2.25, "t": "ab12c3\nd", "u": "ab", "ok": True,
         "at": at("2026-11-21T03:12:45.999500"), "then": at("2026-11-21T03:12:44.000001"), "l": [3, 1, 3],
         "m": [3, 7], "texts": ["x", "y", "x"], "s": {"x": 1, "y": "one"}, "deep": {"s": {"x": 4}}},
        {"id": 2, "k": "a"},
        {"id": 3, "k": "b", "i": -7, "j": -3, "big": -1, "f": -2.25, "t": "", "u": "", "ok": False,
         "at": at("1969-12-31T23:59:59.999500"), "then": at("1970-01-01T00:00:00"), "l": [], "m": [],
         "texts": [], "s": {"x": None, "y": "none"}, "deep": {"s": None}},
        {"id": 4, "k": "a", "i": 7, "j": 2, "big": 0, "f": 1e15, "t": "it's \"quoted\", ü😀'\n\ttab\\n 9٣",
         "u": "it's \"", "ok": None, "at": at("1969-07-20T20:17:40"), "then": at("1600-02-29T12:00:30.5"),
         "l": [-1, 5, 3, 3], "m": [5], "texts": ["ü", "😀", "'", "ü"], "s": {"x": 1, "y": None},
         "deep": {"s": {"x": None}}},
        {"id": 5, "k": None, "i": 0, "j": 1, "big": 9, "f": 0.05, "t": "😀ü12 %d", "u": "e\u0301😀ü",
         "ok": True, "at": at("2026-11-21T03:12:45.999500"), "then": at("2026-11-21T03:12:45.999500"),
         "l": [2**31 - 1, -5], "m": [-5], "texts": ["", "%s"], "s": {"x": None, "y": None}, "deep": None},
        {"id": 6, "k": "b", "i": None, "j": 4, "big": None, "f": 0.15, "t": "no", "u": None, "ok": False,
         "at": None, "then": at("2026-11-21T03:12:46"), "l": None, "m": [1], "texts": None,
         "s": {"x": 0, "y": "z"}, "deep": {"s": {"x": 1}}},
    ],
    SCHEMA,
)  # fmt: skip


Case = Callable[[Engine], Any]


def _functions(cases: dict[str, Callable[[Any], Any]]) -> dict[str, Case]:
    return {name: lambda engine, case=case: case(engine.sf) for name, case in cases.items()}


OPERATORS = _functions({
    "add": lambda sf: sf.col("i") + sf.col("j"),
    "add one": lambda sf: sf.col("i") + 1,
    "add to bigint": lambda sf: sf.col("big") + sf.col("i"),
    "subtract": lambda sf: sf.col("i") - 1,
    "subtract from": lambda sf: 1 - sf.col("i"),
    "multiply": lambda sf: sf.col("i") * 100,
    "multiply bigint": lambda sf: sf.col("big") * 1000,
    "divide": lambda sf: sf.col("i") / sf.col("j"),
    "divide bigint": lambda sf: sf.col("big") / 64,
    "share": lambda sf: sf.round(sf.col("i") * 100 / sf.col("j"), 1),
    "negate": lambda sf: -sf.col("i"),
    "negate bigint": lambda sf: -sf.col("big"),
    "compare": lambda sf: sf.col("i") < sf.col("j"),
    "equal": lambda sf: sf.col("i") == 7,
    "unequal": lambda sf: sf.col("t") != "",
    "compare texts": lambda sf: sf.col("t") <= sf.col("u"),
    "equal arrays": lambda sf: sf.col("l") == sf.col("m"),
    "unequal arrays": lambda sf: sf.col("l") != sf.col("m"),
    "and": lambda sf: sf.col("ok") & (sf.col("i") > 0),
    "or": lambda sf: sf.col("ok") | (sf.col("i") > 0),
    "not": lambda sf: ~sf.col("ok"),
    "null": lambda sf: sf.col("ok").isNull(),
    "not null": lambda sf: sf.col("s").isNotNull(),
    "in": lambda sf: sf.col("i").isin(7, 0),
    "texts in": lambda sf: sf.col("t").isin("it's", "", "no"),
    "between": lambda sf: sf.col("i").between(-7, sf.col("j")),
    "time apart": lambda sf: sf.col("at") - sf.col("then") > timedelta(seconds=1),
    "time before": lambda sf: sf.col("at") - timedelta(days=31, milliseconds=1),
    "time after": lambda sf: sf.col("at") + timedelta(microseconds=1),
    "equal structs": lambda sf: sf.struct(sf.col("i").alias("a")) == sf.struct(sf.col("j").alias("a")),
    "time since": lambda sf: sf.col("at") > sf.lit(at("1969-12-31T23:59:59.999499")),
    "field": lambda sf: sf.col("s")["y"],
    "field by name": lambda sf: sf.col("s.x"),
    "field of a field": lambda sf: sf.col("deep.s.x"),
    "compare structs": lambda sf: sf.struct("i", "j") < sf.struct("j", "i"),
    "structs with nulls": lambda sf: sf.struct(sf.col("i"), sf.lit(1)) <= sf.struct(sf.lit(0), sf.col("j")),
    "text to int": lambda sf: sf.when(sf.col("id") == 1, "-12").cast("int"),
    "flag to int": lambda sf: sf.col("ok").cast("int"),
    "flag to text": lambda sf: sf.col("ok").cast("string"),
    "double to bigint": lambda sf: sf.col("f").cast("bigint"),
    "half to bigint": lambda sf: (sf.col("i") / 2).cast("bigint"),
    "int to bigint": lambda sf: sf.col("i").cast("bigint"),
    "bigint to text": lambda sf: sf.col("big").cast("string"),
    "ints to texts": lambda sf: sf.col("l").cast("array<string>"),
    "no ints": lambda sf: sf.array().cast("array<int>"),
    "null to text": lambda sf: sf.lit(None).cast("string"),
    "null to time": lambda sf: sf.lit(None).cast("timestamp_ntz"),
})  # fmt: skip

FUNCTIONS = _functions({
    "lit": lambda sf: sf.lit("it's ü😀\n"),
    "lit int": lambda sf: sf.lit(2**31 - 1),
    "lit bigint": lambda sf: sf.lit(2**31),
    "lit least int": lambda sf: sf.lit(-(2**31)),
    "lit flag": lambda sf: sf.lit(col=True),
    "lit time": lambda sf: sf.lit(at("1969-12-31T23:59:59.999500")).cast("timestamp_ntz"),
    "when": lambda sf: sf.when(sf.col("i") > 1, "b").when(sf.col("ok"), "c"),
    "otherwise": lambda sf: sf.when(sf.col("i") > 1, sf.col("big")).otherwise(0),
    "when of a struct": lambda sf: sf.when(sf.col("i") > 1, sf.struct("i", "t")),
    "coalesce": lambda sf: sf.coalesce("i", "j", sf.lit(0)),
    "coalesce widens": lambda sf: sf.coalesce("i", "big"),
    "struct": lambda sf: sf.struct("i", sf.col("t").alias("name"), "s.x"),
    "struct with null": lambda sf: sf.struct(sf.lit(None).cast("int").alias("n")),
    "array": lambda sf: sf.array("i", sf.col("j"), sf.lit(3)),
    "array of structs": lambda sf: sf.array(sf.struct("i"), sf.struct("i")),
    "size": lambda sf: sf.size("l"),
    "array_sort": lambda sf: sf.array_sort("l"),
    "array_sort texts": lambda sf: sf.array_sort("texts"),
    "array_distinct": lambda sf: sf.array_sort(sf.array_distinct("l")),
    "array_except": lambda sf: sf.array_except("l", "m"),
    "array_contains": lambda sf: sf.array_contains("l", 3),
    "array_contains column": lambda sf: sf.array_contains("m", sf.col("i")),
    "array_join": lambda sf: sf.array_join("texts", ", "),
    "array_join ints": lambda sf: sf.array_join(sf.col("l").cast("array<string>"), "'"),
    "flatten": lambda sf: sf.when(sf.size("l") + sf.size("m") >= 0, sf.flatten(sf.array("l", "m"))),
    "element_at": lambda sf: sf.when(sf.size("l") > 1, sf.element_at("l", 2)),
    "get": lambda sf: sf.get("l", sf.lit(2)),
    "get before": lambda sf: sf.get("l", sf.lit(-1)),
    "get last": lambda sf: sf.get("l", sf.size("l") - 1),
    "get a field": lambda sf: sf.get(sf.array(sf.struct("i", "t")), sf.lit(0))["t"],
    "slice": lambda sf: sf.slice("l", 2, 2),
    "filter": lambda sf: sf.filter("l", lambda each: each > 1),
    "filter by a column": lambda sf: sf.filter("l", lambda each: (each < sf.col("i")) | (each == 3)),
    "exists": lambda sf: sf.exists("l", lambda each: each == sf.col("j") + 1),
    "exists in exists": lambda sf: sf.exists("l", lambda one: sf.exists("m", lambda other: one < other)),
    "greatest": lambda sf: sf.greatest("i", "j", sf.lit(3)),
    "greatest widens": lambda sf: sf.greatest("i", "big"),
    "least": lambda sf: sf.least("at", "then"),
    "floor": lambda sf: sf.floor("f"),
    "floor of a division": lambda sf: sf.floor(sf.col("i") / sf.col("j")),
    "round": lambda sf: sf.round("f", 1),
    "round a half": lambda sf: sf.round(sf.lit(1005) / 1000, 2),
    "concat": lambda sf: sf.concat("t", sf.lit("-"), "u"),
    "concat numbers": lambda sf: sf.concat("i", sf.lit("/"), "big"),
    "printf": lambda sf: sf.printf(sf.lit("it's %s of %d, %s"), "t", "i", "big"),
    "substring": lambda sf: sf.substring("t", 2, 3),
    "substring of a combination": lambda sf: sf.substring("u", 2, 2),
    "substring from the start": lambda sf: sf.substring("t", 1, 2),
    "substring_index": lambda sf: sf.substring_index("t", "\n", 1),
    "substring_index of two": lambda sf: sf.substring_index("t", "'", 2),
    "regexp_replace": lambda sf: sf.regexp_replace("t", r"\d+", "#"),
    "startswith": lambda sf: sf.startswith("t", sf.col("u")),
    "endswith": lambda sf: sf.endswith("t", sf.lit("d")),
    "date_trunc second": lambda sf: sf.date_trunc("second", "at").cast("timestamp_ntz"),
    "date_trunc minute": lambda sf: sf.date_trunc("minute", "then").cast("timestamp_ntz"),
    "unix_millis": lambda sf: sf.unix_millis("at"),
    "unix_millis of old": lambda sf: sf.unix_millis("then"),
    "unix_seconds": lambda sf: sf.unix_seconds("at"),
})  # fmt: skip

AGGREGATES = _functions({
    "min": lambda sf: sf.min("i"),
    "max": lambda sf: sf.max("big"),
    "min text": lambda sf: sf.min("t"),
    "max text": lambda sf: sf.max("t"),
    "max time": lambda sf: sf.max("at"),
    "min flag": lambda sf: sf.min("ok"),
    "max flag": lambda sf: sf.max(sf.col("i") > 0),
    "min struct": lambda sf: sf.min(sf.struct("i", "t")),
    "max struct": lambda sf: sf.max(sf.struct("t", "i")),
    "min of some structs": lambda sf: sf.min(sf.when(sf.col("ok"), sf.struct("u", "i"))),
    "max of some structs": lambda sf: sf.max(sf.when(sf.col("ok").isNull(), sf.struct("u", "i"))),
    "max of nested structs": lambda sf: sf.max(sf.struct(sf.struct("u", "i").alias("key"), "j")),
    "max of a struct's field": lambda sf: sf.max(sf.struct("i", "t"))["t"],
    "max array": lambda sf: sf.max("l"),
    "min array": lambda sf: sf.min("l"),
    "max of arrays with nulls": lambda sf: sf.max(sf.array("i", "j")),
    "min of arrays with nulls": lambda sf: sf.min(sf.array("i", "j")),
    "sum": lambda sf: sf.sum("i"),
    "sum bigint": lambda sf: sf.sum("big"),
    "sum of sizes": lambda sf: sf.sum(sf.size("l")),
    "median": lambda sf: sf.median("i"),
    "median bigint": lambda sf: sf.median("big").cast("bigint"),
    "count": lambda sf: sf.count("*"),
    "count known": lambda sf: sf.count("i"),
    "count_if": lambda sf: sf.count_if(sf.col("ok")),
    "count_distinct": lambda sf: sf.count_distinct("i"),
    "count_distinct structs": lambda sf: sf.count_distinct(sf.struct("i", "j")),
    "collect_list": lambda sf: sf.array_sort(sf.collect_list("i")),
    "collect_list structs": lambda sf: sf.array_sort(sf.collect_list(sf.struct("id", "i"))),
    "collect_list arrays": lambda sf: sf.array_sort(sf.flatten(sf.collect_list("l"))),
    "collect_set": lambda sf: sf.array_sort(sf.collect_set("i")),
    "collect_set of none": lambda sf: sf.collect_set(sf.when(sf.col("i") > 100, sf.col("t"))),
    "min_by": lambda sf: sf.min_by("t", "id"),
    "min_by of null": lambda sf: sf.min_by("t", "big"),
    "max_by": lambda sf: sf.max_by("i", "id"),
    "max_by struct": lambda sf: sf.max_by("t", sf.struct("i", "id")),
    "min_by struct": lambda sf: sf.min_by(sf.struct("t", "i"), sf.struct("s.x", "id")),
    "aggregate in when": lambda sf: sf.when(sf.min("i") < 0, sf.max("t")).otherwise(sf.lit("none")),
    "aggregates in arithmetic": lambda sf: sf.coalesce(sf.sum("i"), sf.lit(0)) - sf.count("*"),
})  # fmt: skip


def _running(engine: Engine) -> Any:
    return engine.window.partitionBy("k").orderBy("i")


def _placed(engine: Engine) -> Any:
    return engine.window.partitionBy("k").orderBy(engine.sf.desc("i"), "id")


def _before(engine: Engine) -> Any:
    return _placed(engine).rowsBetween(engine.window.unboundedPreceding, -1)


def _after(engine: Engine) -> Any:
    return _placed(engine).rowsBetween(1, engine.window.unboundedFollowing)


WINDOWS: dict[str, Case] = {
    "sum with peers": lambda e: e.sf.sum("j").over(_running(e)),
    "sum before": lambda e: e.sf.sum("j").over(_before(e)),
    "count": lambda e: e.sf.count("*").over(_running(e)),
    "count of all": lambda e: e.sf.count("i").over(e.window.partitionBy("k")),
    "count_if": lambda e: e.sf.count_if(e.sf.col("ok")).over(_running(e)),
    "min": lambda e: e.sf.min("t").over(_running(e)),
    "max struct": lambda e: e.sf.max(e.sf.struct("i", "t")).over(_before(e)),
    "min struct": lambda e: e.sf.min(e.sf.struct("u", "id")).over(e.window.partitionBy("k")),
    "max_by": lambda e: e.sf.max_by("t", e.sf.struct("u", "id")).over(e.window.partitionBy("k")),
    "collect_set": lambda e: e.sf.array_sort(e.sf.collect_set("i").over(e.window.partitionBy("k"))),
    "last": lambda e: e.sf.last("t", ignorenulls=True).over(_before(e)),
    "first": lambda e: e.sf.first("big", ignorenulls=True).over(_after(e)),
    "lag": lambda e: e.sf.lag("l").over(_placed(e)),
    "lag two": lambda e: e.sf.lag("t", 2).over(_placed(e)),
    "lag struct": lambda e: e.sf.lag(e.sf.struct("i", "t")).over(_placed(e)),
    "lead": lambda e: e.sf.lead("at").over(_placed(e)),
    "row_number": lambda e: e.sf.row_number().over(_placed(e)),
    "without keys": lambda e: e.sf.sum("i").over(e.window.orderBy("id")),
    "by a condition": lambda e: e.sf.count("*").over(e.window.partitionBy(e.sf.col("i") > 0)),
    "by a struct": lambda e: e.sf.row_number().over(
        e.window.partitionBy("k").orderBy(e.sf.struct("s.x", "id"))
    ),
    "nulls first": lambda e: e.sf.row_number().over(e.window.orderBy(e.sf.col("t").asc_nulls_first(), "id")),
    "nulls last": lambda e: e.sf.row_number().over(e.window.orderBy(e.sf.desc("u"), "id")),
}

CASES = {
    "operators": OPERATORS,
    "functions": FUNCTIONS,
    "aggregates": AGGREGATES,
    "windows": WINDOWS,
}


def evaluated(frame: Any, engine: Engine, kind: str) -> Any:
    """The frame with a column for each case of a kind."""
    made = [case(engine).alias(name) for name, case in CASES[kind].items()]
    if kind == "aggregates":
        return frame.groupBy("k").agg(*made).orderBy("k")
    return frame.select("id", *made).orderBy("id")


class Columns(NamedTuple):
    """The columns of the same cases by either engine, here by each of its ways."""

    spark: pa.Table
    local: dict[str, pa.Table]


@pytest.fixture(scope="module")
def columns(spark: SparkSession) -> dict[str, Columns]:
    rows = spark.createDataFrame(TABLE, schema_of_spark(SCHEMA))
    return {
        kind: Columns(
            evaluated(rows, SPARK, kind).toArrow(), {way: evaluated_here(kind, way) for way in WAYS}
        )
        for kind in CASES
    }


def evaluated_here(kind: str, way: str) -> pa.Table:
    with WAYS[way]():
        return evaluated(Frame.of(TABLE), LOCAL, kind).toArrow()


@pytest.mark.spark
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, cases in CASES.items() for name in cases])
def test_a_column_is_that_of_spark(columns: dict[str, Columns], kind: str, name: str) -> None:
    spark = columns[kind].spark[name]
    for way, table in columns[kind].local.items():
        assert table[name].to_pylist() == spark.to_pylist(), way
        assert type_name(table[name].type) == type_name(spark.type), way


REFUSED = _functions({
    "division by zero": lambda sf: sf.col("i") / (sf.col("j") - 2),
    "division of a double by zero": lambda sf: sf.col("f") / (sf.col("j") - 2),
    "a text that is no number": lambda sf: sf.col("t").cast("int"),
    "a number that is too large": lambda sf: sf.col("big").cast("int"),
    "a sum that is too large": lambda sf: sf.col("i") + sf.lit(2**31 - 1),
    "a product that is too large": lambda sf: sf.col("i") * sf.lit(2**30),
})  # fmt: skip


@pytest.mark.spark
@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_spark_refuses_is_refused(spark: SparkSession, case: Case) -> None:
    with pytest.raises(PySparkException):
        spark.createDataFrame(TABLE, schema_of_spark(SCHEMA)).select(case(SPARK)).toArrow()
    for evaluated_so in WAYS.values():
        with evaluated_so(), pytest.raises(duckdb.Error):
            Frame.of(TABLE).select(case(LOCAL)).toArrow()
