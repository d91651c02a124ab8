"""The peer writes the table that the analysis writes."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from barnabas.analysis.reading.blocks import BlockReader, Origin
from barnabas.analysis.reading.files.parts import PartWriter, commit, prepare
from barnabas.analysis.reading.times import Clock
from barnabas.bench.logs.plain_reader import read_logs
from barnabas.bench.logs.state_change_logs import write_logs


def test_both_write_the_same_rows(tmp_path: Path) -> None:
    paths = write_logs(tmp_path, 3_000)
    rows = read_logs(paths, tmp_path / "peer.parquet")
    prepare(tmp_path / "events")
    reader = BlockReader(Clock(UTC), lambda _: None)
    with PartWriter(tmp_path / "events", "all.parquet") as part:
        for path in paths:
            part.write(reader.read(path.read_bytes(), Origin(path.as_uri(), 0, 1)).rows)
    commit(tmp_path / "events", [part.name])
    ours, theirs = pq.read_table(tmp_path / "events"), pq.read_table(tmp_path / "peer.parquet")
    assert theirs.num_rows == rows
    assert ours.to_pylist() == theirs.to_pylist()


@pytest.mark.parametrize(
    "text", ["[x] y", "[2026-11-21 03:12:45,678] INFO [Broker id=1] Leader x (state.change.logger)"]
)
def test_what_it_does_not_know_it_refuses(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.log").write_text(f"{text}\n")
    with pytest.raises(ValueError, match="a line"):
        read_logs([tmp_path / "a.log"], tmp_path / "a.parquet")
