from __future__ import annotations

import logging

from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from barnabas.cluster.runtime import line_limit
from barnabas.cluster.runtime.line_limit import (
    LINES,
    LINES_PER_WINDOW,
    WINDOW_S,
    LibraryLines,
    LimitedLines,
    LineLimit,
)

steps = st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 50), st.booleans()), max_size=60)


@given(steps)
def test_every_line_is_written_or_counted_once_and_no_window_exceeds_its_limit(taken):
    limit, now = LineLimit(2, 100), 0.0
    asked, written, notified = {"a": 0, "b": 0}, {"a": [], "b": []}, {"a": 0, "b": 0}
    for kind, pause, is_told in taken:
        now += pause
        asked[kind] += 1
        if limit.admit(kind, now):
            written[kind].append(now)
        if is_told:
            for one, count in limit.ended(now).items():
                notified[one] += count
    for kind, count in limit.ended(float("inf")).items():
        notified[kind] += count
    for kind in "ab":
        assert len(written[kind]) + notified[kind] == asked[kind]
        # Two windows may follow each other at once.
        assert all(
            later - first >= 100 for first, later in zip(written[kind], written[kind][4:], strict=False)
        )


def test_a_kind_is_limited_and_no_other():
    limit = LineLimit()
    assert [limit.admit("flood", 1.0) for _ in range(1000)].count(True) == LINES_PER_WINDOW
    assert limit.admit("other", 1.0)
    assert limit.ended(WINDOW_S) == {}
    assert limit.ended(1 + WINDOW_S) == {"flood": 1000 - LINES_PER_WINDOW}
    assert limit.ended(1 + WINDOW_S) == {}


def test_each_subject_has_a_limit_of_its_own():
    lines = LimitedLines(lambda: 0.0)
    assert [lines.allow_of("denials", subject, 1) for subject in ("a", "b\n", "a", "b\n")] == [
        True,
        True,
        False,
        False,
    ]
    with capture_logs() as notified:
        lines.log_suppressed(at_the_end=True)
    assert [line["event"] for line in notified] == [
        "Suppressed 1 more lines of the kind: denials of a",
        "Suppressed 1 more lines of the kind: denials of b\\n",
    ]


def test_of_a_flood_of_subjects_most_share_one_limit(monkeypatch):
    monkeypatch.setattr(line_limit, "MOST_KINDS", 2)
    limit = LineLimit()
    assert [limit.kind_of("denials", "x" * 300)] == ["denials of " + "x" * 255 + "... (300 characters)"]
    assert limit.admit(limit.kind_of("denials", "a"), 0.0)
    assert limit.admit("another kind", 0.0)
    assert limit.kind_of("denials", "a") == "denials of a"
    assert limit.kind_of("denials", "b") == "denials of others"
    limit.ended(WINDOW_S)
    assert limit.kind_of("denials", "b") == "denials of b"


def test_the_number_of_suppressed_lines_is_logged():
    now = [0.0]
    lines = LimitedLines(lambda: now[0])
    for _ in range(68_000):
        lines.allow("junk")
    with capture_logs() as notified:
        lines.log_suppressed()
        assert notified == []
        now[0] = WINDOW_S
        lines.log_suppressed()
        assert [line["event"] for line in notified] == ["Suppressed 67990 more lines of the kind: junk"]
        assert lines.allow("junk")


def test_at_the_end_all_suppressed_lines_are_counted():
    lines = LimitedLines(lambda: 0.0)
    for _ in range(LINES_PER_WINDOW + 1):
        lines.allow("junk")
    with capture_logs() as notified:
        lines.log_suppressed(at_the_end=True)
    assert [line["event"] for line in notified] == ["Suppressed 1 more lines of the kind: junk"]


def test_the_lines_of_libraries_are_limited_once_for_all_handlers():
    filters = (LibraryLines(), LibraryLines())

    def written(message):
        record = logging.LogRecord("grpc", logging.ERROR, "", 0, message, (), None)
        return [each.filter(record) for each in filters]

    for _ in range(LINES_PER_WINDOW):
        assert written("Exception deserializing request!") == [True, True]
    assert written("Exception deserializing request!") == [False, False]
    # What is ours comes as a dictionary, and is limited where it is written.
    assert written({"event": "ours"}) == [True, True]
    assert LINES.allow("another kind")
