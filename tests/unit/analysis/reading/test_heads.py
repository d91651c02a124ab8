"""The header of a line that is read alone, and the times of lines in the stock layout."""

from __future__ import annotations

from datetime import UTC

import numpy as np
import pytest

from barnabas.analysis.reading.grammar import LEVELS
from barnabas.analysis.reading.heads import NO_TIME, Heads, find_heads, no_heads, read_times
from barnabas.analysis.reading.text import Text
from barnabas.analysis.reading.times import Clock

STOCK = "[2026-11-21 03:12:45,678] {} [Broker id=1] a b (state.change.logger)"


def read(line: str) -> Heads:
    text = Text(f"{line}\n".encode())
    heads = no_heads(text)
    find_heads(text, np.array([0]), Clock(UTC), heads)
    return heads


@pytest.mark.parametrize("level", LEVELS)
def test_a_line_with_a_header_begins_an_entry(level: str) -> None:
    heads = read(STOCK.format(level))
    assert (heads.found.tolist(), heads.is_ours.tolist(), heads.start.tolist()) == ([True], [True], [0])
    assert LEVELS[heads.level[0]] == level
    assert heads.time.tolist() == [Clock(UTC).moment("2026-11-21 03:12:45,678")]


@pytest.mark.parametrize("front", ["kafka-1 | ", "брокер-1 | "])
def test_a_header_begins_behind_what_others_wrote_in_front(front: str) -> None:
    heads = read(front + STOCK.format("INFO"))
    assert heads.start.tolist() == [len(front.encode())]


def test_another_logger_s_line_is_not_ours() -> None:
    heads = read(STOCK.format("INFO").replace("state.change.logger", "kafka.server.KafkaServer"))
    assert (heads.found.tolist(), heads.is_ours.tolist()) == ([True], [False])
    assert heads.alone[0].logger == "kafka.server.KafkaServer"


@pytest.mark.parametrize(
    "line", ["\tat x", "", STOCK.format("LOUD"), STOCK.format("INFO").replace("03:12:45", "03:1x:45")]
)
def test_no_header_is_no_header(line: str) -> None:
    heads = read(line)
    assert (heads.found.tolist(), heads.alone) == ([False], {})


def test_a_day_that_does_not_exist_has_no_time() -> None:
    assert read(STOCK.format("INFO").replace("11-21", "11-31")).time.tolist() == [NO_TIME]


def test_times_of_many_lines_are_read_at_once() -> None:
    times = ("11-21 03:12:45,678", "11-21 03:13:00,001", "11-31 03:12:45,678", "11-21 03:12:59,999")
    stamps = [f"2026-{time}" for time in times]
    text = Text("".join(f"[{stamp}] INFO\n" for stamp in stamps).encode())
    clock = Clock(UTC)
    meant = [clock.moment(stamp) or NO_TIME for stamp in stamps]
    assert read_times(text, text.start, clock).tolist() == meant
    assert read_times(text, text.start[:0], clock).tolist() == []
