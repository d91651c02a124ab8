"""Spark and this process compute the same tables and answers."""

from __future__ import annotations

import os
import re
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as spark_functions

from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.derived.schemas import DERIVED_ARROW
from barnabas.analysis.derived.store import derive_each, derive_here
from barnabas.analysis.local import database
from barnabas.analysis.local import functions as local_functions
from barnabas.analysis.local.windows import Window as LocalWindow
from barnabas.analysis.questions.catalog import QUESTIONS
from barnabas.analysis.report.document import Document, gather
from barnabas.analysis.runtime.engine import (
    Window,
    first_of,
    framed,
    held,
    in_tasks,
    in_this_process,
    kept,
    matching,
    rows_of,
    sf,
    stored,
)
from barnabas.analysis.scan import write_few_events
from barnabas.analysis.sources import find
from barnabas.bench.logs.state_change_logs import write_logs
from tests.unit.analysis.conftest import killed_logs

_LEADS = (
    "INFO [Broker id=1] Leader only-0 with topic id Some(iFjYi-ETSkKhMbbudMW5wg) starts at leader epoch {0} "
    "from offset 0 with partition epoch {0}, high watermark 0, ISR [1], adding replicas [] and removing "
    "replicas [] . Previous leader None and previous leader epoch was -1. (state.change.logger)\n"
)
KRAFT = (
    f"[2026-11-25 10:00:00,100] {_LEADS.format(0)}"
    "[2026-11-25 10:01:07,700] INFO [Broker id=1] Transitioning 1 partition(s) to local followers. "
    "(state.change.logger)\n"
    "[2026-11-25 10:01:08,400] INFO [Broker id=1] Follower only-0 starts at leader epoch 1 from offset 0 "
    "with partition epoch 1 and high watermark 0. Current leader is -1. Previous leader Some(1) and previous "
    "leader epoch was 0. (state.change.logger)\n"
    f"[2026-11-25 10:01:09,400] {_LEADS.format(2)}"
)
"""A broker of KRaft reads after its return that its partition had no leader meanwhile."""

GOLDEN = "2.8-controller-and-leader-lost"
"""One of the incidents of ``story/golden``."""


class Both(NamedTuple):
    """The tables of the same lines by Spark and by this process, and the folder of the latter's files."""

    spark: dict[str, DataFrame]
    here: dict[str, DataFrame]
    folder: Path


@pytest.fixture(scope="module", params=["bench", GOLDEN])
def both(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Both:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "bench":
        write_logs(folder / "logs", 300)
        for number, text in enumerate((*killed_logs(), KRAFT)):
            log = folder / "logs" / f"by-hand-{number}" / "state-change.log"
            log.parent.mkdir()
            log.write_text(text, encoding="utf-8")
    else:
        path = Path(__file__).parents[1] / "story" / "golden" / f"{request.param}.txt"
        _, *parts = re.split(r"^== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for name, text in (part.split("\n", 1) for part in parts):
            log = folder / "logs" / name
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(text, encoding="utf-8")
    for place in ("spark", "here"):
        write_few_events(find([folder / "logs"]), folder / place / "events")
    with in_this_process(), derive_here(folder / "here") as tables:
        here = dict(tables)
    (deriving,) = derive_each(spark, folder / "spark")
    with deriving as tables:
        return Both(dict(tables), here, folder / "here")


def in_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(str(sorted(row.items())) for row in rows)


@pytest.mark.spark
def test_the_tables_are_equal(both: Both) -> None:
    for table in DERIVED:
        rows = both.spark[table.name].toArrow()
        assert columns(rows.schema) == columns(DERIVED_ARROW[table.name]), table.name
        assert in_order(rows_of(both.here[table.name])) == in_order(rows.to_pylist()), table.name
        assert in_order(pq.read_table(both.folder / table.name).to_pylist()) == in_order(rows.to_pylist())


@pytest.mark.spark
def test_the_reports_are_equal(both: Both) -> None:
    with in_this_process():
        here = gather(nullcontext(both.here))
    spark = gather(nullcontext(both.spark))
    for question in QUESTIONS:
        assert here.answers[question.name] == spark.answers[question.name], question.name
    for field in fields(Document):
        assert getattr(here, field.name) == getattr(spark, field.name), field.name


def columns(schema: pa.Schema) -> list[tuple[str, str]]:
    """The names and types; which columns are never null is nowhere relied on."""
    return [(field.name, str(field.type).replace(" not null", "")) for field in schema]


def test_the_engine_is_that_of_the_block() -> None:
    with in_this_process():
        assert sf.lit is local_functions.lit
        assert Window.orderBy("a").__class__ is LocalWindow
    assert sf.lit is spark_functions.lit


@pytest.mark.spark
@pytest.mark.parametrize("counted", [1, 3, 10])
def test_first_rows_come_with_the_number_of_all(spark: SparkSession, counted: int) -> None:
    table = pa.table({"a": [3, 1, 2]})
    for frame in (spark.createDataFrame(table).orderBy("a"), framed(table).orderBy("a")):
        assert first_of(frame, 2, counted) == ([{"a": 1}, {"a": 2}], 3)


@pytest.mark.spark
def test_a_frame_is_held_until_the_end_of_the_block(spark: SparkSession) -> None:
    frame = spark.createDataFrame(pa.table({"a": [1]}))
    with held(frame):
        assert frame.is_cached
    assert not frame.is_cached
    local = framed(pa.table({"a": [1]}))
    with held(local) as kept:
        assert kept is local


@pytest.mark.spark
def test_queries_run_in_tasks_until_the_end_of_the_block(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pa.table({"a": pa.array([3, 1, 2], pa.int32())})
    with in_tasks(spark, tmp_path / "aside"):
        frame = framed(rows).where(sf.col("a") > 1)
        again = kept(frame, tmp_path / "table", rows.schema)
        assert sorted(row["a"] for row in rows_of(again)) == [2, 3]
        assert stored(tmp_path / "table", rows.schema).count() == 2
        # A function that is not a module's is pickled by value, so the task calls it as it is here.
        monkeypatch.setattr(database, "_rows", lambda sql, given: os.getpid())
        assert rows_in(frame) != os.getpid()
        assert (tmp_path / "aside").is_dir()
    assert rows_in(frame) == os.getpid()
    assert not (tmp_path / "aside").exists()


def rows_in(frame: DataFrame) -> Any:
    """What the database gives for the rows of a frame."""
    local: Any = frame
    return local.toArrow()


def test_rows_of_either_engine_are_found_by_keys() -> None:
    with in_this_process():
        frame = framed(pa.table({"a": [1, 2, 2], "b": ["x", "y", "z"]}))
        assert rows_of(matching(frame, pa.table({"a": [2]}))) == [{"a": 2, "b": "y"}, {"a": 2, "b": "z"}]
