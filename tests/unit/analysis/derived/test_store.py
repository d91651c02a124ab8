"""The derived tables in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from barnabas.analysis.derived import store
from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.derived.schemas import DERIVED_ARROW
from barnabas.analysis.runtime.engine import in_tasks, in_this_process, kept


@pytest.mark.usefixtures("here")
def test_tables_lie_beside_the_events_and_replace_former_ones(
    story: Mapping[str, DataFrame], stored: Path
) -> None:
    assert {folder.name for folder in stored.iterdir()} == {"events", *(table.name for table in DERIVED)}
    for table in DERIVED[:3]:
        computed = table.of(story)
        assert computed.columns == story[table.name].columns
        assert sorted(map(str, computed.collect())) == sorted(map(str, story[table.name].collect()))


@pytest.mark.spark
@pytest.mark.parametrize("by", ["spark", "tasks"])
def test_all_engines_write_the_same_tables(
    spark: SparkSession, stored: Path, tmp_path: Path, by: str
) -> None:
    (tmp_path / "events").symlink_to(stored / "events")
    if by == "spark":
        (deriving,) = store.derive_each(spark, tmp_path)
        with deriving:
            pass
    else:
        with in_tasks(spark, tmp_path / "aside"), store.derive_here(tmp_path):
            pass
    for table in DERIVED:
        here, there = (spark.read.parquet(str(folder / table.name)) for folder in (stored, tmp_path))
        assert here.schema == there.schema, table.name
        assert sorted(map(str, here.collect())) == sorted(map(str, there.collect())), table.name


def test_several_queries_write_a_table_of_many_lines(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "events").symlink_to(stored / "events")
    monkeypatch.setattr(store, "_PART", pq.read_table(stored / "events").num_rows // 3)
    for _ in range(2):
        with in_this_process(), store.derive_here(tmp_path):
            pass
    assert len([*(tmp_path / "states").glob("*.parquet")]) == 4
    for table in DERIVED:
        whole, parted = (pq.read_table(folder / table.name).to_pylist() for folder in (stored, tmp_path))
        assert sorted(map(str, whole)) == sorted(map(str, parted)), table.name
    assert {folder.name for folder in tmp_path.iterdir()} == {"events", *(table.name for table in DERIVED)}


def test_a_table_is_given_when_it_is_written_though_others_are_not(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "events").symlink_to(stored / "events")
    asked = Event()

    def keep(frame: DataFrame, folder: Path, schema: pa.Schema) -> DataFrame:
        assert folder.name != "states" or asked.wait(60)
        return kept(frame, folder, schema)

    monkeypatch.setattr(store, "kept", keep)
    with in_this_process(), store.derive_here(tmp_path) as tables:
        assert set(tables) == {"events", *(table.name for table in DERIVED)}
        assert tables["lives"].columns == DERIVED_ARROW["lives"].names
        assert not (tmp_path / "states").exists()
        asked.set()
    assert all((tmp_path / name).is_dir() for name in tables)


def test_an_exception_in_the_block_cancels_the_tables_that_wait(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "events").symlink_to(stored / "events")
    begun, left = Event(), Event()

    def keep(frame: DataFrame, folder: Path, schema: pa.Schema) -> DataFrame:
        if folder.name == "states":
            begun.set()
            assert left.wait(60)
        return kept(frame, folder, schema)

    def interrupted() -> None:
        with in_this_process(), store.derive_here(tmp_path) as tables:
            assert begun.wait(60)
            waiting.append(tables)
            pool.submit(lambda: tables["isr"]).add_done_callback(lambda _: left.set())
            raise KeyboardInterrupt

    waiting: list[Mapping[str, DataFrame]] = []
    monkeypatch.setattr(store, "kept", keep)
    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not (tmp_path / "isr").exists()


def test_a_table_that_cannot_be_computed_ends_the_block_with_its_error(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def keep(frame: DataFrame, folder: Path, schema: pa.Schema) -> DataFrame:
        raise OSError("the disk is full")

    (tmp_path / "events").symlink_to(stored / "events")
    monkeypatch.setattr(store, "kept", keep)
    with in_this_process(), pytest.raises(OSError, match="the disk is full"), store.derive_here(tmp_path):
        pass


def test_a_table_of_few_rows_is_known_by_its_files(tmp_path: Path) -> None:
    assert store.has_few(tmp_path, 0)
    for number in (2, 3):
        pq.write_table(pa.table({"a": list(range(number))}), tmp_path / f"{number}.parquet")
    assert [store.has_few(tmp_path, most) for most in (4, 5)] == [False, True]
