"""Headers in the stock layout are found at once, all others alone."""

from __future__ import annotations

from datetime import UTC

import numpy as np
import pytest

from analysis.bytewise import MARGIN, Text
from analysis.entries import LEVELS, NO_TIME, Heads, Lines, find_blanks, find_heads, find_lines, no_heads
from analysis.times import Clock

STOCK = "[2026-11-21 03:12:45,678] {} [Broker id=1] a b (state.change.logger)"


def read(text: str) -> tuple[Lines, Heads]:
    data = f"{text}\n".encode()
    whole = Text(data)
    lines = find_lines(whole, len(data))
    heads, everyone = no_heads(lines), np.arange(len(lines.start))
    find_heads(whole, lines, find_blanks(whole, lines, everyone), everyone, clock=Clock(UTC), heads=heads)
    return lines, heads


def test_lines_end_before_their_ends_of_line() -> None:
    lines, _ = read("a b\r\n\nc\r")
    assert (lines.start - MARGIN).tolist() == [0, 5, 6]
    assert (lines.end - MARGIN).tolist() == [3, 5, 7]


@pytest.mark.parametrize("level", LEVELS)
def test_the_stock_layout_needs_no_second_look(level: str) -> None:
    text = STOCK.format(level)
    _, heads = read(text)
    assert heads.found.tolist() == [True]
    assert heads.is_ours.tolist() == [True]
    assert heads.others == {}
    assert LEVELS[heads.level[0]] == level
    message = slice(int(heads.message_start[0]) - MARGIN, int(heads.message_end[0]) - MARGIN)
    assert (text[message], heads.words.tolist()) == ("[Broker id=1] a b", [4])


@pytest.mark.parametrize(
    "text",
    [
        f"kafka-1 | {STOCK.format('INFO')}",
        STOCK.format("[main]").replace("] [main]", "] INFO [main]"),
        STOCK.format(" INFO"),
        STOCK.format("INFO") + " [main]",
        f"брокер-1 | {STOCK.format('INFO')}",
    ],
)
def test_another_layout_is_looked_at_alone(text: str) -> None:
    _, heads = read(text)
    assert list(heads.others) == [0]
    message = slice(int(heads.message_start[0]) - MARGIN, int(heads.message_end[0]) - MARGIN)
    assert (text.encode()[message], heads.words.tolist()) == (b"[Broker id=1] a b", [4])


@pytest.mark.parametrize(
    "text",
    [
        "\tat x",
        "",
        STOCK.format("INFO").replace("03:12:45", "03:1x:45"),
        STOCK.format("LOUD"),
        STOCK.format("INFO").replace("21 03", "21\t03"),
        STOCK.format("INFO").replace("INFO ", "INFO\t"),
    ],
)
def test_no_header_is_no_header(text: str) -> None:
    _, heads = read(text)
    assert heads.found.tolist() == [False]


def test_a_day_that_does_not_exist_has_no_time() -> None:
    _, heads = read(STOCK.format("INFO").replace("11-21", "11-31"))
    assert (heads.found.tolist(), heads.time.tolist()) == ([True], [NO_TIME])


def test_times_of_many_minutes_are_told_apart() -> None:
    stamps = ["2026-11-21 03:12:45,678", "2026-11-21 03:13:00,001", "2026-11-21 03:12:59,999"]
    _, heads = read(
        "\n".join(STOCK.format("INFO").replace("2026-11-21 03:12:45,678", each) for each in stamps)
    )
    clock = Clock(UTC)
    assert heads.time.tolist() == [clock.moment(each) for each in stamps]


def test_the_blanks_of_some_lines_are_those_of_all_lines() -> None:
    data = b"a b c\r\n\n d\te\nf g\n"
    text = Text(data)
    lines = find_lines(text, len(data))
    for chosen in ([], [0], [1, 2], [0, 3], [0, 1, 2, 3]):
        blanks = find_blanks(text, lines, np.array(chosen, dtype=np.int64))
        for line in chosen:
            begin, end = lines.start[line], lines.end[line]
            found = blanks.places[blanks.first[line] : blanks.last[line] + 1]
            assert found.tolist() == [at for at in range(begin, end) if text.slice(at, at + 1) <= b" "]


def test_few_lines_are_looked_at_alone_and_their_blanks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    data = "".join(f"{'word ' * (number % 7)}end\r\n\n" for number in range(600)).encode()
    text = Text(data)
    lines = find_lines(text, len(data))
    chosen = np.array([3, 4, 40, 41, 90])
    few = find_blanks(text, lines, chosen)
    monkeypatch.setattr("analysis.entries._FEW", 10**9)
    many = find_blanks(text, lines, chosen)
    for one, other in zip(
        (few.places, few.first, few.last), (many.places, many.first, many.last), strict=True
    ):
        assert one.tolist() == other.tolist()
