"""Logs that grow, roll, rest and vanish are read once each."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from analysis.growing import (
    GrowingLogs,
    GrowingLogsSource,
    Log,
    Range,
    find_logs,
    noted,
    unreadable,
    whole_until,
)
from analysis.tables import EVENTS

LINE = (
    "[2026-11-21 03:12:45,{:03}] INFO [Broker id=1] Handling StopReplica request correlationId {} "
    "from controller 1 for 2 partitions (state.change.logger)\n"
)


def line(number: int) -> str:
    return LINE.format(number, number)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "state-change.log"


def rows(reader: GrowingLogs, start: dict[str, int]) -> tuple[dict[str, int], list[int]]:
    end = reader.latestOffset(start, None)
    found = []
    for part in reader.partitions(start, end):
        for batch in reader.read(part):
            found += batch["correlation_id"].to_pylist()
    return end, found


def reader(folder: Path, rest_s: float = 1e9) -> GrowingLogs:
    source = GrowingLogsSource(
        {
            "paths": str(folder),
            "zone": "UTC",
            "broker": "",
            "rest_s": str(rest_s),
            "notes": str(folder / "notes"),
        }
    )
    assert source.schema() == EVENTS
    made = source.streamReader(EVENTS)
    assert isinstance(made, GrowingLogs)
    return made


def test_the_last_entry_waits_for_the_next(log: Path, tmp_path: Path) -> None:
    log.write_text(line(1) + line(2))
    here = reader(tmp_path)
    place, found = rows(here, here.initialOffset())
    assert found == [1]
    with log.open("a") as file:
        file.write("x.Y: z\n" + line(3))
    place, found = rows(here, place)
    assert found == [2]
    assert rows(here, place)[1] == []


def test_a_rolled_log_is_read_to_its_end_and_its_successor_from_its_begin(log: Path, tmp_path: Path) -> None:
    log.write_text(line(1) + line(2))
    here = reader(tmp_path)
    place, _ = rows(here, here.initialOffset())
    log.rename(tmp_path / "state-change.log.2026-11-21-03")
    log.write_text(line(3) + line(4))
    place, found = rows(here, place)
    assert sorted(found) == [2, 3]
    # As after a restart: the place is all that is known.
    assert rows(reader(tmp_path), place)[1] == []


def test_a_log_that_rests_is_read_to_its_end(log: Path, tmp_path: Path) -> None:
    log.write_text(line(1))
    os.utime(log, (0, 0))
    place, found = rows(reader(tmp_path, 1.0), {"": 0})
    assert found == [1]
    with log.open("a") as file:
        file.write(line(2))
    os.utime(log, (0, 0))
    assert rows(reader(tmp_path, 1.0), place)[1] == [2]


def test_a_compressed_log_is_read_when_it_rests(tmp_path: Path) -> None:
    path = tmp_path / "state-change.log.1.gz"
    path.write_bytes(gzip.compress((line(1) + line(2)).encode() + os.urandom(64)))
    assert rows(reader(tmp_path), {"": 0})[1] == []
    os.utime(path, (0, 0))
    place, found = rows(reader(tmp_path, 1.0), {"": 0})
    assert found[:1] == [1]
    assert rows(reader(tmp_path, 1.0), place)[1] == []


def test_what_of_a_log_cannot_be_read_is_noted(tmp_path: Path) -> None:
    torn, odd = tmp_path / "state-change.log.1.gz", tmp_path / "state-change.log.2"
    torn.write_bytes(gzip.compress((line(1) * 9).encode())[:-9])
    odd.write_bytes(line(2).encode().replace(b"Handling", b"Handl\xffng") * 2)
    os.utime(torn, (0, 0))
    rows(reader(tmp_path, 1.0), {"": 0})
    notes = {Path(note["source"]).name: note for note in noted(tmp_path / "notes")}
    assert notes[torn.name]["error"] == "the compressed text ends early"
    assert (notes[odd.name]["error"], notes[odd.name]["replaced"]) == (None, 2)


def test_what_cannot_be_read_at_all_is_named(tmp_path: Path) -> None:
    (tmp_path / "state-change.log").symlink_to(tmp_path / "gone")
    named = f"{tmp_path / 'state-change.log'}: No such file or directory"
    assert unreadable([str(tmp_path)]) == {named}
    assert unreadable([str(tmp_path / "gone.log"), str(tmp_path / "*.gz")]) == frozenset()


def test_a_glob_names_what_fits_it_now(log: Path, tmp_path: Path) -> None:
    log.write_text(line(1))
    (found,) = find_logs([str(tmp_path / "*.log")], 0.0).values()
    assert found.path == log


def test_a_log_that_is_gone_keeps_its_place(log: Path, tmp_path: Path) -> None:
    log.write_text(line(1) + line(2))
    here = reader(tmp_path)
    place, _ = rows(here, here.initialOffset())
    log.unlink()
    assert rows(here, place) == (place, [])


def test_a_log_of_a_few_bytes_is_left_for_later(log: Path, tmp_path: Path) -> None:
    log.write_text("[2026")
    assert find_logs([str(tmp_path), str(tmp_path / "gone.log")], 0) == {}


def test_of_a_long_tail_only_whole_lines_count(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.growing._TAIL_BYTES", 200)
    text = line(1) + line(2) + line(3)
    log.write_text(text)
    found = Log(log, len(text), is_closed=False)
    assert whole_until(found, 0) == len(line(1) + line(2))
    assert whole_until(found, len(text)) == len(text)


def test_only_ranges_are_read(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="expected a range"):
        next(reader(tmp_path).read(object()))
    assert Range("a", 1, 2).end == 2
