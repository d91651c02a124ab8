"""Only what is named at the end becomes the table."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from barnabas.analysis.reading.events.tables import EVENTS_ARROW, EVENTS_CODED
from barnabas.analysis.reading.files.parts import PartWriter, commit, prepare, write_files


def rows(count: int) -> pa.RecordBatch:
    arrays = [pa.nulls(count, field.type) for field in EVENTS_CODED]
    return pa.RecordBatch.from_arrays(arrays, schema=EVENTS_CODED)


def write(folder: Path, name: str, count: int) -> str | None:
    with PartWriter(folder, name) as part:
        part.write(rows(count))
    return part.name


def test_only_named_parts_count(tmp_path: Path) -> None:
    folder = tmp_path / "events"
    prepare(folder)
    assert write(folder, "a.parquet", 2) == "a.parquet"
    write(folder, "left-by-a-lost-attempt.parquet", 3)
    commit(folder, ["a.parquet", None])
    assert sorted(path.name for path in folder.iterdir()) == ["_SUCCESS", "a.parquet"]
    table = pq.read_table(folder)
    assert (table.num_rows, table.schema) == (2, EVENTS_ARROW)


def test_a_part_that_failed_has_no_name(tmp_path: Path) -> None:
    prepare(tmp_path / "events")
    part = PartWriter(tmp_path / "events", "a.parquet")
    with pytest.raises(AttributeError), part:
        part.write(None)
    assert part.name is None


def test_a_table_without_rows_has_columns(tmp_path: Path) -> None:
    folder = tmp_path / "events"
    prepare(folder)
    with PartWriter(folder, "a.parquet") as part:
        pass
    assert part.name is None
    commit(folder, [part.name])
    assert pq.read_table(folder).schema == EVENTS_ARROW


def test_a_new_table_replaces_a_former_one(tmp_path: Path) -> None:
    folder = tmp_path / "events"
    for name in ("a.parquet", "b.parquet"):
        prepare(folder)
        commit(folder, [write(folder, name, 1)])
    assert sorted(path.name for path in folder.glob("*.parquet")) == ["b.parquet"]


def test_the_files_that_were_read_are_a_table_too(tmp_path: Path) -> None:
    row = {
        "source": "file:/a",
        "block": 0,
        "size": 9,
        "lines": 2,
        "entries": 1,
        "understood": 1,
        "replaced": 0,
    }
    for _ in range(2):
        write_files(tmp_path / "files", [row | {"broker": None, "error": "gone"}])
    assert pq.read_table(tmp_path / "files").to_pylist() == [row | {"broker": None, "error": "gone"}]
