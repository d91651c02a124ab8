"""The logs are the same each time, and the analysis understands each line of them."""

from __future__ import annotations

import hashlib
from datetime import UTC
from pathlib import Path
from typing import Any

from barnabas.analysis.reading.blocks import BlockReader, Origin
from barnabas.analysis.reading.times import Clock
from barnabas.bench.logs.state_change_logs import write_logs
from barnabas.cluster.model.statechange import Kind


def test_they_are_deterministic_and_understood(tmp_path: Path) -> None:
    paths = write_logs(tmp_path / "a", 5_000)
    again = write_logs(tmp_path / "b", 5_000)
    digests = [[hashlib.sha256(path.read_bytes()).hexdigest() for path in each] for each in (paths, again)]
    assert digests[0] == digests[1]
    reader = BlockReader(Clock(UTC), lambda _: None)
    tables = [reader.read(path.read_bytes(), Origin("a", 0, 1)).rows for path in paths]
    assert sum(table.num_rows for table in tables) >= 5_000
    assert all(table["understood"].true_count == table.num_rows for table in tables)
    assert sum(len(table) - table["trace"].null_count for table in tables) > 0


def test_the_states_of_a_partition_follow_on_each_other(tmp_path: Path) -> None:
    controller = write_logs(tmp_path, 20_000)[0]
    rows = BlockReader(Clock(UTC), lambda _: None).read(controller.read_bytes(), Origin("a", 0, 1)).rows
    former: dict[tuple[str, int], dict[str, Any]] = {}
    for row in rows.to_pylist():
        if row["kind"] == Kind.PARTITION_ONLINE:
            before = former.get((row["topic"], row["partition"]))
            if before is not None:
                assert row["leader_epoch"] == before["leader_epoch"] + 1
                assert row["version"] > before["version"]
                assert row["leader"] in before["isr"]
            former[row["topic"], row["partition"]] = row
    assert max(row["leader_epoch"] for row in former.values()) > 1
