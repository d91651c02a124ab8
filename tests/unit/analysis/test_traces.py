"""Traces find their lines, also where the output of several brokers is mixed."""

from __future__ import annotations

from datetime import UTC

from analysis.blocks import BlockReader, Origin
from analysis.sources import broker_of
from analysis.times import Clock

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


def test_text_without_any_header_is_kept_as_one() -> None:
    assert joined("\n\tat x\n\tat y\n") == [("\tat x\n\tat y", "\tat y")]
