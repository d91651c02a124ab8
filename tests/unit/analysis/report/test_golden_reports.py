"""Golden reports: small logs, and what the report says of them beside the incidents.

A file holds lines that are in the report as text, then the logs, each after a line ``== NAME``. A ``~``
stands for any text. What follows ``not:`` is nowhere in the report.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from barnabas.analysis import job

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.txt"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_tables_timeline_and_failovers_say_what_the_incidents_say(path: Path, tmp_path: Path) -> None:
    head, *parts = re.split(r"^== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for part in parts:
        place, content = part.split("\n", 1)
        log = tmp_path / "logs" / place
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(content, encoding="utf-8")
    assert job.run([tmp_path / "logs"], tmp_path / "out") == 0
    report = (tmp_path / "out" / "report.txt").read_text(encoding="utf-8")
    said = [line.strip() for line in report.splitlines()]
    for line in head.splitlines():
        if line.startswith("not: "):
            assert line.removeprefix("not: ") not in report
        elif not line.startswith("#"):
            wanted = re.compile(re.escape(line).replace("\\~", ".*").replace("~", ".*"))
            assert any(map(wanted.fullmatch, said)), f"not in the report: {line}\n{report}"
