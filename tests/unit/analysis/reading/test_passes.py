"""Of an hour that occurs twice, times that go back within a file are those of the second pass."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from barnabas.analysis.reading.blocks import BlockReader, Origin
from barnabas.analysis.reading.times import Clock

BERLIN = ZoneInfo("Europe/Berlin")
"""On 2024-10-27 the local time goes from 02:59:59 to 02:00:00."""


def utc(*blocks: str, zone: ZoneInfo = BERLIN, splits: tuple[int, ...] = (0, 0)) -> list[str]:
    """The times in UTC of the lines that a file's blocks hold, by their local times."""
    reader, found = BlockReader(Clock(zone), lambda _: None), []
    for block, split in zip(blocks, splits, strict=False):
        lines = "".join(
            f"[2024-10-27 {time},000] INFO starting (kafka.server.KafkaServer)\n" for time in block.split()
        )
        rows = reader.read(lines.encode(), Origin("file:///server.log", split, 1)).rows
        found.extend(f"{time:%H:%M:%S}" for time in rows["time"].to_pylist())
    return found


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        # A broker is killed at 02:50 and starts at 02:05, 15 minutes later.
        ("01:00:00 02:49:59 02:05:00 02:05:10 03:00:00", "23:00:00 00:49:59 01:05:00 01:05:10 02:00:00"),
        ("02:10:00 02:50:00", "00:10:00 00:50:00"),
        # Threads write their lines in a little disorder.
        ("02:10:01 02:10:00 02:11:00", "00:10:01 00:10:00 00:11:00"),
        # A file that goes back from another hour has lines of two logs.
        ("02:10:00 03:10:00 02:05:00", "00:10:00 02:10:00 00:05:00"),
        ("05:00:00 02:05:00", "04:00:00 00:05:00"),
    ],
)
def test_times_that_go_back_are_of_the_second_pass(times: str, expected: str) -> None:
    assert utc(times) == expected.split()


def test_a_pass_goes_on_in_the_next_block_of_a_split() -> None:
    assert utc("02:49:59 02:05:00", "02:06:00 02:55:00") == ["00:49:59", "01:05:00", "01:06:00", "01:55:00"]
    assert utc("02:49:59", "02:05:00") == ["00:49:59", "01:05:00"]
    assert utc("02:49:59", "02:05:00", splits=(0, 99)) == ["00:49:59", "00:05:00"]
    assert utc("02:49:59 02:05:00 03:00:00", "02:06:00")[-1] == "00:06:00"


def test_a_zone_whose_clocks_are_not_set_back_has_one_pass() -> None:
    assert utc("02:49:59 02:05:00", zone=ZoneInfo("UTC")) == ["02:49:59", "02:05:00"]
