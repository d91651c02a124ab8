"""Traces find their lines, also where the output of several brokers is mixed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC

from hypothesis import given
from hypothesis import strategies as st

from barnabas.analysis.reading.blocks import BlockReader, Origin
from barnabas.analysis.reading.times import Clock
from barnabas.analysis.sources import broker_of

HEAD = "[2026-11-21 03:12:45,678] ERROR [Broker id=1] Danced (state.change.logger)"


def joined(text: str) -> list[tuple[str, str | None]]:
    rows = BlockReader(Clock(UTC), broker_of).read(text.encode(), Origin("file:/a", 0, 1)).rows.to_pylist()
    return [(row["raw"], row["trace"]) for row in rows]


def test_a_trace_is_all_that_stands_below() -> None:
    trace = "x.Y: z\n\tat a\n\nCaused by: b"
    assert joined(f"{HEAD}\n{trace}\n\n{HEAD}\n") == [(f"{HEAD}\n{trace}", trace), (HEAD, None)]


def test_windows_ends_of_line_are_kept_in_the_raw_text_alone() -> None:
    assert joined(f"{HEAD}\r\nx\r\n\ty\r\n") == [(f"{HEAD}\r\nx\r\n\ty", "x\n\ty")]


def test_a_line_of_a_trace_ends_at_a_line_feed_and_nowhere_else() -> None:
    trace = "x.Y: a\x0cb\x85c\u2028d\n\tat \x1ce"
    assert joined(f"{HEAD}\n{trace}\n") == [(f"{HEAD}\n{trace}", trace)]


def test_brokers_that_speak_at_the_same_time_keep_their_own_traces() -> None:
    text = (
        f"broker-1  | {HEAD}\n"
        f"broker-2  | {HEAD}\n"
        "broker-1  | x.Y: one\n"
        "broker-2  | x.Y: two\n"
        "broker-1  | \tat a\n"
    )
    assert [trace for _, trace in joined(text)] == ["x.Y: one\n\tat a", "x.Y: two"]


def test_times_of_docker_are_no_part_of_a_trace() -> None:
    stamp = "2026-11-21T03:12:46.123Z"
    assert joined(f"b-1  | {stamp} {HEAD}\nb-1  | {stamp} x.Y: one\n")[0][1] == "x.Y: one"


def test_times_without_a_writer_are_no_part_of_a_trace() -> None:
    stamp = "2026-11-21T03:12:46.12345678{}Z "
    lines = (HEAD, "x.Y: one", "", "\tat a", HEAD, "x.Y: two")
    text = "".join(f"{stamp.format(number)}{line}\n" for number, line in enumerate(lines))
    assert [trace for _, trace in joined(text)] == ["x.Y: one\n\n\tat a", "x.Y: two"]


def test_a_text_without_a_blank_behind_its_writer_keeps_all_of_its_own() -> None:
    text = f"/logs/state-change.log:{HEAD}\n/logs/state-change.log:x.Y: no such file\n"
    assert joined(text)[0][1] == "x.Y: no such file"


def test_behind_a_writer_ends_of_line_are_kept_as_without_one() -> None:
    text = f"{HEAD}\r\nx  \r\n\ty\r\n\r\n{HEAD}  \r\n"
    behind = "".join(f"1:{line}\n" for line in text.split("\n")[:-1])
    assert joined(behind) == joined(text) == [(f"{HEAD}\r\nx  \r\n\ty", "x  \n\ty"), (f"{HEAD}  ", None)]


def test_text_behind_no_writer_belongs_to_the_entry_above() -> None:
    text = f"Attaching to b-1, b-2\nb-1  | {HEAD}\nb-2  | {HEAD}\nb-2 exited\nb-1  | x.Y: one\n"
    assert [trace for _, trace in joined(text)] == [None, "x.Y: one", "b-2 exited"]


def test_a_writer_whose_name_is_a_time_has_as_many_names_as_lines() -> None:
    times = [f"2026-11-21T03:12:46.{number}Z stdout F " for number in (9, 12, 123, 1230)]
    text = "".join(f"{time}{HEAD}\n{time}x.Y: {number}\n" for number, time in enumerate(times))
    assert [trace for _, trace in joined(text)] == [f"x.Y: {number}" for number in range(4)]


LINES = st.sampled_from([HEAD, f"{HEAD}  ", "x.Y: é", "\tat a", "", " ", "\x0c", "\x85", "a\rb", "c\u2028d"])
ENDS = st.sampled_from(["\n", "\r\n"])


@given(st.lists(st.tuples(LINES, ENDS), max_size=9), st.sampled_from(["", "b-1  | ", "брокер:"]))
def test_no_letter_of_a_file_is_lost(lines: list[tuple[str, str]], writer: str) -> None:
    lines = [(HEAD, "\n"), *lines]
    found = joined("".join(f"{writer}{line}{end}" for line, end in lines))
    assert _letters(raw for raw, _ in found) == _letters(line for line, _ in lines)


def _letters(texts: Iterable[str]) -> list[str]:
    return [letter for text in texts for letter in text if letter not in "\r\n\t "]


def test_text_without_any_header_is_kept_as_one() -> None:
    assert joined("\n\tat x\n\tat y\n") == [("\tat x\n\tat y", "\tat y")]
