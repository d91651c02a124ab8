"""Logs that grow, roll, rest and vanish are read once each."""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path

import pytest

from barnabas.analysis.growing import Log, added_blocks, find_logs, whole_until
from barnabas.analysis.reading.splits import Split

LINE = (
    "[2026-11-21 03:12:45,{:03}] INFO [Broker id=1] Handling StopReplica request correlationId {} "
    "from controller 1 for 2 partitions (state.change.logger)\n"
)


def line(number: int) -> str:
    return LINE.format(number, number)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "state-change.log"


def rows(roots: Path, start: dict[str, int], rest_s: float = 1e9) -> tuple[dict[str, int], list[int]]:
    """How far the logs can be read now, and the numbers of the lines that were added since ``start``."""
    logs = find_logs([str(roots)], rest_s)
    end = start | {key: whole_until(log, start.get(key, 0)) for key, log in logs.items()}
    text = b"".join(
        block
        for key, log in logs.items()
        if end[key] > start.get(key, 0)
        for block in added_blocks(Split(str(log.path), start.get(key, 0), end[key]))
    )
    return end, [int(number) for number in re.findall(rb"correlationId (\d+)", text)]


def test_the_last_entry_waits_for_the_next(log: Path, tmp_path: Path) -> None:
    log.write_text(line(1) + line(2))
    place, found = rows(tmp_path, {})
    assert found == [1]
    with log.open("a") as file:
        file.write("x.Y: z\n" + line(3))
    place, found = rows(tmp_path, place)
    assert found == [2]
    assert rows(tmp_path, place)[1] == []


def test_a_rolled_log_is_read_to_its_end_and_its_successor_from_its_begin(log: Path, tmp_path: Path) -> None:
    log.write_text(line(1) + line(2))
    place, _ = rows(tmp_path, {})
    log.rename(tmp_path / "state-change.log.2026-11-21-03")
    log.write_text(line(3) + line(4))
    place, found = rows(tmp_path, place)
    assert sorted(found) == [2, 3]
    assert rows(tmp_path, place)[1] == []


def test_a_log_that_rests_is_read_to_its_end(log: Path, tmp_path: Path) -> None:
    log.write_text(line(1))
    os.utime(log, (0, 0))
    place, found = rows(tmp_path, {}, 1.0)
    assert found == [1]
    with log.open("a") as file:
        file.write(line(2))
    os.utime(log, (0, 0))
    assert rows(tmp_path, place, 1.0)[1] == [2]


def test_a_line_that_is_half_written_waits_for_its_end(log: Path, tmp_path: Path) -> None:
    log.write_text(line(1) + line(2)[:-9])
    os.utime(log, (0, 0))
    place, found = rows(tmp_path, {}, 1.0)
    assert found == [1]
    with log.open("a") as file:
        file.write(line(2)[-9:] + line(3)[:-9])
    rolled = log.rename(tmp_path / "state-change.log.2026-11-21-03")
    place, found = rows(tmp_path, place, 1.0)
    assert found == [2]
    # Nobody will write to a log that was rolled long ago.
    os.utime(rolled, (0, 0))
    assert rows(tmp_path, place, 1.0)[1] == [3]


def test_a_compressed_log_is_read_when_it_rests(tmp_path: Path) -> None:
    path = tmp_path / "state-change.log.1.gz"
    path.write_bytes(gzip.compress((line(1) + line(2)).encode() + os.urandom(64)))
    assert rows(tmp_path, {})[1] == []
    os.utime(path, (0, 0))
    place, found = rows(tmp_path, {}, 1.0)
    assert found == [1, 2]
    assert rows(tmp_path, place, 1.0)[1] == []


def test_what_cannot_be_read_at_all_is_named(tmp_path: Path) -> None:
    (tmp_path / "state-change.log").symlink_to(tmp_path / "gone")
    unreadable: list[str] = []
    assert (
        find_logs([str(tmp_path), str(tmp_path / "gone.log"), str(tmp_path / "*.gz")], 0.0, unreadable) == {}
    )
    assert unreadable == [f"{tmp_path / 'state-change.log'}: No such file or directory"]


def test_a_glob_names_what_fits_it_now(log: Path, tmp_path: Path) -> None:
    log.write_text(line(1))
    (found,) = find_logs([str(tmp_path / "*.log")], 0.0).values()
    assert found.path == log


def test_a_log_that_is_gone_keeps_its_place(log: Path, tmp_path: Path) -> None:
    log.write_text(line(1) + line(2))
    place, _ = rows(tmp_path, {})
    log.unlink()
    assert rows(tmp_path, place) == (place, [])


def test_a_log_of_a_few_bytes_is_left_for_later(log: Path, tmp_path: Path) -> None:
    log.write_text("[2026")
    assert find_logs([str(tmp_path), str(tmp_path / "gone.log")], 0) == {}


def test_of_a_long_tail_only_whole_lines_count(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.analysis.growing._TAIL_BYTES", 200)
    text = line(1) + line(2) + line(3)
    log.write_text(text)
    found = Log(log, len(text), is_closed=False, is_whole=False)
    assert whole_until(found, 0) == len(line(1) + line(2))
    assert whole_until(found, len(text)) == len(text)
