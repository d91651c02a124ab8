"""A report that an earlier page made."""

from __future__ import annotations

from pathlib import Path

from barnabas.page.report import Report


def test_a_report_is_still_there_after_a_restart_of_the_page(tmp_path: Path) -> None:
    before = Report([], tmp_path)
    assert (before.json()["state"], before.file("report.html")) == ("none", None)
    (tmp_path / "report.html").touch()
    after = Report([], tmp_path)
    assert after.json()["state"] == "ready"
    assert after.file("report.html") == tmp_path / "report.html"
