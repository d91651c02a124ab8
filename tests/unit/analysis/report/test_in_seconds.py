"""Logs whose times have no milliseconds, as those of a layout that operators on Kubernetes use."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from barnabas.analysis import job
from barnabas.analysis.report.as_text import summary
from barnabas.analysis.report.document import Document

FIRST = "x/logs/a.log, x/logs/b.log, x/logs/c.log"
ALLOWED = "are whole seconds: what they tell was up to 1 s later than it says here; spans allow for that."


def log(fraction: str) -> str:
    return (
        f"2026-03-05 10:00:00{fraction} INFO [main] KafkaServer:66 - [KafkaServer id=2] started\n"
        f"2026-03-05 10:09:00{fraction} INFO [main] KafkaServer:66 - [KafkaServer id=2] shut down completed\n"
    )


def test_files_with_times_in_whole_seconds_are_named(tmp_path: Path) -> None:
    files = {tmp_path / "logs" / "kafka-2.log": "", tmp_path / "logs" / "kafka-3.log": ",123"}
    (tmp_path / "logs").mkdir()
    for file, fraction in files.items():
        file.write_text(log(fraction))
    assert job.run([tmp_path / "logs"], tmp_path / "out") == 0
    told = (tmp_path / "out" / "report.txt").read_text()
    (sentence,) = [line for line in told.splitlines() if "whole seconds" in line]
    assert sentence.strip() == f"The times of {tmp_path.name}/logs/kafka-2.log {ALLOWED}"
    data = json.loads((tmp_path / "out" / "report.json").read_text())
    assert data["in_seconds"] == [min(files).as_uri()]


def test_of_many_files_some_are_named(document: Document) -> None:
    files = [f"file:///x/logs/{name}.log" for name in "abcd"]
    assert f"The times of {FIRST} and 1 more file {ALLOWED}" in summary(replace(document, in_seconds=files))
