"""The lines that Kafka's tools log."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from barnabas.tools.log4j import log, log_line


def test_a_line_has_log4js_pattern() -> None:
    when = datetime(2026, 11, 22, 22, 8, 48, 84_999, UTC)
    assert log_line(when, "WARN", "It is late", "kafka.Tool$") == (
        "[2026-11-22 22:08:48,084] WARN It is late (kafka.Tool$)"
    )


def test_a_cause_is_written_below(capsys: pytest.CaptureFixture[str]) -> None:
    log("ERROR", "It failed", "kafka.Tool$", "java.lang.Exception: why")
    line, cause = capsys.readouterr().err.splitlines()
    assert line.endswith("] ERROR It failed (kafka.Tool$)")
    assert cause == "java.lang.Exception: why"
